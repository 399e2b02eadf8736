# SPDX-License-Identifier: MIT
"""How a multiprocessing descendant of a process that has a run is known: with a sign of ranks it records nothing.

multiprocessing hands the `_config` of a process to every process made from it, by each start method and through a fork
server that is older than the run, and to no other program: a mark there says exactly what is asked. Importing
multiprocessing takes longer than init itself, so where the program has not imported it yet, a variable names the
process instead, and the child looks whether only multiprocessing lies between it and that process. A plain subprocess
inherits the variable too; it is a program of its own, and it and its workers record.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VARIABLE = "TRACKER_PARENT_RUN"
MARK = "tracker_run"  # in multiprocessing's _config: the pid of the process that has the run; 0: it has none any more
ANCESTORS_MAX = 64

_before: tuple[str | None, int | None] | None = None  # the variable and the mark that mark() has replaced


def _config() -> dict[str, Any]:
    """What multiprocessing gives to children made from now on; an empty dict where it is not imported."""
    process: Any = sys.modules.get("multiprocessing.process")
    try:
        config = process.current_process()._config
    except Exception:  # not imported, half imported, or replaced
        return {}
    return config if isinstance(config, dict) else {}


def mark() -> None:
    """Children made by multiprocessing from now on are known as ours."""
    global _before
    config = _config()
    pid = os.getpid()
    if os.environ.get(VARIABLE) != str(pid):
        _before = os.environ.get(VARIABLE), config.get(MARK)
    os.environ[VARIABLE] = str(pid)
    config[MARK] = pid


def unmark() -> None:
    """Undoes mark() in the process that called it: what its own parent had set holds again."""
    if _before is None or os.environ.get(VARIABLE) != str(os.getpid()):
        return
    config = _config()
    variable, marked = _before
    if variable is None:
        del os.environ[VARIABLE]
    else:
        os.environ[VARIABLE] = variable
    if marked is not None:
        config[MARK] = marked
    elif variable is None:
        config[MARK] = 0  # a fork server that was started in the meantime keeps the variable
    else:
        config.pop(MARK, None)


def _runs_multiprocessing(pid: int) -> bool:
    """True for a process that multiprocessing has started as a new interpreter: a child, or a fork server."""
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return b"from multiprocessing." in file.read(4096)


def _parent_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read(4096).rpartition(b")")[2].split()[1])


def _descends_from(ancestor: int) -> bool:
    """True when each process between this one and `ancestor` was started by multiprocessing."""
    pid = os.getppid()
    try:
        for _ in range(ANCESTORS_MAX):
            if pid == ancestor:
                return True
            if pid <= 1 or not _runs_multiprocessing(pid):
                return False
            pid = _parent_of(pid)
    except (OSError, ValueError, IndexError):  # gone in the meantime, or hidden from us
        pass
    return False


def is_above() -> bool:
    """True in a multiprocessing child, of any generation, of a process that had a run when the child was made."""
    process: Any = sys.modules.get("multiprocessing.process")
    try:
        parent = process.parent_process()
    except Exception:
        return False
    if parent is None:
        return False
    marked = _config().get(MARK, os.getpid())
    if marked == 0:
        return False
    if marked != os.getpid():
        return True
    named = os.environ.get(VARIABLE, "")
    if not named.isdecimal() or int(named) == os.getpid():
        return False
    return int(named) == parent.pid or _descends_from(int(named))
