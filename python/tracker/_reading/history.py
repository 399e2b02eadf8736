# SPDX-License-Identifier: MIT
"""Rows of metrics: as NumPy arrays, to whatever reads Arrow, to pandas. The arrays are the memory that the core has
filled, and so are the Arrow arrays; nothing is copied a second time."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tracker import _core
from tracker._numpy import numpy, pandas, plain, timestamps, values
from tracker._reading import smoothers
from tracker._reading.own_copy import KeptRows, OwnCopy, kept_rows

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]


class TextRow(NamedTuple):
    """One text logged under a metric's name. time: seconds since 1970."""

    step: int | None
    time: float
    text: str
    attempt: int
    rank: int


def _column_name(name: str, taken: Collection[str]) -> str:
    """Of a metric beside columns of these names: as in Arrow."""
    while name in taken:
        name += " (metric)"
    return name


class _Columns(OwnCopy):
    """What History and Table share: the column x, and the Arrow PyCapsule interface: pyarrow.table(h),
    polars.DataFrame(h), pandas.DataFrame.from_arrow(h), and h by name in DuckDB's SQL. The memory is shared with the
    arrays here; it stays as long as anybody holds it."""

    _rows: _core.Rows | _core.Table

    @cached_property
    def x(self) -> npt.NDArray[Any] | None:
        """The metric asked for as x, a value a row, ascending; None without one."""
        column = self._rows.x()
        result: npt.NDArray[Any] | None = None if column is None else values(column, self._rows.x_type())
        return result

    @property
    def x_name(self) -> str | None:
        return self._rows.x_name() or None

    def __arrow_c_schema__(self) -> object:
        return self._rows.arrow_schema()

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """All rows in one array. A requested schema is the consumer's to cast to."""
        return self._rows.arrow_array()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrays of at most 65,536 rows."""
        return self._rows.arrow_stream()


class History(_Columns):
    """The rows of one metric, in the order of `steps`: one row a step, the last one that was logged, the last attempt's
    where there are several; with all=True every row in the order logged; with x= in the order of x. Its memory is its
    own; it does not change when the run does. A copy is the history itself; from a pickle it is not smoothed and has no
    Arrow columns.

    len(h) is the count of rows; all arrays have that length. In Arrow and pandas the columns are step (null where a row
    has none), x under its name where one was asked for, value, time (a timestamp in UTC), attempt and rank.
    """

    _rows: _core.Rows

    def __init__(self, name: str, rows: _core.Rows) -> None:
        np = numpy()
        self.name = name
        self.dtype_logged: str = rows.type()
        self.steps: Ints = np.asarray(rows.steps())
        """int64; 0 where a row has no step (see has_step)."""
        self.values: npt.NDArray[Any] = values(rows.values(), self.dtype_logged)
        """The dtype logged: float64, float32, float16, bfloat16, int64, bool; where mixed float64 or int64."""
        self._rows = rows

    def __reduce__(self) -> tuple[Any, ...]:
        return History, (self.name, kept_rows(self._rows, KeptRows.NEEDED))

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"<tracker.History {self.name!r}: {len(self):,} rows of {self.dtype_logged}>"

    @cached_property
    def times(self) -> Floats:
        """Seconds since 1970, UTC."""
        result: Floats = numpy().asarray(self._rows.times())
        return result

    @cached_property
    def has_step(self) -> Bools:
        np = numpy()
        column = self._rows.has_step()
        result: Bools = np.ones(len(self), bool) if column is None else np.asarray(column)
        return result

    def _per_source(self, index: Literal[0, 1]) -> Ints:
        np = numpy()
        numbers = np.array([source[index] for source in self._rows.sources()], np.int64)
        column = self._rows.source()
        if column is None:
            result: Ints = np.full(len(self), numbers[0] if len(numbers) else 0, np.int64)
        else:
            result = numbers[np.asarray(column)]
        return result

    @cached_property
    def attempts(self) -> Ints:
        """Which attempt of the run logged the row: 1, 2, ..."""
        return self._per_source(0)

    @cached_property
    def ranks(self) -> Ints:
        return self._per_source(1)

    def smooth(
        self,
        kind: smoothers.Smoother,
        *,
        half_life: float | None = None,
        weight: float | None = None,
        sigma: float | None = None,
        width: float | None = None,
        over: Literal["x", "time"] = "x",
    ) -> Floats:
        """A smoothed value for each row, float64: "ema" takes half_life, "tensorboard" weight (0 to 1), "gaussian"
        sigma, "mean" width; docs/reading.md has the formulas. Windows are in steps (in units of x where one was asked
        for), with over="time" in seconds. What is not finite passes through and counts for nothing.

        ValueError: a window that is not positive; rows without a step, or all=True rows that go back.
        LimitError: a Gaussian over too many pairs of points; take chart(smooth="gaussian").
        """
        given = {"half_life": half_life, "weight": weight, "sigma": sigma, "width": width}
        if over not in ("x", "time"):
            raise ValueError(f"over: 'x' or 'time', not {over!r}")
        name, window = smoothers.window_of(kind, given)
        result: Floats = numpy().asarray(self._rows.smooth(name, window, over == "time"))
        return result

    def to_pandas(self) -> pd.DataFrame:
        """A DataFrame with the columns named above. ImportError without pandas."""
        steps: Any = self.steps
        if not self.has_step.all():
            steps = pandas().array(self.steps, dtype="Int64")
            steps[~self.has_step] = pandas().NA
        columns: dict[str, Any] = {"step": steps}
        if self.x is not None and self.x_name is not None:
            columns[_column_name(self.x_name, ("step", "value", "time", "attempt", "rank"))] = plain(self.x)
        columns |= {"value": plain(self.values), "time": timestamps(self._rows.times_us())}
        columns |= {"attempt": self.attempts, "rank": self.ranks}
        frame: pd.DataFrame = pandas().DataFrame(columns)
        return frame


class Table(_Columns):
    """Several metrics aligned by step: `steps` are all steps that any of them has, ascending and without repetition.
    With x= only the steps that have an x, in its order.

    table["loss"] is the column as logged where every step has a value, else float64 (floats: their own type) with NaN
    in the gaps (an int beyond 2**53 then rounds: take to_pandas() or Arrow, whose integers are exact);
    `present["loss"]` separates a gap from a logged NaN. Rows without a step are left out. There are no times: a time
    belongs to a row of one metric, and history(name) has it. In Arrow and pandas gaps are null.
    """

    _rows: _core.Table

    def __init__(self, rows: _core.Table) -> None:
        np = numpy()
        self.steps: Ints = np.asarray(rows.steps())
        self._rows = rows
        self._values: dict[str, npt.NDArray[Any]] = {}
        self._present: dict[str, Bools | None] = {}
        for name, kind, column, present in rows.columns():
            self._values[name] = values(column, kind)
            self._present[name] = None if present is None else np.asarray(present)
        self.names = list(self._values)

    def __len__(self) -> int:
        return len(self.steps)

    def __reduce__(self) -> tuple[Any, ...]:
        return Table, (kept_rows(self._rows, ("steps", "columns")),)

    @cached_property
    def present(self) -> dict[str, Bools]:
        np = numpy()
        return {
            name: np.ones(len(self), bool) if present is None else present for name, present in self._present.items()
        }

    def _gaps(self, name: str) -> Bools | None:
        present = self._present[name]
        return None if present is None or present.all() else ~present

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        np = numpy()
        array, gaps = self._values[name], self._gaps(name)
        if gaps is None:
            return array
        result: npt.NDArray[Any] = array.astype(np.float64 if array.dtype.kind in "ib" else array.dtype)
        result[gaps] = np.nan
        return result

    def __repr__(self) -> str:
        return f"<tracker.Table {self.names}: {len(self):,} steps>"

    def to_pandas(self) -> pd.DataFrame:
        """A DataFrame indexed by step, a column a metric (x first); gaps are NaN, in integers and bools pandas' NA."""
        columns: dict[str, Any] = {}
        if self.x is not None and self.x_name is not None:
            columns[_column_name(self.x_name, ("step",))] = plain(self.x)
        for name, array in self._values.items():
            gaps, column_name = self._gaps(name), _column_name(name, {"step", *columns})
            if gaps is not None and array.dtype.kind in "ib":
                column = pandas().array(array, dtype="Int64" if array.dtype.kind == "i" else "boolean")
                column[gaps] = pandas().NA
                columns[column_name] = column
            else:
                columns[column_name] = plain(self[name])
        frame: pd.DataFrame = pandas().DataFrame(columns, index=pandas().Index(self.steps, name="step"))
        return frame


def _missing(view: _core.RunView, names: list[str], error: _core.NotFoundError) -> _core.NotFoundError:
    """The error, or a clearer one where a name has texts and no numbers."""
    numbers = set(view.metric_names())
    for name in names:
        if name not in numbers and name in view.text_names():
            return _core.NotFoundError(f"{name!r} holds texts, which have no history of numbers; use texts({name!r})")
    return error


def history_of(view: _core.RunView, name: str, **chosen: Any) -> History:
    try:
        return History(name, view.history(name, **chosen))
    except _core.NotFoundError as error:
        raise _missing(view, [name], error) from None


def table_of(view: _core.RunView, names: list[str], **chosen: Any) -> Table:
    try:
        return Table(view.table(names, **chosen))
    except _core.NotFoundError as error:
        raise _missing(view, names, error) from None
