# SPDX-License-Identifier: MIT
"""A run's attempts and ranks, and a metric over its ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tracker._numpy import numpy, pandas, values
from tracker._reading.row_selection import utc

if TYPE_CHECKING:
    import datetime

    import numpy.typing as npt
    import pandas as pd

    from tracker._reading.history import Floats, Ints


class Attempt(NamedTuple):
    """One attempt of a run; the ranks of a launch share it."""

    attempt: int
    continues: int  # the attempt it branches off; 0 for the first
    resume_step: int | None  # rows of earlier attempts after it are shadowed; None: nothing is
    shown_up_to: int | None  # set by later attempts: its rows with a larger step are shadowed
    started: datetime.datetime  # in UTC, as all times here
    writers: int
    points: int
    state: str  # "running", "finished", ..., "crashed", "preempted", "lost contact"
    last_seen: datetime.datetime  # the last row or sign of life of its processes

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> Attempt:
        out = cls(*row)
        return out._replace(started=utc(row[4]), last_seen=utc(row[8]))


class Rank(NamedTuple):
    """A rank in its newest attempt."""

    rank: int
    attempt: int
    state: str  # "running", "finished", ..., "crashed", "lost contact"
    last_step: int | None  # of its newest row
    last_logged: datetime.datetime | None  # in UTC
    last_seen: datetime.datetime | None
    points: int
    dropped: int
    observed: bool  # ranks="observe": it records no metrics
    host: str
    pid: int

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> Rank:
        out = cls(*row)
        logged, seen = out.last_logged, out.last_seen
        return out._replace(
            last_logged=None if logged is None else utc(row[4]), last_seen=None if seen is None else utc(row[5])
        )


class AcrossRanks:
    """A metric over the ranks of a job, a row a step that any rank logged. Every rank's resolved row counts.

    An infinity is a number: it shows whose loss ran away. A NaN takes part in neither min, mean nor max: `nan` counts
    them. Where a step has nothing else, count is 0, the ranks are -1 and the values NaN. An extreme that several ranks
    hold is the lowest one's.
    """

    def __init__(self, name: str, columns: dict[str, Any]) -> None:
        np = numpy()
        self.name = name
        self.ranks: list[int] = columns["ranks"]
        """The ranks that logged the metric."""
        self.steps: Ints = np.asarray(columns["steps"])
        self.min: npt.NDArray[Any] = values(columns["min"], columns["type"])
        """The dtype logged, as `max`."""
        self.max: npt.NDArray[Any] = values(columns["max"], columns["type"])
        self.mean: Floats = np.asarray(columns["mean"])
        self.min_rank: Ints = np.asarray(columns["min_rank"])
        self.max_rank: Ints = np.asarray(columns["max_rank"])
        self.count: Ints = np.asarray(columns["count"])
        """How many ranks have a number at the step."""
        self.nan: Ints = np.asarray(columns["nan"])

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"<tracker.AcrossRanks {self.name!r}: {len(self):,} steps of {len(self.ranks)} ranks>"

    def to_pandas(self) -> pd.DataFrame:
        """A DataFrame indexed by step with the columns min, mean, max, min_rank, max_rank, count and nan."""
        columns = {name: getattr(self, name) for name in ("min", "mean", "max", "min_rank", "max_rank", "count", "nan")}
        for name in ("min", "max"):
            if columns[name].dtype.kind not in "fib":
                columns[name] = columns[name].astype("float32")
        frame: pd.DataFrame = pandas().DataFrame(columns, index=pandas().Index(self.steps, name="step"))
        return frame
