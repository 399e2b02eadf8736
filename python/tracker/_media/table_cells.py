# SPDX-License-Identifier: MIT
"""Cells of a table as its document has them (docs/media.md): of a column of one type as they are, else as "mixed",
where what JSON has no word for is {type: value}. Pictures go after the document."""

from __future__ import annotations

import array
import datetime
import decimal
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracker import _core
from tracker._media.coerced import coerced
from tracker._media.medium import Media, clean_text
from tracker._plain_values import DEPTH_MAX, plain

# Limit: characters of a cell's text. Beyond it: cut.
CELL_CHARS_MAX = 64 * 1024
# Of a table; what is said of them is in its event
# Limit: pictures in the cells of a table. Beyond it: reported; an empty cell.
TABLE_PICTURES_MAX = 1000
# Of an array or nested lists in cells of one table
# Limit: values of lists, dicts and arrays in the cells of a table. Beyond it: reported; a text.
NESTED_VALUES_MAX = 1_000_000
PICTURES = ("image", "audio", "video")


def as_json(value: object) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


class Cells:
    """Of one table."""

    def __init__(self, remark: Callable[[str], None]) -> None:
        self._remark = remark
        self.pictures: list[Media] = []
        self._above: set[int] = set()  # ids of the lists that hold the current cell
        self._left = NESTED_VALUES_MAX

    def column(self, name: str, values: Any) -> str:
        """As JSON. Columns of numbers alone, which most of the large ones are, take a fifth of the time of others."""
        if (numbers := _numbers(values)) is not None:
            kind, dense = numbers
            head = as_json({"name": name, "type": kind})
            return f'{head[:-1]},"values":{_core.json_numbers(dense).decode()}}}'
        kind, stored = self._typed(name, values)
        return as_json({"name": name, "type": kind, "values": stored})

    def _typed(self, name: str, values: list[Any]) -> tuple[str, list[Any]]:
        cells = [self._plain(value) for value in values]
        kinds = {_kind(value) for value in cells if value is not None}
        if kinds == {"decimal"} and all(value is None or _is_double(value) for value in cells):
            cells, kinds = [value if value is None else float(value) for value in cells], {"float"}
        if kinds == {"int", "float"}:
            kinds = {"float"}
        kind = kinds.pop() if len(kinds) == 1 else "mixed" if kinds else "text"
        if kind == "float":
            return kind, [value if value is None else _float(float(value)) for value in cells]
        if kind == "time":
            return kind, [value if value is None else value.isoformat() for value in cells]
        if kind == "text":
            return kind, [value if value is None else self._text(value) for value in cells]
        if kind in ("bool", "int"):
            return kind, cells
        return "mixed", [self._mixed(value, 0) for value in cells]

    def _text(self, value: str) -> str:
        if len(value) > CELL_CHARS_MAX:
            self._remark(f"a cell of {len(value):,} characters is cut at {CELL_CHARS_MAX:,}")
        elif value.isascii():
            return str.__str__(value)
        return clean_text(value, CELL_CHARS_MAX)

    def _plain(self, value: Any) -> Any:
        """As Python has it, of NumPy, pandas and torch too; what has no type of its own becomes a text."""
        if value is None or isinstance(value, (bool, int, float, str, datetime.date, decimal.Decimal)):
            return _calendar(value)
        kind = type(value)
        library = kind.__module__.partition(".")[0]
        if kind.__name__ in ("NaTType", "NAType"):
            return None
        if isinstance(value, Media) or library in ("PIL", "matplotlib"):
            return self._medium(value)
        if library == "numpy" and getattr(value, "ndim", 1) == 0 and hasattr(value, "dtype"):
            return self._scalar(value)
        if isinstance(value, (list, tuple, Mapping)):
            return value
        if hasattr(value, "dtype") and hasattr(value, "tolist"):
            return self._array(value)
        if hasattr(value, "to_list"):  # a column of polars or pandas in a cell
            return value.to_list()
        return self._as_text(value)

    def _scalar(self, value: Any) -> Any:
        kind = value.dtype.kind
        if kind == "M":
            return self._time(value)
        return self._as_text(value) if kind in "mV" else self._plain(value.item())

    def _time(self, value: Any) -> Any:
        """A datetime64 as datetime or date, whose item() is an int where it counts nanoseconds."""
        if value != value:  # NaT
            return None
        found = value.item()
        if isinstance(found, int):
            found = value.astype("datetime64[us]").item()
        return self._as_text(value) if isinstance(found, int) else found  # before year 1, after 9999

    def _array(self, value: Any) -> Any:
        if hasattr(value, "detach"):
            value = value.detach().cpu()
        count = math.prod(value.shape)
        if count > self._left:
            self._remark(f"an array of {count:,} values in a cell is stored as its text")
            return clean_text(repr(value), 1000)
        self._left -= count
        return value.tolist()

    def _medium(self, value: Any) -> Any:
        medium = value if isinstance(value, Media) else coerced(value)
        if medium is None:
            return self._as_text(value)
        if medium._error is not None:
            self._remark(f"a picture is left out of its cell: {medium.problem}")
            return None
        text = (medium._description or {}).get("text")
        if medium._encoder is None or getattr(medium, "kind", "") not in PICTURES:
            return text if isinstance(text, str) else self._as_text(value)
        for remark in medium._remarks:
            self._remark(remark)
        if len(self.pictures) >= TABLE_PICTURES_MAX:
            self._remark(f"a table has at most {TABLE_PICTURES_MAX:,} pictures; the cells of the others are empty")
            return None
        self.pictures.append(medium)
        return _Picture(len(self.pictures) - 1)

    def _as_text(self, value: Any) -> Any:
        """A number, a text, a list or a dict; what was none of that is reported."""
        kind = type(value)
        odd = isinstance(value, (datetime.timedelta, datetime.time)) or kind.__module__.partition(".")[0] in _SHOWN
        found = str(value) if odd else plain(value)
        if isinstance(found, str):
            self._remark(f"a {kind.__name__} in a cell is stored as its text")
        return found

    def _mixed(self, value: Any, depth: int) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            return int(value) if -(2**63) <= value < 2**63 else {"int": str(int(value))}
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"float": _float(value)}
        if isinstance(value, datetime.date):
            return {"time": value.isoformat()}
        if isinstance(value, decimal.Decimal):
            return {"decimal": str(value)}
        if isinstance(value, _Picture):
            return {"picture": value.place}
        if not isinstance(value, (list, tuple, Mapping)):
            return self._mixed(self._plain(value), depth)
        if id(value) in self._above or depth >= DEPTH_MAX or len(value) > self._left:
            self._remark("what is nested too deep, holds itself or has no end is stored as …")
            return "…"
        self._left -= len(value)
        self._above.add(id(value))
        try:
            if isinstance(value, Mapping):
                return {"dict": {self._text(str(k)): self._mixed(self._plain(v), depth + 1) for k, v in value.items()}}
            return [self._mixed(self._plain(each), depth + 1) for each in value]
        finally:
            self._above.discard(id(value))


