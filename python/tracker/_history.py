# SPDX-License-Identifier: MIT
"""Rows of metrics as NumPy arrays. The arrays are the memory the core has filled; nothing is copied a second time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]


def _numpy() -> Any:
    try:
        import numpy
    except ImportError as error:
        raise ImportError("NumPy is needed to read a history: pip install numpy") from error
    return numpy


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("pandas is needed for to_pandas(): pip install pandas") from error
    return pandas


def _values(column: Any, kind: str) -> Any:
    """The values with the dtype logged; bfloat16 as ml_dtypes has it, else widened to float32 (exactly)."""
    np = _numpy()
    array = np.asarray(column)
    if kind != "bfloat16":
        return array
    try:
        import ml_dtypes
    except ImportError:
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array.view(ml_dtypes.bfloat16)


class TextRow(NamedTuple):
    """One text logged under a metric's name. time: seconds since 1970."""

    step: int | None
    time: float
    text: str
    attempt: int
    rank: int


class History:
    """The rows of one metric, in the order of `steps`: one row a step, the last one that was logged, the last attempt's
    where there are several; with all=True every row in the order logged. Its memory is its own; it does not change.

    len(h) is the count of rows; all arrays have that length.
    """

    def __init__(self, name: str, columns: dict[str, Any]) -> None:
        np = _numpy()
        self.name = name
        self.dtype_logged: str = columns["type"]
        self.steps: Ints = np.asarray(columns["steps"])
        """int64; 0 where a row has no step (see has_step)."""
        self.values: npt.NDArray[Any] = _values(columns["values"], self.dtype_logged)
        """The dtype logged: float64, float32, float16, bfloat16, int64, bool; where mixed float64 or int64."""
        self.times: Floats = np.asarray(columns["times"])
        """Seconds since 1970, UTC."""
        self._columns = columns

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"<tracker.History {self.name!r}: {len(self):,} rows of {self.dtype_logged}>"

    @cached_property
    def has_step(self) -> Bools:
        np = _numpy()
        column = self._columns["has_step"]
        result: Bools = np.ones(len(self), bool) if column is None else np.asarray(column)
        return result

    def _per_source(self, index: int) -> Ints:
        np = _numpy()
        sources = self._columns["sources"]
        values = np.array([source[index] for source in sources], np.int64)
        column = self._columns["source"]
        if column is None:
            first = values[0] if len(values) else 0
            result: Ints = np.full(len(self), first, np.int64)
        else:
            result = values[np.asarray(column).astype(np.intp)]
        return result

    @cached_property
    def attempts(self) -> Ints:
        """Which attempt of the run logged the row: 1, 2, ..."""
        return self._per_source(0)

    @cached_property
    def ranks(self) -> Ints:
        return self._per_source(1)

    def to_pandas(self) -> pd.DataFrame:
        """A DataFrame with the columns step, value, time, attempt and rank. ImportError without pandas."""
        values = self.values
        if values.dtype.kind == "V" or values.dtype.name == "bfloat16":
            values = values.astype("float32")
        frame: pd.DataFrame = _pandas().DataFrame(
            {"step": self.steps, "value": values, "time": self.times, "attempt": self.attempts, "rank": self.ranks}
        )
        return frame


class Table:
    """Several metrics aligned by step: `steps` are all steps that any of them has, ascending and without repetition.

    table["loss"] is the column as logged where every step has a value, else float64 with NaN in the gaps (an int beyond
    2**53 then rounds: take to_pandas(), whose integers are exact); `present["loss"]` tells a gap from a logged NaN.
    Rows without a step are left out.
    """

    def __init__(self, histories: Sequence[History]) -> None:
        np = _numpy()
        self.names = [history.name for history in histories]
        stepped = [history.has_step for history in histories]
        steps = [history.steps[has] for history, has in zip(histories, stepped, strict=True)]
        self.steps: Ints = np.unique(np.concatenate(steps)) if steps else np.empty(0, np.int64)
        self.present: dict[str, Bools] = {}
        self._values: dict[str, npt.NDArray[Any]] = {}
        for history, has, own in zip(histories, stepped, steps, strict=True):
            rows = np.searchsorted(self.steps, own)
            present = np.zeros(len(self.steps), bool)
            present[rows] = True
            values = np.zeros(len(self.steps), history.values.dtype)
            values[rows] = history.values[has]
            self.present[history.name] = present
            self._values[history.name] = values

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        np = _numpy()
        values, present = self._values[name], self.present[name]
        if present.all():
            return values
        gaps: npt.NDArray[Any] = values.astype(values.dtype if values.dtype.kind == "f" else np.float64)
        gaps[~present] = np.nan
        return gaps

    def __repr__(self) -> str:
        return f"<tracker.Table {self.names}: {len(self):,} steps>"

    def to_pandas(self) -> pd.DataFrame:
        """A DataFrame indexed by step, a column a metric; gaps are NaN, in integers and bools pandas' NA."""
        pandas = _pandas()
        columns: dict[str, Any] = {}
        for name in self.names:
            values, present = self._values[name], self.present[name]
            if values.dtype.kind in "ib" and not present.all():
                array = pandas.array(values, dtype="Int64" if values.dtype.kind == "i" else "boolean")
                array[~present] = pandas.NA
                columns[name] = array
            else:
                column = self[name]
                columns[name] = column if column.dtype.kind in "fib" else column.astype("float32")
        frame: pd.DataFrame = pandas.DataFrame(columns, index=pandas.Index(self.steps, name="step"))
        return frame
