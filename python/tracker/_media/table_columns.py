# SPDX-License-Identifier: MIT
"""Columns of a table out of what people have: rows, dicts, arrays, frames of pandas and polars, Arrow. Nothing is left
out in silence: an index of a frame is a column, short rows are filled, what has no name gets one."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tracker._media.medium import clean_text

# Limit: rows of a table. Beyond it: counted as rejected.
TABLE_ROWS_MAX = 200_000
# Limit: columns of a table. Beyond it: counted as rejected.
TABLE_COLUMNS_MAX = 1000
# Limit: cells of a table. Beyond it: counted as rejected.
TABLE_CELLS_MAX = 4_000_000
# Limit: characters of the name of a column. Beyond it: cut, and reported.
COLUMN_NAME_CHARS_MAX = 256

Remark = Callable[[str], None]


def check_size(rows: int, columns: int) -> None:
    for what, count, limit in (
        ("rows", rows, TABLE_ROWS_MAX),
        ("columns", columns, TABLE_COLUMNS_MAX),
        ("cells", rows * columns, TABLE_CELLS_MAX),
    ):
        if count > limit:
            raise ValueError(f"a table has {count:,} {what}; at most {limit:,}")


def check_arguments(data: Any, columns: Any) -> None:
    """TypeError: no container of rows or names, whatever they hold."""
    if isinstance(columns, (str, bytes)) or not (columns is None or isinstance(columns, Iterable)):
        raise TypeError(f"columns must be a list of names, got {type(columns).__name__}")
    known = hasattr(data, "__arrow_c_stream__") or isinstance(data, Iterable)
    if data is not None and (isinstance(data, (str, bytes)) or not known):
        raise TypeError(f"a table takes rows, columns, a DataFrame or Arrow, got {type(data).__name__}")


def columns_of(data: Any, names: Iterable[Any] | None, remark: Remark) -> tuple[list[str], list[Any]]:
    """Names and columns of one length: lists, or arrays of numbers."""
    wanted = None if names is None else list(names)
    if hasattr(data, "to_frame") and hasattr(data, "name"):  # a column of pandas or polars
        data = data.to_frame()
    if hasattr(data, "detach"):
        data = data.detach().cpu().numpy()
    if hasattr(data, "to_dict") and hasattr(data, "columns"):
        found, columns = _of_frame(data)
    elif hasattr(data, "__arrow_c_stream__"):
        found, columns = _of_arrow(data)
    elif getattr(getattr(data, "dtype", None), "names", None):  # an array of NumPy with fields
        found, columns = list(data.dtype.names), [data[name].ravel().tolist() for name in data.dtype.names]
    elif isinstance(data, Mapping):
        found, columns = _of_dict(data, remark)
    else:
        return _of_rows(data, wanted, remark)
    if wanted is not None:
        found, columns = _chosen(found, columns, wanted, remark)
    return _unique(found, remark), columns


def is_numbers(column: Any) -> bool:
    """An array of NumPy that is float64 or int64 without a change of values."""
    dtype: Any = getattr(column, "dtype", None)
    if type(column).__module__ != "numpy" or type(column).__name__ != "ndarray" or column.ndim != 1:
        return False
    return bool(column.size) and dtype.itemsize + (dtype.kind == "u") <= 8 and dtype.kind in "fiu"


def _of_frame(data: Any) -> tuple[list[Any], list[Any]]:
    check_size(len(data), max(1, len(data.columns)))
    if not hasattr(data, "iloc"):  # polars
        return list(data.columns), [column.to_list() for column in data.get_columns()]
    names, columns = [], []
    index = data.index
    if not (type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1 and index.name is None):
        for level in range(index.nlevels):
            name = index.names[level]
            names.append(name if name is not None else "index" if index.nlevels == 1 else f"level_{level}")
            columns.append(index.get_level_values(level).tolist())
    # By place: two columns may have one name
    columns += [_cells(data.iloc[:, place]) for place in range(len(data.columns))]
    return names + list(data.columns), columns


def _cells(column: Any) -> Any:
    """Of pandas. What it calls missing in a column that is not of floats is an empty cell."""
    is_of_numpy = type(getattr(column, "dtype", None)).__module__.startswith("numpy")  # not pandas' own
    numbers = column.to_numpy() if is_of_numpy else None
    if numbers is not None and is_numbers(numbers):
        return numbers
    listed = column.tolist()
    if getattr(column.dtype, "kind", "O") == "f":
        return listed
    return [None if missing else value for value, missing in zip(listed, column.isna(), strict=True)]


def _of_arrow(data: Any) -> tuple[list[Any], list[Any]]:
    try:
        table = importlib.import_module("pyarrow").table(data)
    except ImportError as error:
        raise ImportError("pyarrow is needed for a table from Arrow: pip install pyarrow") from error
    except (TypeError, ValueError) as error:  # of pyarrow: what it is given is a column, or no stream
        what = type(data).__name__
        raise TypeError(f'a {what} is no table ({error}); a column has a name: {{"name": values}}') from None
    check_size(table.num_rows, max(1, len(table.column_names)))
    return list(table.column_names), [column.to_pylist() for column in table.columns]


def _is_column(values: Any) -> bool:
    return (
        isinstance(values, Iterable)
        and not isinstance(values, (str, bytes, Mapping))
        and getattr(values, "ndim", 1) > 0
        and not hasattr(values, "savefig")
        and type(values).__module__.partition(".")[0] != "PIL"
    )


def _of_dict(data: Mapping[Any, Any], remark: Remark) -> tuple[list[Any], list[Any]]:
    """Of columns; a value that is no column is in each row."""
    for column in data.values():  # before they are copied
        check_size(_length(column) if _is_column(column) else 0, max(1, len(data)))
    given = {name: values for name, values in data.items() if _is_column(values)}
    listed = {name: values if is_numbers(values) else _listed(values) for name, values in given.items()}
    rows = max(map(len, listed.values()), default=1 if data else 0)
    check_size(rows, max(1, len(data)))
    columns: list[Any] = []
    for name, values in data.items():
        column = listed[name] if name in listed else [values] * rows
        if len(column) < rows:
            remark(f"the column {str(name)!r} has {len(column):,} cells of {rows:,}: the others are empty")
            column = [*column, *[None] * (rows - len(column))]
        columns.append(column)
    return list(data), columns


def _listed(values: Any) -> list[Any]:
    """Not without end."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    if hasattr(values, "to_list"):
        listed: list[Any] = values.to_list()
        return listed
    return list(itertools.islice(values, TABLE_ROWS_MAX + 1))


