# SPDX-License-Identifier: MIT
"""The runs that tracker.runs() found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from tracker._reading.own_copy import Constant, OwnCopy
from tracker._reading.run_frame import frame_of, frame_row

if TYPE_CHECKING:
    import pandas as pd

    from tracker._reading.stored_objects import StoredRun


class RunList(OwnCopy, Sequence["StoredRun"]):
    """The runs of a store, in the order asked for. It does not change; call tracker.runs() again for new ones.

    matched: how many runs there are without limit and offset. notes: values that the filter could not compare, such as
    "config.lr is text in 12 runs".
    """

    def __init__(
        self,
        runs: Sequence[StoredRun],
        rows: Callable[[], dict[str, dict[str, Any]]] = dict,
        matched: int | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self._runs = tuple(runs)
        self._rows = rows
        self.matched = len(self._runs) if matched is None else matched
        self.notes = tuple(notes)

    def __reduce__(self) -> tuple[Any, ...]:
        return RunList, (self._runs, Constant(self._rows()), self.matched, self.notes)

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, index: int) -> StoredRun: ...
    @overload
    def __getitem__(self, index: slice) -> RunList: ...
    def __getitem__(self, index: int | slice) -> StoredRun | RunList:
        if isinstance(index, slice):
            return RunList(self._runs[index], self._rows, self.matched, self.notes)
        return self._runs[index]

    def __iter__(self) -> Iterator[StoredRun]:
        return iter(self._runs)

    def __repr__(self) -> str:
        shown = ", ".join(f"{run.project}/{run.id}" for run in self._runs[:5])
        return f"<tracker.RunList of {len(self)}: {shown}{', ...' if len(self) > 5 else ''}>"

    def to_pandas(self) -> pd.DataFrame:
        """A row a run: project, id, uid, name, state, state_detail, created, finished, duration (seconds), host,
        points, lost (points), texts_lost, entries_lost, group, job_type, notes, tags, alerts, config.KEY and
        summary.KEY. ImportError without pandas.

        Times are timestamps in UTC; finished is NaT and duration the time until now while a run has no end. Keys
        of nested maps are joined by "/". Cost: reads the store's catalog again; runs that are gone by now are left out.
        """
        rows = self._rows()
        found = [(run, rows[run.uid]) for run in self._runs if run.uid in rows]
        return frame_of([frame_row(run, row) for run, row in found])
