# SPDX-License-Identifier: MIT
"""Our threads of Python: daemons that block every signal, because signals are the program's."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable
from typing import Any


def _run(work: Callable[..., None], given: tuple[Any, ...]) -> None:
    with contextlib.suppress(OSError, ValueError):
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    work(*given)


def own_thread(name: str, work: Callable[..., None], *given: Any) -> threading.Thread:
    """Not started. start() raises RuntimeError where a limit on processes, or the interpreter's exit, refuses it."""
    return threading.Thread(target=_run, args=(work, given), name=name, daemon=True)
