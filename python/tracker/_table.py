# SPDX-License-Identifier: MIT
"""Table: typed columns as one JSON document (docs/media.md says its form), from rows, pandas or anything of Arrow."""

from __future__ import annotations

import array
import datetime
import importlib
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracker import _core
from tracker._documents import DOCUMENT_BYTES_MAX, Document
from tracker._media import caption_of, short_text

TABLE_ROWS_MAX = 200_000
TABLE_COLUMNS_MAX = 1000
TABLE_CELLS_MAX = 4_000_000
COLUMN_NAME_CHARS_MAX = 256
CELL_CHARS_MAX = 64 * 1024
CELL_BYTES_MIN = 2  # of a digit and a comma


class Table(Document):
    """A table to log: run.log({"errors": tracker.Table(columns=["name", "score"], data=rows)}, step=i).

    data: rows (lists, tuples, or dicts of names to cells), a dict of names to columns, a DataFrame of pandas or polars,
    or what has __arrow_c_stream__, such as a table of pyarrow. columns: their names, where rows do not say them.
    Each column has one type: bool, int, float (ints among floats become floats), text or time (datetime, date, and
    datetime64 to the microsecond); None and NaT are empty cells, NaN and infinities stay. A column of mixed types is a
    TypeError that names it: say str() of it. The cells are copied. LimitError is never raised: more rows, columns,
    cells or bytes of the document than docs/limits.md allows are a ValueError, before more than that is encoded. Cost:
    the cells become JSON here: 0.1 s for a million numbers that are arrays or lists of one type, else a second.
    """

    __slots__ = ()
    kind = "table"

    def __init__(self, data: Any = None, columns: Sequence[str] | None = None, *, caption: str | None = None) -> None:
        names, cells = _columns_of(data, columns)
        rows = len(cells[0]) if cells else 0
        check_size(rows, len(names))
        columns_text, size = [], rows * len(names) * CELL_BYTES_MIN
        for name, values in zip(names, cells, strict=True):
            _check_document(size, rows, len(names))  # before the work for a column that finds no room
            columns_text.append(_column(name, values))
            size += len(columns_text[-1]) - rows * CELL_BYTES_MIN
        _check_document(size, rows, len(names))
        text = f'{{"rows":{rows},"columns":[{",".join(columns_text)}]}}'
        said = {"rows": rows, "columns": len(names), **caption_of(caption)}
        self._set_text("table", text, "json", said)


def _column(name: str, values: Any) -> str:
    """As JSON. Columns of numbers alone, which most of the large ones are, take a fifth of the time of others."""
    if (numbers := _numbers(values)) is not None:
        kind, dense = numbers
        head = _json({"name": name, "type": kind})
        return f'{head[:-1]},"values":{_core.json_numbers(dense).decode()}}}'
    kind, stored = _typed(name, values)
    return _json({"name": name, "type": kind, "values": stored})


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
    except OverflowError:  # beyond int64, which is refused by name
        return None
    return None


def _is_numbers(column: Any) -> bool:
    """An array of NumPy that is float64 or int64 without a change of values."""
    dtype: Any = getattr(column, "dtype", None)
    if type(column).__module__ != "numpy" or type(column).__name__ != "ndarray" or column.ndim != 1:
        return False
    return bool(column.size) and dtype.itemsize + (dtype.kind == "u") <= 8 and dtype.kind in "fiu"


def _json(value: object) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def _check_document(size: int, rows: int, columns: int) -> None:
    """`size`: characters of the columns that are encoded, and the least that the others take."""
    if size > DOCUMENT_BYTES_MAX:
        raise ValueError(f"a table of {rows:,} × {columns:,} cells has a document of more than {DOCUMENT_BYTES_MAX:,} "
                         "bytes: log a part of it, or round its numbers")  # fmt: skip


def check_size(rows: int, columns: int) -> None:
    if not columns:
        raise ValueError("a table has no columns")
    for what, count, limit in (
        ("rows", rows, TABLE_ROWS_MAX),
        ("columns", columns, TABLE_COLUMNS_MAX),
        ("cells", rows * columns, TABLE_CELLS_MAX),
    ):
        if count > limit:
            raise ValueError(f"a table has {count:,} {what}; at most {limit:,}")


def _columns_of(data: Any, names: Sequence[str] | None) -> tuple[list[str], list[Any]]:
    """Names and columns of one length: lists, or arrays of numbers."""
    given = None if names is None else _names(names)
    if hasattr(data, "to_dict") and hasattr(data, "columns"):  # pandas, polars
        found = _names([str(name) for name in data.columns])
        check_size(len(data), max(1, len(found)))
        columns = [_cells(data[name]) for name in data.columns]
    elif hasattr(data, "__arrow_c_stream__"):
        try:
            table = importlib.import_module("pyarrow").table(data)
        except ImportError as error:
            raise ImportError("pyarrow is needed for a table from Arrow: pip install pyarrow") from error
        except (TypeError, ValueError) as error:  # of pyarrow: what it is given is a column, or no stream
            what = type(data).__name__
            raise TypeError(f'a {what} is no table ({error}); a column has a name: {{"name": values}}') from None
        found = _names(table.column_names)
        check_size(table.num_rows, max(1, len(found)))
        columns = [column.to_pylist() for column in table.columns]
    elif isinstance(data, Mapping):
        found = _names(list(data))
        for column in data.values():  # before they are copied
            check_size(_length(column), max(1, len(found)))
        columns = [column if _is_numbers(column) else list(column) for column in data.values()]
    else:
        return _from_rows(data, given)
    if given is not None and given != found:
        raise ValueError(f"columns {given} are not those of the data, {found}")
    if len(set(map(len, columns))) > 1:
        raise ValueError(f"the columns have different lengths: {sorted(set(map(len, columns)))}")
    return found, columns


