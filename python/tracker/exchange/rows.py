# SPDX-License-Identifier: MIT
"""Rows on their way into a run: gathered into columns while the calls log the same metrics in the same types."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracker import _core

IMPORT_ROWS_MAX = 8192
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
TIME_US_MAX = 9_000_000_000_000_000_000


def microseconds(seconds: float) -> int:
    """0 for what is no time."""
    if isinstance(seconds, int):  # which may be beyond every float
        seconds = max(-TIME_US_MAX, min(seconds, TIME_US_MAX))
    if not math.isfinite(seconds) or abs(seconds) * 1e6 > TIME_US_MAX:
        return 0
    return round(seconds * 1e6)


class Rows:
    """The rows of one run. flush() hands on what is left."""

    def __init__(self, run: _core.RunImport) -> None:
        self.run = run
        self._shape: tuple[tuple[str, str], ...] = ()
        self._has_step = True
        self._steps = array("q")
        self._times = array("q")
        self._columns: list[array[float] | array[int]] = []

    def add(self, values: Iterable[tuple[str, float | int]], step: int | None, time_us: int) -> None:
        """One call. Integers beyond int64 become floats."""
        row: dict[tuple[str, str], float | int] = {}
        for name, value in values:
            if isinstance(value, bool):
                row[name, "B"] = int(value)
            elif isinstance(value, int) and INT64_MIN <= value <= INT64_MAX:
                row[name, "q"] = value
            else:
                row[name, "d"] = _float(value)
        if step is not None and not INT64_MIN <= step <= INT64_MAX:
            self.run.leave_out("steps beyond int64", 1)
            step = None
        if not row:
            return
        shape = tuple(row)
        if shape != self._shape or (step is not None) != self._has_step or len(self._times) >= IMPORT_ROWS_MAX:
            self.flush()
            self._shape, self._has_step = shape, step is not None
            self._columns = [array(code) for _, code in shape]
        for column, value in zip(self._columns, row.values(), strict=True):
            column.append(value)  # type: ignore[arg-type]
        if step is not None:
            self._steps.append(step)
        self._times.append(time_us)

    def flush(self) -> None:
        if self._times:
            names = [name for name, _ in self._shape]
            self.run.rows(names, self._steps if self._has_step else None, self._times, self._columns)
        self._shape = ()
        self._steps, self._times, self._columns = array("q"), array("q"), []


def _float(value: float | int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
