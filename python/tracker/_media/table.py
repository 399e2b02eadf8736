# SPDX-License-Identifier: MIT
"""Table: typed columns as one JSON document (docs/media.md says its form), from rows, pandas or anything of Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tracker._media.documents import DOCUMENT_BYTES_MAX, Document
from tracker._media.medium import Media, caption_of
from tracker._media.table_cells import Cells
from tracker._media.table_columns import check_arguments, check_size, columns_of

if TYPE_CHECKING:
    from tracker._media.encode_queue import Encoder, Files

CELL_BYTES_MIN = 2  # of a digit and a comma


class Table(Document):
    """A table to log: run.log({"errors": tracker.Table(columns=["name", "score"], data=rows)}, step=i).

    data: rows (lists, tuples, or dicts of names to cells), a dict of names to columns, a DataFrame or a column of
    pandas or polars, an array of one or two axes, or what has __arrow_c_stream__, such as a table of pyarrow. columns:
    their names, where rows do not say them, else which of them are taken. An index of pandas that is more than the
    number of a row is a column.
    A column has one type: bool, int, float (ints among floats become floats), text, time (datetime, date, and
    datetime64 to the microsecond), or mixed: of any of them, ints beyond int64, Decimal, lists, arrays and dicts of
    such. None and NaT are empty cells, NaN and infinities stay. A cell may be a tracker.Image, Audio or Video, a
    picture of Pillow or a figure of matplotlib: it is stored with the table, and the reader has it as an entry to
    load(). Other objects are stored as texts; short rows are filled; two columns of one name get a number: each is said
    once and counted. The cells are copied. TypeError: data or columns are no container. More rows, columns, cells or
    bytes than the limits allow make a table with a `problem`, which log() counts as refused, before more is
    encoded. Cost: the cells become JSON here: 0.1 s for a million numbers that are arrays or lists of one type, else a
    second.
    """

    __slots__ = ()
    kind = "table"

    def __init__(self, data: Any = None, columns: Sequence[str] | None = None, *, caption: str | None = None) -> None:
        check_arguments(data, columns)
        with self._refusing():
            names, values = columns_of(data, columns, self._remark)
            cells = Cells(self._remark)
            rows = len(values[0]) if values else 0
            text = _document(cells, rows, names, values)
            said = {"rows": rows, "columns": len(names), **caption_of(caption, self)}
            if cells.pictures:
                parts = [part for picture in cells.pictures for part in picture._payload]
                self._set_large(PicturesEncoder(cells.pictures, said), text.encode(), *parts)
            else:
                self._set_text("table", text, "json", said)


class PicturesEncoder:
    """Of a table with pictures in its cells: the document and after it the parts of each."""

    document = "json"

    def __init__(self, pictures: list[Media], said: dict[str, Any]) -> None:
        self._said = said
        self._encoders: list[tuple[Encoder, int]] = [
            (picture._encoder, len(picture._payload)) for picture in pictures if picture._encoder is not None
        ]

    def __call__(self, parts: Sequence[memoryview], files: Files) -> dict[str, Any]:
        pictures, at = [], 1
        for encoder, count in self._encoders:
            pictures.append(encoder(parts[at : at + count], files))
            at += count
        return {"kind": "table", **files.add_document(parts[0], "json"), "pictures": pictures, **self._said}


def _document(cells: Cells, rows: int, names: list[str], values: list[Any]) -> str:
    check_size(rows, len(names))
    columns, size = [], rows * len(names) * CELL_BYTES_MIN
    for name, column in zip(names, values, strict=True):
        _check_document(size, rows, len(names))  # before the work for a column that finds no room
        columns.append(cells.column(name, column))
        size += len(columns[-1]) - rows * CELL_BYTES_MIN
    _check_document(size, rows, len(names))
    return f'{{"rows":{rows},"columns":[{",".join(columns)}]}}'


def _check_document(size: int, rows: int, columns: int) -> None:
    """`size`: characters of the columns that are encoded, and the least that the others take."""
    if size > DOCUMENT_BYTES_MAX:
        raise ValueError(f"a table of {rows:,} × {columns:,} cells has a document of more than {DOCUMENT_BYTES_MAX:,} "
                         "bytes: log a part of it, or round its numbers")  # fmt: skip
