# SPDX-License-Identifier: MIT
"""An experiment tracker that lives inside the training process.

    run = tracker.init(project="mnist", config={"lr": 0.1})
    run.log({"loss": 0.3, "val/acc": 0.9}, step=i)
    run.finish()
    tracker.open_run("mnist/brisk-otter").history("loss").values

Nothing but the compiled core is imported here; NumPy and pandas are used where they are, when a history is read.
"""

from __future__ import annotations

try:
    from tracker import _core
except ImportError as error:
    from tracker._load_error import explain

    raise ImportError(explain(error)) from error

from tracker._core import (
    ClosedError,
    CorruptError,
    LimitError,
    Metric,
    NotFoundError,
    StoreError,
    TrackerError,
)
from tracker._current import finish, flush, log
from tracker._init import init
from tracker._run import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tracker._history import History as History
    from tracker._history import Table as Table
    from tracker._mappings import Config, Summary
    from tracker._read import RunList as RunList
    from tracker._read import StoredRun as StoredRun

    run: Run | None
    config: Config
    summary: Summary

__version__: str = _core.version

__all__ = [
    "ClosedError",
    "CorruptError",
    "History",
    "LimitError",
    "Metric",
    "NotFoundError",
    "Run",
    "RunList",
    "StoreError",
    "StoredRun",
    "Table",
    "TrackerError",
    "__version__",
    "config",
    "finish",
    "flush",
    "init",
    "log",
    "open_run",
    "run",
    "runs",
    "summary",
]

# Types of what is read, for annotations and isinstance; imported when they are asked for, as most runs never read.
_READ_TYPES = {"History": "_history", "RunList": "_read", "StoredRun": "_read", "Table": "_history"}
_NOT_YET = frozenset({"Artifact", "login", "sync", "upload", "define_metric", "log_artifact", "use_artifact"})


def runs(
    project: str | None = None,
    *,
    where: str | None = None,
    sort: str | None = None,
    limit: int | None = None,
    offset: int = 0,
    dir: str | None = None,
) -> RunList:
    """The runs of a store, newest first: a sequence whose items are what open_run() returns.

    project: only its runs. where: only those that match, such as 'config.lr < 0.1 and state = finished'. sort: another
    order, such as '-metrics.val/acc.max,created'. docs/filter.md describes both. limit, offset: one page of them.
    dir: the store; default: where init() would record. Without a store the list is empty, unless dir or TRACKER_DIR
    names one: then NotFoundError. Raises ValueError with the column of a mistake in where or sort, LimitError beyond
    their bounds; damaged runs are named by a RuntimeWarning. Runs whose process died are recovered first.
    Threads: any. Cost: a stat a run and a read of every run that changed since the last listing; the runs themselves
    are opened when they are looked at.
    """
    from tracker._read import list_runs

    return list_runs(project, where, sort, limit, offset, dir)


def open_run(name: str, *, dir: str | None = None) -> StoredRun:
    """A run to read, live or ended: by "project/id", an id that is unique in the store, or the uid (6 digits or more).

    Raises NotFoundError with close names, ValueError when the name fits several runs. Threads: any.
    """
    from tracker._read import open_run as open_stored

    return open_stored(name, dir)


def __getattr__(name: str) -> object:
    from tracker import _current

    if name == "run":
        return _current.newest()
    if name in ("config", "summary"):
        return getattr(_current.require(f"tracker.{name}"), name)
    if name in _READ_TYPES:
        import importlib

        kind: object = getattr(importlib.import_module(f"tracker.{_READ_TYPES[name]}"), name)
        globals()[name] = kind
        return kind
    if name in _NOT_YET:
        raise AttributeError(f"tracker.{name} is not in this version yet")
    raise AttributeError(f"module 'tracker' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
