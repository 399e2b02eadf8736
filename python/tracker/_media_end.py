# SPDX-License-Identifier: MIT
"""What the end of a run has no time to encode and is in memory alone: written to the disk, where the next reader
encodes it as after a kill (_media_late.py). Bounded in time, also where the disk hangs: a thread of its own does it.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracker._media_queue import Item, Payload
    from tracker._media_spool import Spooled

# Beside what finish() is given; of the end of a process without one a part
END_SPOOL_MS_MAX = 250
# A document goes there without its secrets: one whose search may take longer than is left is dropped
_SEARCH_MS_A_MIB = 40


def spool(items: list[Item], keep: Callable[[Item, Spooled], None], has_room: Callable[[Item], bool]) -> None:
    """`keep` decides of each that is written whether it stays: it may come when this has returned."""
    todo = [(item, item.payload) for item in items if item.size and item.spool is None]
    if not todo:
        return
    end = time.monotonic() + END_SPOOL_MS_MAX / 1000
    thread = threading.Thread(target=_work, args=(todo, keep, has_room, end), name="tracker-media-end", daemon=True)
    with contextlib.suppress(RuntimeError):  # a limit on processes, or Python 3.12 and newer at their exit
        thread.start()
        thread.join(END_SPOOL_MS_MAX / 1000)


def _work(
    todo: list[tuple[Item, Payload]],
    keep: Callable[[Item, Spooled], None],
    has_room: Callable[[Item], bool],
    end: float,
) -> None:
    with contextlib.suppress(Exception):  # signals are the program's
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    for item, payload in todo:
        if time.monotonic() >= end:
            return
        with contextlib.suppress(Exception):  # the disk: this one is dropped
            item.core.check_media_room(item.size)
            if payload and has_room(item) and _has_time(item, end):
                keep(item, item.write_spool(end, item.redacted(payload)))


def _has_time(item: Item, end: float) -> bool:
    search_ms = item.size / (1 << 20) * _SEARCH_MS_A_MIB
    return not item.is_large_document() or time.monotonic() + search_ms / 1000 < end
