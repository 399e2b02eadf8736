# SPDX-License-Identifier: MIT
"""Reading a run back. Reading never changes a run and never blocks its writer."""

from __future__ import annotations

import copy
import fnmatch
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from tracker import _arguments, _core, _open_runs
from tracker._reading import chart, row_selection
from tracker._reading.accounts import Losses, MetricFacts, Writer
from tracker._reading.alerts import AlertsOfRun
from tracker._reading.chart import SYSTEM_PREFIX, Chart
from tracker._reading.console_lines import LINES_MAX, ConsoleOutput, read_console
from tracker._reading.history import History, Table, TextRow, history_of, table_of
from tracker._reading.own_copy import OwnCopy
from tracker._reading.stored_config import StoredConfig, StoredSummary
from tracker._reading.stored_media import MediaOfRun
from tracker._reading.tail import ROWS_MAX, Tail

if TYPE_CHECKING:
    import datetime

    from tracker._reading import smoothers
    from tracker._reading.attempts_ranks import AcrossRanks, Attempt, Rank

_HERE = str(Path(__file__).parent.parent) + os.sep  # this package's frames
_Read = TypeVar("_Read")
_LINES_MAX = 5  # lines of damage in one warning


# Items of a list that are opened one by one for config or summary; for a further one the catalog is read once for all.
OPENED_MAX = 8


class Documents:
    """Config and summary of the finished runs of a list, from the catalog. Threads: any."""

    def __init__(self, rows: Callable[[], dict[str, dict[str, Any]]]) -> None:
        self._rows = rows
        self._asked: set[str] = set()
        self._read: dict[str, dict[str, Any]] | None = None

    def of(self, uid: str, document: str) -> dict[str, Any] | None:
        """A copy. None: the run has to be opened, because it has not finished, the catalog lacks the document, or few
        runs of the list were asked for one so far."""
        self._asked.add(uid)
        if len(self._asked) <= OPENED_MAX:
            return None
        if self._read is None:
            self._read = self._rows()
        row = self._read.get(uid)
        found = row[document] if row is not None and row["state"] == "finished" else None
        return copy.deepcopy(found) or None


