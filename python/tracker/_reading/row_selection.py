# SPDX-License-Identifier: MIT
"""The arguments that choose rows, as the core takes them: ranges with both ends in them, lists of numbers."""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, SupportsIndex, TypeAlias

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

Time: TypeAlias = float | datetime.datetime
Steps: TypeAlias = tuple[SupportsIndex | None, SupportsIndex | None] | slice
Times: TypeAlias = tuple[Time | None, Time | None] | slice
Numbers: TypeAlias = int | Iterable[int]


def utc(seconds: float) -> datetime.datetime:
    """A moment in UTC, of seconds since 1970; beyond the calendar its first or last one."""
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    except (OverflowError, ValueError, OSError):
        end = datetime.datetime.max if seconds > 0 else datetime.datetime.min
        return end.replace(tzinfo=datetime.UTC)


def integer(what: str, value: Any) -> int:
    """An int in the range of a step: what lies beyond it is the nearest one in it."""
    return min(max(_whole(what, value), INT64_MIN), INT64_MAX)


def _whole(what: str, value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{what}: expected an int, got a bool")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: expected an int, got {type(value).__name__}") from None


def _timestamp(value: datetime.datetime) -> float:
    try:
        return value.timestamp()
    except (OverflowError, ValueError):  # local time of the first or the last day that there is
        return value.replace(tzinfo=datetime.UTC).timestamp()


def microseconds(what: str, value: Any) -> int:
    """µs since 1970 of seconds or of a datetime (a naive one is local time)."""
    if isinstance(value, datetime.datetime):
        value = _timestamp(value)
    if isinstance(value, bool):
        raise TypeError(f"{what}: expected seconds or a datetime, got a bool")
    try:
        seconds = float(value)
    except OverflowError:  # an int of more than 308 digits
        seconds = math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        raise TypeError(f"{what}: expected seconds or a datetime, got {type(value).__name__}") from None
    if math.isnan(seconds):
        raise ValueError(f"{what}: not a number")
    return round(min(max(seconds, -9e12), 9e12) * 1e6)


def _range(what: str, value: Any, convert: Callable[[str, Any], int]) -> tuple[int, int] | None:
    if value is None:
        return None
    half_open = isinstance(value, slice)
    if half_open:
        if value.step is not None:
            raise ValueError(f"{what}: a slice with a step chooses no range")
        ends = (value.start, value.stop)
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        ends = (value[0], value[1])
    else:
        raise TypeError(f"{what}: expected (first, last) or a slice, got {value!r}")
    low = INT64_MIN if ends[0] is None else convert(what, ends[0])
    high = INT64_MAX if ends[1] is None else convert(what, ends[1])
    if half_open and ends[1] is not None:
        high -= 1
    low, high = max(low, INT64_MIN), min(high, INT64_MAX)  # after the stop of a slice, which may lie beyond
    if low > high:
        raise ValueError(f"{what}: nothing lies between {ends[0]} and {ends[1]}")
    return low, high


def steps(value: Steps | None) -> tuple[int, int] | None:
    return _range("steps", value, _whole)


def times(value: Times | None) -> tuple[int, int] | None:
    return _range("times", value, microseconds)


def numbers(what: str, value: Numbers | None) -> list[int] | None:
    if value is None:
        return None
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        return [integer(what, value)]
    return [integer(what, one) for one in value]
