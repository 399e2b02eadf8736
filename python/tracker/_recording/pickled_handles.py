# SPDX-License-Identifier: MIT
"""Copies and pickles of runs and metrics. A copy of a handle is the handle itself. A pickle is the run of this process,
or of the parent of a forked child; elsewhere it is an inert one that knows which run it was."""

from __future__ import annotations

import os
from weakref import WeakValueDictionary

from tracker import _core, _open_runs
from tracker._recording import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A child by fork has the same, and the same objects at the same ids.
_PROCESS = os.urandom(16)
_pickled: WeakValueDictionary[int, run.Run] = WeakValueDictionary()
_FACTS = ("id", "uid", "name", "project", "dir", "url", "rank", "world_size", "attempt")
_said = False


class RunElsewhere(run.Run):
    """A run that another process records, here from its pickle: its facts are kept, and all else does nothing."""

    __slots__ = ("_facts",)

    _facts: dict[str, Any]

    def attach(self) -> run.Run:
        raise RuntimeError(f"attach() is for a forked child; here call {_how_to_record(self._facts)}")


def _fact(name: str) -> property:
    def read(self: RunElsewhere) -> Any:
        return self._facts[name]

    return property(read, doc=getattr(run.Run, name).__doc__)


for _name in _FACTS:
    setattr(RunElsewhere, _name, _fact(_name))


def _how_to_record(facts: dict[str, Any]) -> str:
    return f'tracker.init(project={facts["project"]!r}, id={facts["id"]!r}, resume="allow")'


def _run_from(process: bytes, number: int, facts: dict[str, Any]) -> run.Run:
    run = _pickled.get(number) if process == _PROCESS else None
    return run if run is not None else _elsewhere(facts)


def _elsewhere(facts: dict[str, Any]) -> run.Run:
    global _said
    if not _said:
        _said = True
        _open_runs.say(
            f"run {facts['project']}/{facts['id']} came here in a pickle and records nothing in this process; "
            f"{_how_to_record(facts)} does (said once)"
        )
    core = _core.init_run({"mode": "disabled", "quiet": True})
    run = RunElsewhere(core)
    run._facts = facts
    return run


def _metric_from(run: run.Run, name: str) -> _core.Metric:
    return run.metric(name)


def reduce(handle: Any) -> tuple[Any, ...]:
    """What __reduce_ex__ of a Run or a Metric returns."""
    if isinstance(handle, _core.Metric):
        return _metric_from, (handle._run, handle.name)
    _pickled[id(handle)] = handle
    return _run_from, (_PROCESS, id(handle), {name: getattr(handle, name) for name in _FACTS})
