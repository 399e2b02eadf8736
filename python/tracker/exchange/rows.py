# SPDX-License-Identifier: MIT
"""Rows on their way into a run: gathered into columns while the calls log the same metrics in the same types."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tracker.exchange import wire

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


def timestamp_us(data: bytes) -> int:
    """google.protobuf.Timestamp"""
    seconds = nanos = 0
    for number, _, value in wire.fields(data):
        if number == 1 and isinstance(value, int):
            seconds = wire.signed(value)
        elif number == 2 and isinstance(value, int):
            nanos = value
    return microseconds(seconds) + nanos // 1000


def is_unicode(text: str) -> bool:
    """JSON and the names of files may hold halves of surrogate pairs, which nothing can be stored under."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def sort_value(
    name: str,
    item: Any,
    values: list[tuple[str, float | int]],
    texts: list[tuple[str, str]],
    run: _core.RunImport,
    media: list[tuple[str, dict[str, Any]]] | None = None,
) -> None:
    """What a row of JSON says under a name, among the numbers, the texts or the media (objects with `_type`) of the
    row; the rest is counted."""
    if not is_unicode(name):
        run.leave_out("values whose name is not valid Unicode", 1)
    elif isinstance(item, dict) and "_type" not in item:
        for key, below in item.items():
            sort_value(f"{name}/{key}", below, values, texts, run, media)
    elif isinstance(item, dict) and media is not None:
        media.append((name, item))
    elif item in ("NaN", "Infinity", "-Infinity"):
        values.append((name, float(item)))
    elif isinstance(item, (bool, int, float)):
        values.append((name, item))
    elif isinstance(item, str):
        texts.append((name, item if is_unicode(item) else item.encode("utf-8", "replace").decode()))
    elif item is not None:
        kind = item.get("_type", "") if isinstance(item, dict) else "list"
        run.leave_out(f"values of type {str(kind)[:40]}", 1)


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
