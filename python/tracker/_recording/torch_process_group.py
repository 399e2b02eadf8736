# SPDX-License-Identifier: MIT
"""How ranks find the run of rank 0 through the store of torch.distributed, where nothing else names the run.

Rank 0 sets one key, and the others poll for it with check(), on a thread of their own: never a get or a wait that
blocks, for a rank that died would hold up the training of all. torch is looked up, never imported.
"""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOOK_S_FIRST, LOOK_S_MAX = 0.05, 1.0
AWAIT_S_MAX = 600.0  # the core gives up after as long
END_S_MAX = 10.0  # and at the end of a run after less


def store() -> Any:
    """The store of the default process group; None where there is none, or it cannot be asked without waiting."""
    found: Any = None
    try:
        distributed: Any = sys.modules["torch.distributed"]
        if distributed.is_available() and distributed.is_initialized():
            found = distributed.distributed_c10d._get_default_store()
    except Exception:  # not there, half imported, of another version
        return None
    return found if all(hasattr(found, name) for name in ("set", "get", "check")) else None


def _give(group: Any, key: str, text: str) -> None:
    try:
        group.set(key, text)
    except Exception:  # the group is gone: then the others end too
        pass


def _ask(core: Any, group: Any, key: str) -> None:
    pause, end = LOOK_S_FIRST, time.monotonic() + AWAIT_S_MAX
    try:
        while core.waits_for_run and time.monotonic() < end:
            if core.finished:  # its end waits a while for the run
                end = min(end, time.monotonic() + END_S_MAX)
            if group.check([key]):
                core.tell_run(bytes(group.get(key)).decode())  # it is there, so this does not wait
                return
            time.sleep(pause)
            pause = LOOK_S_FIRST if core.finished else min(2 * pause, LOOK_S_MAX)
    except Exception:  # the group is gone
        pass


def meet(core: Any) -> None:
    """Gives the run of rank 0 to the others, or asks for it, where this run is found that way."""
    key = core.group_key
    group = store() if key else None
    if group is None:
        return
    from tracker._own_thread import own_thread

    work, given = (_ask, (core, group, key)) if core.waits_for_run else (_give, (group, key, core.group_text))
    own_thread("trk-group", work, *given).start()
