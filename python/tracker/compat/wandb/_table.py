# SPDX-License-Identifier: MIT
"""wandb.Table: rows that grow until they are logged; then it is a tracker.Table of what it holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import tracker
from tracker._plain_values import plain
from tracker.compat._accepted import accept
from tracker.compat.wandb._names import TABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COLUMNS = ("Input", "Output", "Expected")


class Table:
    """Columns and rows. A column of several types, and a cell that is neither a number nor a text, is logged as
    texts."""

    _log_type = "table-file"  # how the modules beside this one know it
    columns: list[Any]
    data: list[list[Any]]

    def __init__(
        self,
        columns: list[Any] | None = None,
        data: Any = None,
        rows: Any = None,
        dataframe: Any = None,
        dtype: Any = None,
        optional: Any = True,
        allow_mixed_types: bool = False,
        log_mode: str | None = "IMMUTABLE",
    ) -> None:
        self.log_mode = log_mode
        frame = dataframe if dataframe is not None else data if hasattr(data, "columns") else None
        if isinstance(data, Table):
            columns, data = columns if columns is not None else list(data.columns), data.data
        if frame is not None:
            self.columns = [str(name) for name in frame.columns] if columns is None else list(columns)
            cells = [list(frame[name]) for name in frame.columns]
            self.data = [list(row) for row in zip(*cells, strict=True)]
            return
        given = [list(row) for row in (data if data is not None else rows if rows is not None else [])]
        if columns is None:
            columns = list(COLUMNS) if not given else list(range(len(given[0]))) if rows is None else list(COLUMNS)
        self.columns = list(columns)
        self.data = []
        for row in given:
            self.add_data(*row)

    def add_data(self, *data: Any) -> None:
        """One row. ValueError where it has not a cell for each column."""
        if len(data) != len(self.columns):
            raise ValueError(f"This table expects {len(self.columns)} columns: {self.columns}, found {len(data)}")
        self.data.append(list(data))

    def add_row(self, *row: Any) -> None:
        self.add_data(*row)

    def add_column(self, name: str, data: Iterable[Any], optional: bool = False) -> None:
        """ValueError for a name that is there, and for another count of cells than the table has rows."""
        cells = list(data)
        if name in self.columns:
            raise ValueError(f"the table has a column {name!r} already")
        if self.columns and len(cells) != len(self.data):
            raise ValueError(f"the column {name!r} has {len(cells)} cells, the table {len(self.data)} rows")
        if not self.columns:
            self.data = [[] for _ in cells]
        self.columns.append(name)
        for row, cell in zip(self.data, cells, strict=True):
            row.append(cell)

    def get_column(self, name: str, convert_to: str | None = None) -> Any:
        """The cells as a list; convert_to="numpy": as an array."""
        place = self.columns.index(name)
        cells = [row[place] for row in self.data]
        if convert_to is None:
            return cells
        if convert_to != "numpy":
            raise ValueError(f"convert_to must be None or 'numpy', got {convert_to!r}")
        from tracker._numpy import numpy

        return numpy().array(cells)

    def get_dataframe(self) -> Any:
        from tracker._numpy import pandas

        return pandas().DataFrame(self.data, columns=self.columns)

    def get_index(self) -> list[int]:
        return list(range(len(self.data)))

    def iterrows(self) -> Iterator[tuple[int, list[Any]]]:
        yield from enumerate(self.data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.columns == other.columns and self.data == other.data

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.data)

    def __bool__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        if name in TABLE:
            return accept("wandb", f"Table.{name}")
        raise AttributeError(f"a wandb.Table has no {name!r}")

    def __repr__(self) -> str:
        return f"<wandb.Table {self.columns}: {len(self.data)} rows>"

    # --- what becomes of it -----------------------------------------------------------------------------------------

    def _medium(self) -> tracker.Table:
        """A copy to log."""
        return tracker.Table(self.data, columns=self.columns)

    def _json(self) -> str:
        """As the original stores it in an artifact."""
        rows = [[plain(cell) for cell in row] for row in self.data]
        said = {"_type": "table", "columns": self.columns, "data": rows, "ncols": len(self.columns), "nrows": len(rows)}
        return json.dumps(plain(said))


def from_json(text: str) -> Table:
    found = json.loads(text)
    return Table(columns=found["columns"], data=found["data"])