class RunReader(MediaOfRun, AlertsOfRun, OwnCopy):
    """What StoredRun reads of its run; it adds the artifacts of the run and how it is pickled (stored_objects.py)."""

    def __init__(self, folder: _core.RunFolder, in_store: bool = True, listed: Documents | None = None) -> None:
        self._folder = folder
        self._listed = listed  # of the list that it is an item of
        self._in_store = in_store
        self._opened: _core.RunView | None = None
        self._ended = False
        self._begun = _open_runs.begun(folder.uid)  # by this process, when it was last read
        self._recovered_in = ""  # the state of the run when that was last tried
        self._encoded_in = ""
        self._in_the_way: list[str] = []
        self._warned_of_rows = False
        self._known: set[str] = set()  # what of the damage was said
        self._asked_in = ""  # the state of the run then

    def _view(self) -> _core.RunView:
        begun = _open_runs.begun(self._folder.uid)
        if not self._ended or begun != self._begun:
            self._begun = begun
            _open_runs.flush_own(self._folder.uid)
            if self._opened is None:
                self._opened = _core.open_view(self._folder, self._in_store)
            else:
                self._opened.refresh()
            # Another attempt may begin at any time, so only a run seen finished is taken as it was seen.
            self._ended = self._opened.state() == "finished"
        assert self._opened is not None
        return self._opened

    def _rows(self) -> _core.RunView:
        """The view, to read rows from: once it is said what a dead process has left and could not be stored."""
        view = self._view()
        state = view.state()
        if self._warned_of_rows or state == self._asked_in:
            return view
        self._asked_in = state
        if lines := self._unrecovered(view):
            self._warned_of_rows = True
            self._warn(lines)
        return view

    def _warn(self, lines: list[str]) -> None:
        frame, level = sys._getframe(1), 2  # the first frame that is not this package's
        while frame.f_back and frame.f_code.co_filename.startswith(_HERE):
            frame, level = frame.f_back, level + 1
        text = f"tracker: {self._folder.project}/{self._folder.id}: {'; '.join(lines)}"
        warnings.warn(text, RuntimeWarning, stacklevel=level)

    def _whole(self, result: _Read) -> _Read:
        """`result`, once it is said, for each damage once, what a read found damaged: it lacks the rows that were
        there."""
        view = self._opened
        assert view is not None
        if new := [line for line in view.problems() if line not in self._known]:
            self._known.update(new)
            more = [f"and {len(new) - _LINES_MAX} more in problems"] if len(new) > _LINES_MAX else []
            self._warn([*new[:_LINES_MAX], *more])
        return result

    def _unrecovered(self, view: _core.RunView) -> list[str]:
        """Rows that wait in journals of dead processes, after an attempt to store them; what prevented that, or
        was damaged there."""
        if not view.unrecovered():
            return self._in_the_way
        if self._recovered_in != view.state():
            self._recovered_in = view.state()
            self._recover()
            view.refresh()
        return [*view.unrecovered(), *self._in_the_way]

    def _from_catalog(self, document: str) -> dict[str, Any] | None:
        """Config or summary of an item of a list without opening the run; None where it has to be opened."""
        if self._listed is None or self._opened is not None or _open_runs.begun(self._folder.uid) != self._begun:
            return None
        return self._listed.of(self._folder.uid, document)

    def refresh(self) -> None:
        """Looks again at a run that was seen finished: a later attempt may have resumed it."""
        self._ended = False
        self._listed = None

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
    def created(self) -> datetime.datetime:
        """In UTC."""
        return row_selection.utc(self._folder.created)

    @property
    def ended(self) -> datetime.datetime | None:
        """In UTC; None while the run has no end."""
        ended = self._view().ended_us()
        return row_selection.utc(ended / 1e6) if ended else None

    @property
    def last_seen(self) -> datetime.datetime:
        """When the writer was last heard of, in UTC."""
        return row_selection.utc(self._view().last_seen_us() / 1e6)

    @property
    def name(self) -> str:
        return self._view().name()

    @property
    def state(self) -> str:
        """running, finished, failed, interrupted, preempted, crashed, lost contact, damaged. No dead run is running."""
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
    def config(self) -> StoredConfig:
        """A copy, nested; a key with "/" is a path: config["opt/lr"]."""
        listed = self._from_catalog("config")
        return StoredConfig(self._view().config() if listed is None else listed)

    @property
    def environment(self) -> dict[str, Any]:
        """host, container, python, git, gpu, launcher and what was asked for, of the newest attempt's first rank."""
        return self._view().environment()

    @property
    def summary(self) -> StoredSummary:
        """A copy: the last value of each metric, explicit ones win; entries by attribute too."""
        listed = self._from_catalog("summary")
        return StoredSummary(self._rows().summary() if listed is None else listed)

    @property
    def points(self) -> int:
        """Rows stored, all metrics and writers; samples of the system are not among them."""
        return self._rows().points()

    @property
    def problems(self) -> tuple[str, ...]:
        """What is damaged or could not be read, one line each; the rest is read all the same. Also how many rows of a
        dead process wait in its journal because they could not be stored, and why."""
        view = self._view()
        unread = self._unrecovered(view)
        return (*view.problems(), *unread)

    @property
    def losses(self) -> Losses:
        """The account: where the points of the run are, and how many were lost for which reason."""
        return Losses.of(self._view().losses())

    @property
    def writers(self) -> list[Writer]:
        """The processes that recorded the run, by attempt."""
        return [Writer(**writer) for writer in self._view().writers()]

    def attempts(self) -> list[Attempt]:
        """The attempts by number: which continues which, from which step, and up to where each is shown."""
        from tracker._reading.attempts_ranks import Attempt

        return [Attempt.of(attempt) for attempt in self._view().attempts()]

    def ranks(self) -> list[Rank]:
        """The ranks that record, by number: when each was last seen, and the last step it logged."""
        from tracker._reading.attempts_ranks import Rank

        return [Rank.of(rank) for rank in self._view().ranks()]

    def across_ranks(self, name: str) -> AcrossRanks:
        """min, mean and max of a metric over the ranks by step, and the ranks that hold the extremes.

        Raises NotFoundError with close names, ImportError without NumPy. Cost: as history(name, all=True).
        """
        from tracker._reading.attempts_ranks import AcrossRanks

        if not isinstance(name, str):
            raise TypeError(f"name must be a str, got {type(name).__name__}")
        return self._whole(AcrossRanks(name, self._rows().across_ranks(_arguments.utf8("the name of a metric", name))))

    def series(self, pattern: str = "*", *, system: bool = False) -> list[str]:
        """The names of the metrics that hold numbers, sorted; those that match a pattern such as "val/*".
        system=True: the series that sample machine, process and GPUs instead, "system/cpu.percent" and its like."""
        names = self._rows().metric_names()
        return [
            name for name in names if name.startswith(SYSTEM_PREFIX) == system and fnmatch.fnmatchcase(name, pattern)
        ]

    def metrics(self, *, system: bool = False) -> list[MetricFacts]:
        """What is known of each metric without reading its rows: types, points, dropped, steps, min, max, NaNs.
        system: of the system's series instead."""
        metrics = [MetricFacts(**metric) for metric in self._rows().metrics()]
        return [metric for metric in metrics if metric.name.startswith(SYSTEM_PREFIX) == system]

    @overload
    def history(
        self,
        name: str,
        *,
        steps: row_selection.Steps | None = None,
        times: row_selection.Times | None = None,
        attempts: row_selection.Numbers | None = None,
        ranks: row_selection.Numbers | None = None,
        x: str | None = None,
        all: bool = False,
    ) -> History: ...
    @overload
    def history(
        self,
        name: list[str] | tuple[str, ...],
        *,
        steps: row_selection.Steps | None = None,
        times: row_selection.Times | None = None,
        attempts: row_selection.Numbers | None = None,
        ranks: row_selection.Numbers | None = None,
        x: str | None = None,
        all: bool = False,
    ) -> Table: ...
    def history(
        self,
        name: str | list[str] | tuple[str, ...],
        *,
        steps: row_selection.Steps | None = None,
        times: row_selection.Times | None = None,
        attempts: row_selection.Numbers | None = None,
        ranks: row_selection.Numbers | None = None,
        x: str | None = None,
        all: bool = False,
    ) -> History | Table:
        """The complete rows of one metric, or of several (series("val/*") names them) aligned by step.

        steps, times: (first, last), both included, None for open, or a slice, whose end is not; times in seconds since
        1970 or datetimes. attempts, ranks: a number or several. Rows are chosen first and the last one of each step is
        taken from those. x="epoch": only the steps where epoch has a value too, sorted by it. all=True (one metric
        only): every row in the order logged, repeated steps and earlier attempts included.

        Raises NotFoundError with close names, or for an attempt or a rank that is not there; ValueError for a range
        that holds nothing; ImportError without NumPy. Rows that are damaged are left out: a RuntimeWarning names each
        damage once, as do chart(), texts(), console() and tail(). Cost: reads the run's frames; 24 bytes a row.
        """
        chosen: dict[str, Any] = {
            "steps": row_selection.steps(steps),
            "times_us": row_selection.times(times),
            "attempts": row_selection.numbers("attempts", attempts),
            "ranks": row_selection.numbers("ranks", ranks),
            "x": _name_of_x(x),
        }
        if isinstance(name, str):
            _arguments.utf8("the name of a metric", name)
            return self._whole(history_of(self._rows(), name, **chosen, all=bool(all)))
        names = list(name)
        if not names or not _all_str(names):
            raise TypeError("history() takes a name or a list of names")
        for own in names:
            _arguments.utf8("the name of a metric", own)
        if all:
            raise ValueError(
                "all=True is for one metric: several are aligned by step, and rows of repeated steps have no partners; "
                "ask for each by itself"
            )
        return self._whole(table_of(self._rows(), names, **chosen))

    def chart(
        self,
        name: str,
        lo: Any = None,
        hi: Any = None,
        pixels: int = 2000,
        x: str | None = None,
        *,
        attempts: row_selection.Numbers | None = None,
        ranks: row_selection.Numbers | None = None,
        smooth: smoothers.Smoother | None = None,
        half_life: float | None = None,
        weight: float | None = None,
        sigma: float | None = None,
        width: float | None = None,
    ) -> Chart:
        """One metric between lo and hi (both included; None: where it begins and ends) for a drawing `pixels` wide: all
        points, or where there are 2 x pixels or more exact cells of at most a pixel.

        x: "step" (the default, unless define_metric() named a step_metric that the run has), "time" (seconds since
        1970; lo and hi may be datetimes; the default of system series), or a metric, joined on the step; one named
        "step" or "time" wins. smooth: as History.smooth(), windows in units of x (in seconds over time). The same query
        gives the same cells; rows that are appended change the last ones only. Errors: as history().
        """
        parameters = {"half_life": half_life, "weight": weight, "sigma": sigma, "width": width}
        if not isinstance(name, str):
            raise TypeError(f"name must be a str, got {type(name).__name__}")
        name, over = _arguments.utf8("the name of a metric", name), _name_of_x(x) or None
        return self._whole(chart.query(self._rows(), name, lo, hi, pixels, over, attempts, ranks, smooth, parameters))

    def tail(
        self,
        names: str | list[str] | tuple[str, ...] | None = None,
        *,
        cursor: str | None = None,
        limit: int = ROWS_MAX,
        timeout: float | None = None,
    ) -> Tail:
        """New rows of the metrics named (None: of all; those not there yet are waited for), each exactly once:

            for rows in r.tail(["loss"]): print(rows["loss"].values)

        A batch has every metric that was named, with no rows where none came.
        cursor: None for all rows from the first one on, "now" for what comes after this call, or the cursor of an
        earlier tail. limit: rows of one batch. timeout: seconds without a row after which the iteration ends; it ends
        anyway with the run. ValueError for a cursor of another run or of other metrics, and for a timeout below 0.
        """
        names = [names] if isinstance(names, str) else list(names or ())
        if not _all_str(names):
            raise TypeError("tail() takes a name or a list of names")
        names = [_arguments.utf8("the name of a metric", own) for own in names]
        return Tail(lambda: self._whole(self._rows()), self._recover, names, cursor, limit, timeout)

    def _recover(self) -> None:
        """What a process that died during a tail has left in its rings joins the run; a folder of its own is only
        read."""
        if not self._in_store:
            return
        store = Path(self._folder.path).parents[2]  # <store>/runs/<project>/<id>
        self._in_the_way = _core.Store.open(str(store)).recover(self._folder.uid)

    def texts(self, name: str, *, all: bool = False) -> list[TextRow]:
        """The texts logged under a name; by step as history() has it, or every one with all=True. NotFoundError."""
        view = self._rows()
        _arguments.utf8("the name of a text", name)
        rows = self._whole(view.texts(name, bool(all)))
        if not rows and name not in (names := view.text_names()):  # else a resume took all of them back
            known = ", ".join(map(repr, names[:10])) or "none"
            unread = f"; not all of it can be read: {view.problems()[-1]}" if view.problems() else ""
            raise _core.NotFoundError(f"{self!r} has no text {name!r}; the names with texts: {known}{unread}")
        return [TextRow(*row) for row in rows]

    def console(
        self, *, rank: int | None = None, stream: str | None = None, contains: str = "", last: int = LINES_MAX
    ) -> ConsoleOutput:
        """What the processes printed, line by line: of one rank, of "stdout" or "stderr", lines that hold a text.

        At most the last `last` lines; `total` of the result says how many there are. Cost: reads every frame.
        """
        return self._whole(read_console(self._rows(), rank, stream, contains, last))

    def text_names(self) -> list[str]:
        """The names that hold texts, sorted."""
        return self._whole(self._view().text_names())

    def _repr_html_(self) -> str:
        from tracker._reading import notebook_page

        return notebook_page.stored_run(self)

    def __repr__(self) -> str:
        return f"<tracker.StoredRun {self.project}/{self.id}>"


def _name_of_x(x: str | None) -> str:
    if x is None:
        return ""
    if not isinstance(x, str) or not x:
        raise TypeError(f"x: expected the name of a metric, got {x!r}")
    return _arguments.utf8("x", x)


def _all_str(names: list[str]) -> bool:
    return all(isinstance(name, str) for name in names)
