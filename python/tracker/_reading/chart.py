# SPDX-License-Identifier: MIT
"""A chart of a metric of any length: all points, or exact cells of at most one pixel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from tracker import _core
from tracker._numpy import numpy, pandas
from tracker._reading import row_selection, smoothers

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

FIELDS = ("x0", "x1", "first", "last", "min", "max", "sum", "count", "nan", "pos_inf", "neg_inf")


class Chart:
    """Cells in ascending x; all arrays have one entry a cell. is_points: each cell is one row, for there were fewer
    than 2 x pixels; else a cell holds all rows that lie within one step of a fixed grid, never wider than a pixel.

    x0, x1: of its first and last row (int64 steps, or float64); first, last: their values; min, max (NaN without any)
    and sum: over finite values; count of those, and of nan, pos_inf, neg_inf. smoothed: the curve, or None.
    rows: how many rows the cells hold; left_out: rows without a place on this x.
    """

    def __init__(self, name: str, x_name: str, cells: dict[str, Any]) -> None:
        np = numpy()
        self.name = name
        self.x_name = x_name
        self.is_points: bool = cells["points"]
        self.rows: int = cells["rows"]
        self.left_out: int = cells["left_out"]
        self.x0: npt.NDArray[Any] = np.asarray(cells["x0"])
        self.x1: npt.NDArray[Any] = np.asarray(cells["x1"])
        self.first: Floats = np.asarray(cells["first"])
        self.last: Floats = np.asarray(cells["last"])
        self.min: Floats = np.asarray(cells["min"])
        self.max: Floats = np.asarray(cells["max"])
        self.sum: Floats = np.asarray(cells["sum"])
        self.count: Ints = np.asarray(cells["count"])
        self.nan: Ints = np.asarray(cells["nan"])
        self.pos_inf: Ints = np.asarray(cells["pos_inf"])
        self.neg_inf: Ints = np.asarray(cells["neg_inf"])
        self.smoothed: Floats | None = None if cells["smoothed"] is None else np.asarray(cells["smoothed"])

    def __len__(self) -> int:
        return len(self.x0)

    def __repr__(self) -> str:
        shown = f"all {self.rows:,} points" if self.is_points else f"{self.rows:,} points as {len(self):,} cells"
        return f"<tracker.Chart {self.name!r} over {self.x_name}: {shown}>"

    def to_pandas(self) -> pd.DataFrame:
        """A DataFrame, a row a cell. ImportError without pandas."""
        columns = {field: getattr(self, field) for field in FIELDS}
        if self.smoothed is not None:
            columns["smoothed"] = self.smoothed
        frame: pd.DataFrame = pandas().DataFrame(columns)
        return frame


def _step(what: str, value: Any, rounded: Literal["up", "down"]) -> int | None:
    """A window may end between two steps, where a drag of the mouse did."""
    if value is None:
        return None
    if isinstance(value, float) and not math.isinf(value):
        if math.isnan(value):
            raise ValueError(f"{what}: not a number")
        value = math.ceil(value) if rounded == "up" else math.floor(value)
    if value == math.inf:
        return row_selection.INT64_MAX
    if value == -math.inf:
        return row_selection.INT64_MIN
    return row_selection.integer(what, value)


def _real(what: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool):
        raise TypeError(f"{what}: expected a number, got a bool")
    number = float(value)
    if math.isnan(number):
        raise ValueError(f"{what}: not a number")
    return min(max(number, -1.7976931348623157e308), 1.7976931348623157e308)


SYSTEM_PREFIX = "system/"  # of the series that sample machine and process


def query(
    view: _core.RunView,
    name: str,
    lo: Any,
    hi: Any,
    pixels: int,
    x: str | None,
    attempts: row_selection.Numbers | None,
    ranks: row_selection.Numbers | None,
    smooth: str | None,
    parameters: dict[str, float | None],
) -> Chart:
    smoother, window = smoothers.window_of(smooth, parameters)
    if x is not None:  # these two words are never metrics: define_metric() may name one that is called so
        axis = x if x in ("step", "time") else "metric"
    elif name.startswith(SYSTEM_PREFIX):  # its series have no steps
        x = axis = "time"
    else:
        x = view.default_x(name) or None
        axis = "metric" if x else "step"
    ends: dict[str, Any] = dict.fromkeys(("lo_int", "hi_int", "lo", "hi"))
    if axis == "step":
        ends.update(lo_int=_step("lo", lo, "up"), hi_int=_step("hi", hi, "down"))
    elif axis == "time":
        ends.update(
            {
                f"{end}_int": None if v is None else row_selection.microseconds(end, v)
                for end, v in (("lo", lo), ("hi", hi))
            }
        )
        if smoother not in ("", "tensorboard"):
            window *= 1e6
    else:
        ends.update(lo=_real("lo", lo), hi=_real("hi", hi))
    cells = view.chart(
        name,
        axis,
        (x or "") if axis == "metric" else "",
        **ends,
        pixels=_pixels(pixels),
        attempts=row_selection.numbers("attempts", attempts),
        ranks=row_selection.numbers("ranks", ranks),
        smoother=smoother,
        window=window,
    )
    return Chart(name, x or "step", cells)


def _pixels(value: Any) -> int:
    number = row_selection.integer("pixels", value)
    if not 0 < number < 2**32:
        raise ValueError(f"pixels: {value} is not a width")
    return number
