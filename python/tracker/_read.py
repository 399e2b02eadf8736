# SPDX-License-Identifier: MIT
"""Reading runs back: tracker.runs() and tracker.open_run(). Reading never changes a run and never blocks its writer."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from tracker import _core, _current, _options
from tracker._history import History, Table, TextRow, _pandas

if TYPE_CHECKING:
    import pandas as pd

    from tracker._ranks import AcrossRanks, Attempt, Rank
    from tracker._run import Run

FLUSH_S_MAX = 10.0


def _flush_own(uid: str) -> None:
    """What this process has logged into the run is committed before it is read."""
    for run in _current.live_runs():
        if run.uid == uid and run._pid == os.getpid():
            run.flush(FLUSH_S_MAX)


class StoredRun:
    """A run to read. While it is live every look at it sees what has been committed by then; in the process that
    writes it, all that was logged before. Threads: any, one at a time reads.
    """

    def __init__(self, folder: _core.RunFolder) -> None:
        self._folder = folder
        self._opened: _core.RunView | None = None
        self._ended = False

    def _view(self) -> _core.RunView:
        if not self._ended:
            _flush_own(self._folder.uid)
            if self._opened is None:
                self._opened = _core.open_view(self._folder)
            else:
                self._opened.refresh()
            # Another attempt may begin at any time, so only a run seen finished is taken as it was seen.
            self._ended = self._opened.state() == "finished"
        assert self._opened is not None
        return self._opened

    def refresh(self) -> None:
        """Looks again at a run that was seen finished: a later attempt may have resumed it."""
        self._ended = False

    @property
    def id(self) -> str:
        return self._folder.id

    @property
    def uid(self) -> str:
        return self._folder.uid

    @property
    def project(self) -> str:
        return self._folder.project

    @property
    def dir(self) -> str:
        return self._folder.path

    @property
    def created(self) -> float:
        """Seconds since 1970, UTC."""
        return self._folder.created

    @property
    def ended(self) -> float | None:
        """Seconds since 1970; None while the run has no end."""
        ended = self._view().ended_us()
        return ended / 1e6 if ended else None

    @property
    def last_seen(self) -> float:
        """When the writer was last heard of, seconds since 1970."""
        return self._view().last_seen_us() / 1e6

    @property
    def name(self) -> str:
        return self._view().name()

    @property
    def state(self) -> str:
        """running, finished, failed, interrupted, preempted, crashed, lost contact; a dead process is never running."""
        return self._view().state()

    @property
    def state_detail(self) -> str:
        """Exit code and last line of the traceback where it failed, else ""."""
        return self._view().state_detail()

    @property
    def notes(self) -> str | None:
        value = self._view().attribute("notes")
        return value if isinstance(value, str) else None

    @property
    def group(self) -> str | None:
        value = self._view().attribute("group")
        return value if isinstance(value, str) else None

    @property
    def job_type(self) -> str | None:
        value = self._view().attribute("job_type")
        return value if isinstance(value, str) else None

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(self._view().attribute("tags") or ())

    @property
    def config(self) -> dict[str, Any]:
        """A copy, nested."""
        return self._view().config()

    @property
    def summary(self) -> dict[str, Any]:
        """A copy: the last value of each metric, explicit ones win."""
        return self._view().summary()

    @property
    def points(self) -> int:
        """Rows stored, all metrics and writers."""
        return self._view().points()

    @property
    def problems(self) -> tuple[str, ...]:
        """What is damaged or could not be read, one line each; the rest is read all the same."""
        return tuple(self._view().problems())

    @property
    def losses(self) -> dict[str, Any]:
        """The account: logged = stored + dropped, rejected_values, recovered, dropped by_reason, and all by_metric.

        Points lost for no metric in particular stand under "". In the process that records the run what was logged
        before is stored first, so nothing is pending.
        """
        return self._view().losses()

    @property
    def writers(self) -> list[dict[str, Any]]:
        """The processes that recorded the run, by attempt."""
        return self._view().writers()

    def attempts(self) -> list[Attempt]:
        """The attempts by number: which continues which, from which step, and up to where each is shown."""
        from tracker._ranks import Attempt

        return [Attempt(*attempt) for attempt in self._view().attempts()]

    def ranks(self) -> list[Rank]:
        """The ranks that record, by number: when each was last seen, and the last step it logged."""
        from tracker._ranks import Rank

        return [Rank(*rank) for rank in self._view().ranks()]

    def across_ranks(self, name: str) -> AcrossRanks:
        """min, mean and max of a metric over the ranks by step, and the ranks that hold the extremes.

        Raises NotFoundError with close names, ImportError without NumPy. Cost: as history(name, all=True).
        """
        from tracker._ranks import AcrossRanks

        if not isinstance(name, str):
            raise TypeError(f"name must be a str, got {type(name).__name__}")
        return AcrossRanks(name, self._view().across_ranks(name))

    def series(self) -> list[str]:
        """The names of the metrics that hold numbers, sorted."""
        return [metric["name"] for metric in self._view().metrics()]

    def metrics(self) -> list[dict[str, Any]]:
        """What is known of each metric without reading its rows: types, points, dropped, steps, min, max, NaNs."""
        return self._view().metrics()

    @overload
    def history(self, name: str, *, all: bool = False) -> History: ...
    @overload
    def history(self, name: list[str] | tuple[str, ...], *, all: bool = False) -> Table: ...
    def history(self, name: str | list[str] | tuple[str, ...], *, all: bool = False) -> History | Table:
        """The complete rows of one metric, or of several aligned by step.

        all=True (one metric only): every row in the order logged, repeated steps and earlier attempts included.
        Raises NotFoundError with close names, ImportError without NumPy. Cost: reads the run's frames; 24 bytes a row.
        """
        if isinstance(name, str):
            return History(name, self._view().histories([name], bool(all))[0])
        names = list(name)
        if not names or not _all_str(names):
            raise TypeError("history() takes a name or a list of names")
        if all:
            raise ValueError("all=True is for one metric: rows with repeated steps cannot be aligned")
        columns = self._view().histories(names, False)
        return Table([History(own, rows) for own, rows in zip(names, columns, strict=True)])

    def texts(self, name: str, *, all: bool = False) -> list[TextRow]:
        """The texts logged under a name; by step as history() has it, or every one with all=True. NotFoundError."""
        view = self._view()
        rows = view.texts(name, bool(all))
        if not rows:
            known = ", ".join(map(repr, view.text_names()[:10])) or "none"
            raise _core.NotFoundError(f"{self!r} has no text {name!r}; the names with texts: {known}")
        return [TextRow(*row) for row in rows]

    def text_names(self) -> list[str]:
        """The names that hold texts, sorted."""
        return self._view().text_names()

    def __repr__(self) -> str:
        return f"<tracker.StoredRun {self.project}/{self.id}>"


def _all_str(names: list[str]) -> bool:
    return all(isinstance(name, str) for name in names)


class RunList(Sequence[StoredRun]):
    """The runs of a store, newest first. It does not change; call tracker.runs() again for new ones."""

    def __init__(self, runs: Sequence[StoredRun]) -> None:
        self._runs = tuple(runs)

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, index: int) -> StoredRun: ...
    @overload
    def __getitem__(self, index: slice) -> RunList: ...
    def __getitem__(self, index: int | slice) -> StoredRun | RunList:
        return RunList(self._runs[index]) if isinstance(index, slice) else self._runs[index]

    def __iter__(self) -> Iterator[StoredRun]:
        return iter(self._runs)

    def __repr__(self) -> str:
        shown = ", ".join(f"{run.project}/{run.id}" for run in self._runs[:5])
        return f"<tracker.RunList of {len(self)}: {shown}{', ...' if len(self) > 5 else ''}>"

    def to_pandas(self) -> pd.DataFrame:
        """A row a run: project, id, name, state, created, points, config.* and summary.*. Opens every run."""
        rows = []
        for run in self._runs:
            row = {"project": run.project, "id": run.id, "name": run.name, "state": run.state, "created": run.created}
            row["points"] = run.points
            row.update({f"config.{key}": value for key, value in _flat(run.config).items()})
            row.update({f"summary.{key}": value for key, value in run.summary.items()})
            rows.append(row)
        frame: pd.DataFrame = _pandas().DataFrame(rows)
        return frame


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}/"))
        else:
            flat[prefix + key] = value
    return flat


def _store(dir: object) -> tuple[str, bool]:
    """The folder and whether somebody named it."""
    from tracker._init import _store_before_hydra

    named = _options.folder("dir", dir)
    path = _core.Store.resolve(named or _store_before_hydra() or "")
    return path, named is not None or bool(os.environ.get("TRACKER_DIR"))


def list_runs(project: str | None, where: str | None, dir: object) -> RunList:
    _options.label("project", project)
    if where is not None:
        raise NotImplementedError("runs(where=...) is not in this version yet")
    path, named = _store(dir)
    try:
        store = _core.Store.open(path)
    except _core.NotFoundError:
        if named:
            raise
        return RunList(())
    store.recover("")
    folders, damaged = store.runs(project or "")
    for line in damaged:
        warnings.warn(f"tracker: {line}", RuntimeWarning, stacklevel=3)
    return RunList([StoredRun(folder) for folder in folders])


def open_run(name: str, dir: object) -> StoredRun:
    if not isinstance(name, str):
        raise TypeError(f"open_run(name): name must be a str such as 'project/id', got {type(name).__name__}")
    path, _ = _store(dir)
    store = _core.Store.open(path)
    folder = store.find(name)
    store.recover(folder.uid)
    run = StoredRun(folder)
    for problem in run.problems:
        print(f"tracker: {problem}", file=sys.stderr)
    return run


def summary_of(run: Run) -> dict[str, Any]:
    """The summary of a run that this process records or has recorded."""
    try:
        return StoredRun(_core.Store.open(run._core.store_path).find(run.uid)).summary
    except (_core.TrackerError, ValueError):
        return {}  # nothing stored yet: the disk refuses, or mode="disabled"
