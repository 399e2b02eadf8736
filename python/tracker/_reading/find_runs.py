# SPDX-License-Identifier: MIT
"""The runs of a store: tracker.runs() and tracker.open_run(), and the summary of a run that this process records."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker import _arguments, _core, _open_runs
from tracker._reading import open_store
from tracker._reading.row_selection import utc
from tracker._reading.run_list import RunList
from tracker._reading.run_reader import Documents
from tracker._reading.stored_objects import StoredRun

if TYPE_CHECKING:
    from tracker._open_runs import OpenRun

_printed: set[str] = set()  # problems of stored runs, each printed once in this process


def _count(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"runs({name}=...) must be an int, got {type(value).__name__}")
    if value < 0:
        raise ValueError(f"runs({name}=...) must not be negative")
    return min(value, 2**63 - 1)


def _text(name: str, value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"runs({name}=...) must be a str, got {type(value).__name__}")
    return _arguments.utf8(f"runs({name}=...)", value)


def list_runs(
    project: str | None, where: str | None, sort: str | None, limit: int | None, offset: int, dir: object
) -> RunList:
    _arguments.label("project", project)
    filter_text, order = _text("where", where), _text("sort", sort)
    rows_max = None if limit is None else _count("limit", limit)
    first = _count("offset", offset)
    store = open_store.open_if_there(dir)
    if store is None:
        return RunList(())
    if store.problem:
        warnings.warn(f"tracker: {store.problem}", RuntimeWarning, stacklevel=3)
    for line in store.recover(""):
        warnings.warn(f"tracker: {line}", RuntimeWarning, stacklevel=3)
    _open_runs.flush_all(store.path)

    def query(documents: bool) -> dict[str, Any]:
        page = 0 if rows_max is None else max(rows_max, 1)  # 0 means all to the core
        may_write = not _open_runs.records()
        return _core.query_runs(store, project or "", filter_text, order, page, first, documents, may_write)

    def rows() -> dict[str, dict[str, Any]]:
        found = query(True)["rows"]
        for row in found:
            row["finished"] = None if row["finished"] is None else utc(row["finished"])
        return {row["uid"]: row for row in found}

    found = query(False)
    for line in found["unknown"]:
        warnings.warn(f"tracker: {line}", RuntimeWarning, stacklevel=3)
    for line in found["problems"]:
        warnings.warn(f"tracker: {line}", RuntimeWarning, stacklevel=3)
    documents = Documents(rows)
    return RunList(
        [StoredRun(folder, listed=documents) for folder in found["folders"][:rows_max]],
        rows,
        found["matched"],
        [*found["unknown"], *found["notes"]],
    )


def _at_path(name: str) -> StoredRun:
    """The run of a folder, which is only read: no store is opened, nothing is recovered."""
    path = str(Path(name).absolute())
    if not Path(path).is_dir():
        raise _core.NotFoundError(f"there is no folder {name!r}")
    try:
        return StoredRun(_core.RunFolder.of(path), in_store=False)
    except _core.NotFoundError:
        raise _core.NotFoundError(f"{name!r} is no run's folder: it has no run.json") from None


def open_run(name: str | os.PathLike[str], dir: object) -> StoredRun:
    if isinstance(name, os.PathLike):
        return _at_path(os.fspath(name))
    if isinstance(name, str) and name.startswith(("/", "./", "../")):
        return _at_path(name)
    if not isinstance(name, str):
        raise TypeError(f"open_run(name): name must be a str such as 'project/id', got {type(name).__name__}")
    store = open_store.open_store(dir)
    try:
        folder = store.find_named(_arguments.utf8("name", name), not _open_runs.records())
    except _core.NotFoundError:
        # Of a run whose folder was removed only the journal may be left: recovery makes a folder again.
        for line in store.recover(""):
            print(f"tracker: {line}", file=sys.stderr)
        folder = store.find_named(name, not _open_runs.records())
    run = StoredRun(folder)
    run._in_the_way = store.recover(folder.uid)
    run._recovered_in = run.state
    run._known.update(problems := run.problems)
    for problem in [*filter(None, [store.problem]), *problems]:
        if problem not in _printed:
            _printed.add(problem)
            print(f"tracker: {problem}", file=sys.stderr)
    return run


def summary_of(run: OpenRun, wait_s: float) -> dict[str, Any] | None:
    """The summary of a run that this process records or has recorded. None where the store does not take what was
    logged within wait_s: it would not answer a reader either, and a training must not hang there."""
    writes = not run._core.finished and run._pid == os.getpid()
    if writes and not run._core.status()["degraded"] and not run.flush(wait_s):
        return None
    try:
        return StoredRun(folder_of(run)).summary
    except (_core.TrackerError, ValueError):
        return {}  # nothing stored yet: the disk refuses, or mode="disabled"


def folder_of(run: OpenRun) -> _core.RunFolder:
    """Where it was begun, or, if it was moved from there, the one of all runs of the store that has its uid."""
    try:
        folder = _core.RunFolder.of(run._core.dir)
        if folder.uid == run.uid:
            return folder
    except (_core.TrackerError, ValueError):
        pass
    return _core.Store.open(run._core.store_path).find(run.uid)
