# SPDX-License-Identifier: MIT
"""Tables of other tools, which are JSON: one type a column is made of what is there."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from tracker._media.medium import sound
from tracker._media.table import Table
from tracker._media.table_columns import COLUMN_NAME_CHARS_MAX, check_size

# What the tools write for what JSON has no word for.
SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def table_of_rows(columns: list[Any], rows: list[Any], leave_out: Callable[[str], None], caption: str | None) -> Table:
    """Of rows that are lists of cells. leave_out hears the type of each medium in a cell, of which only what the source
    says of it is kept. ValueError, TypeError: no table that log() takes."""
    check_size(len(rows), len(columns))
    if not columns:
        raise ValueError("a table has no columns")
    for row in rows:
        if not isinstance(row, list) or len(row) > len(columns):
            raise TypeError("a row is no list of as many cells as there are columns")
    cells = {}
    for place, name in enumerate(columns):
        cells[str(name)[:COLUMN_NAME_CHARS_MAX]] = _column(
            [row[place] if place < len(row) else None for row in rows], leave_out
        )
    if len(cells) < len(columns):
        raise ValueError("two columns have one name")
    return sound(Table(cells, caption=caption))


def table_of_objects(rows: list[Any], leave_out: Callable[[str], None], caption: str | None) -> Table:
    """Of rows that are objects of columns and cells; the columns are in the order of their first use."""
    columns: dict[str, int] = {}
    for row in rows:
        if not isinstance(row, dict):
            raise TypeError("a row is no object")
        for name in row:
            columns.setdefault(name, len(columns))
        check_size(len(rows), max(1, len(columns)))  # before the columns of many rows become a table without end
    return table_of_rows(list(columns), [[row.get(name) for name in columns] for row in rows], leave_out, caption)


def _column(cells: list[Any], leave_out: Callable[[str], None]) -> list[Any]:
    """Numbers stay numbers; what does not fit together becomes texts."""
    kinds = {_kind(cell) for cell in cells if cell is not None}
    if kinds <= {"int", "float"} or kinds == {"bool"}:
        return cells
    if kinds <= {"int", "float", "special"}:
        return [SPECIAL[cell] if isinstance(cell, str) else cell for cell in cells]
    return [_text(cell, leave_out) for cell in cells]


def _kind(cell: Any) -> str:
    if isinstance(cell, bool):
        return "bool"
    if isinstance(cell, int):
        return "int" if -(1 << 63) <= cell < 1 << 63 else "text"
    if isinstance(cell, float):
        return "float"
    return "special" if isinstance(cell, str) and cell in SPECIAL else "text"


def _text(cell: Any, leave_out: Callable[[str], None]) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    for part in cell if isinstance(cell, list) else (cell,):
        if isinstance(part, dict) and isinstance(part.get("_type"), str):
            leave_out(part["_type"])
    return json.dumps(cell, ensure_ascii=False)