def _length(values: Any) -> int:
    """0 where it cannot be said."""
    try:
        return len(values)
    except TypeError:
        return 0


def _as_dict(row: Any) -> Mapping[Any, Any] | None:
    """A row that names its cells."""
    if isinstance(row, Mapping):
        return row
    if hasattr(row, "_asdict"):
        named: Mapping[Any, Any] = row._asdict()
        return named
    fields = getattr(type(row), "__dataclass_fields__", None)
    return {name: getattr(row, name, None) for name in fields} if fields is not None else None


def _of_rows(data: Any, wanted: list[Any] | None, remark: Remark) -> tuple[list[str], list[Any]]:
    check_size(_length(data), max(1, len(wanted or ())))  # before it is copied
    rows = [] if data is None else list(itertools.islice(data, TABLE_ROWS_MAX + 1))
    check_size(len(rows), max(1, len(wanted or ())))
    by_name = [_as_dict(row) for row in rows]
    names = list(wanted) if wanted is not None else list(dict.fromkeys(key for row in by_name if row for key in row))
    if by_name and all(row is not None for row in by_name):
        others = dict.fromkeys(key for row in by_name if row for key in row if key not in set(names))
        if others:
            remark(f"columns= leaves out {', '.join(map(repr, list(others)[:5]))}")
        check_size(len(rows), max(1, len(names)))
        return _unique(names, remark), [[row.get(name) for row in by_name if row is not None] for name in names]
    for i, (row, named) in enumerate(zip(rows, by_name, strict=True)):
        rows[i] = [named.get(name) for name in names] if named is not None else list(row) if _is_column(row) else [row]
    width = max(map(len, rows), default=0)
    if rows and (any(len(row) < width for row in rows) or (wanted is not None and width < len(names))):
        remark("rows have fewer cells than there are columns: the others are empty")
    if width > len(names):
        if wanted is not None:
            remark(f"rows have {width:,} cells for {len(names):,} columns: the others are called by their number")
        called = "column " if names else ""
        names += [f"{called}{place + 1}" for place in range(len(names), width)]
    check_size(len(rows), max(1, len(names)))
    rows = [row if len(row) == len(names) else row + [None] * (len(names) - len(row)) for row in rows]
    return _unique(names, remark), [[row[i] for row in rows] for i in range(len(names))]


def _chosen(found: list[Any], columns: list[Any], wanted: list[Any], remark: Remark) -> tuple[list[Any], list[Any]]:
    rows = len(columns[0]) if columns else 0
    if out := [name for name in found if name not in wanted]:
        remark(f"columns= leaves out {', '.join(map(repr, out[:5]))}")
    if missing := [name for name in wanted if name not in found]:
        remark(f"the data have no column {', '.join(map(repr, missing[:5]))}: it is empty")
    return wanted, [columns[found.index(name)] if name in found else [None] * rows for name in wanted]


def _unique(names: Iterable[Any], remark: Remark) -> list[str]:
    """As texts: of several levels joined by "/", no two alike."""
    out: dict[str, None] = {}
    for place, name in enumerate(names):
        text = "/".join(map(str, name)) if isinstance(name, tuple) else str(name)
        if len(text) > COLUMN_NAME_CHARS_MAX:
            remark(f"the name of a column is cut at {COLUMN_NAME_CHARS_MAX} characters")
        text = first = clean_text(text, COLUMN_NAME_CHARS_MAX) or f"column {place + 1}"
        number = 1
        while text in out:
            number += 1
            text = f"{first[: COLUMN_NAME_CHARS_MAX - 8]} ({number})"
        if number > 1:
            remark(f"two columns are called {first!r}: one is {text!r}")
        out[text] = None
    return list(out)