def _length(values: Any) -> int:
    """0 where it cannot be said."""
    try:
        return len(values)
    except TypeError:
        return 0


def _cells(column: Any) -> Any:
    """Of a DataFrame. What pandas calls missing in a column that is not of floats is an empty cell."""
    is_of_numpy = type(getattr(column, "dtype", None)).__module__.startswith("numpy")  # not pandas' own, nor polars'
    numbers = column.to_numpy() if is_of_numpy else None
    if numbers is not None and _is_numbers(numbers):
        return numbers
    if hasattr(column, "isna") and getattr(column.dtype, "kind", "O") != "f":
        return [None if missing else value for value, missing in zip(column, column.isna(), strict=True)]
    return list(column)


def _from_rows(data: Any, names: list[str] | None) -> tuple[list[str], list[list[Any]]]:
    if data is not None and (isinstance(data, (str, bytes)) or not isinstance(data, Iterable)):
        raise TypeError(f"a table takes rows, columns, a DataFrame or Arrow, got {type(data).__name__}")
    check_size(_length(data), max(1, len(names or ())))  # before it is copied
    rows = [] if data is None else list(itertools.islice(data, TABLE_ROWS_MAX + 1))
    if rows and isinstance(rows[0], Mapping):
        names = names if names is not None else _names(list(dict.fromkeys(key for row in rows for key in row)))
        rows = [[row.get(name) for name in names] for row in rows]
    if names is None:
        raise ValueError("a table of rows needs columns=, the names of its columns")
    check_size(len(rows), max(1, len(names)))
    for i, row in enumerate(rows):
        if isinstance(row, (str, bytes)) or not isinstance(row, Iterable):
            raise TypeError(f"row {i} is no list of cells but {type(row).__name__}")
        rows[i] = list(row)
        if len(rows[i]) != len(names):
            raise ValueError(f"row {i} has {len(rows[i])} cells, the table {len(names)} columns")
    return names, [[row[i] for row in rows] for i in range(len(names))]


def _names(names: Iterable[Any]) -> list[str]:
    found = list(names)
    for name in found:
        if not isinstance(name, str) or not name:
            raise TypeError(f"the name of a column must be a str that is not empty, got {name!r}")
        short_text("the name of a column", name, COLUMN_NAME_CHARS_MAX)
    if len(set(found)) < len(found):
        raise ValueError("two columns have one name")
    return found


def _plain(value: Any) -> Any:
    """A cell of NumPy or pandas as Python has it."""
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    if type(value).__name__ == "NaTType" or type(value).__name__ == "NAType":
        return None
    if type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        kind = value.dtype.kind
        return _time(value) if kind == "M" else value if kind == "m" else value.item()
    return value


def _time(value: Any) -> Any:
    """A datetime64 as datetime or date, whose item() is an int where it counts nanoseconds."""
    if value != value:  # NaT
        return None
    found = value.item()
    if isinstance(found, int):
        found = value.astype("datetime64[us]").item()
    if isinstance(found, int):
        raise ValueError(f"a time is from year 1 to 9999, got {value}")
    return found


def _typed(name: str, values: list[Any]) -> tuple[str, list[Any]]:
    cells = [_plain(value) for value in values]
    kinds = {_kind(name, value) for value in cells if value is not None}
    if kinds == {"int", "float"}:
        kinds = {"float"}
    if len(kinds) > 1:
        mixed = ", ".join(sorted(kinds))
        raise TypeError(f"the column {name!r} mixes {mixed}: one type a column, or str() of each cell")
    kind = kinds.pop() if kinds else "text"
    if kind == "float":
        return kind, [value if value is None else _float(float(value)) for value in cells]
    if kind == "time":
        return kind, [value if value is None else value.isoformat() for value in cells]
    if kind == "text":
        return kind, [value if value is None else short_text(f"a cell of {name!r}", value, CELL_CHARS_MAX)
                      for value in cells]  # fmt: skip
    return kind, cells


def _kind(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"the column {name!r} holds an int beyond int64")
        return "int"
    if isinstance(value, float):
        return "float"
    if isinstance(value, str):
        return "text"
    if isinstance(value, (datetime.datetime, datetime.date)):
        return "time"
    found = type(value).__name__
    raise TypeError(f"the column {name!r} holds {found}; bool, int, float, str, datetime and None are taken")


def _float(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