# Of these str() says more than repr()
_SHOWN = ("pandas", "numpy", "uuid", "ipaddress", "fractions")


class _Picture:
    """In the place of one."""

    __slots__ = ("place",)

    def __init__(self, place: int) -> None:
        self.place = place


def _calendar(value: Any) -> Any:
    """NaT of pandas is a datetime."""
    return None if isinstance(value, datetime.date) and value != value else value


def _numbers(values: Any) -> tuple[str, Any] | None:
    """Its type and an array of float64 or int64; None for any other column."""
    if not isinstance(values, list):  # of NumPy
        is_float = values.dtype.kind == "f"
        return ("float" if is_float else "int"), values.astype("<f8" if is_float else "<i8", order="C")
    kinds = set(map(type, values))
    try:
        if kinds == {float}:
            return "float", array.array("d", values)
        if kinds == {int}:
            return "int", array.array("q", values)
    except OverflowError:  # beyond int64
        return None
    return None


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if -(2**63) <= value < 2**63 else "mixed"
    if isinstance(value, float):
        return "float"
    if isinstance(value, str):
        return "text"
    if isinstance(value, datetime.date):
        return "time"
    return "decimal" if isinstance(value, decimal.Decimal) else "mixed"


def _is_double(value: decimal.Decimal) -> bool:
    return value.is_finite() and decimal.Decimal(repr(float(value))) == value


def _float(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def cell_of(value: Any, pictures: Sequence[Any]) -> Any:
    """A cell of a mixed column, read back."""
    if isinstance(value, list):
        return [cell_of(each, pictures) for each in value]
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind == "dict" and isinstance(inner, dict):
        return {key: cell_of(each, pictures) for key, each in inner.items()}
    if kind == "picture":
        return pictures[inner] if isinstance(inner, int) and 0 <= inner < len(pictures) else None
    made: Callable[[Any], Any] | None = _MADE.get(kind)
    return made(inner) if made is not None else value


_MADE: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "float": float,
    "time": datetime.datetime.fromisoformat,
    "decimal": decimal.Decimal,
}
