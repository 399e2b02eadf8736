# SPDX-License-Identifier: MIT
"""SQLite files of other tools: opened read-only, and trusted in nothing."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote


def open_source(path: str, tables: dict[str, set[str]]) -> sqlite3.Connection:
    """A connection that cannot write. ValueError: no such database, or it lacks a table or a column that is needed."""
    # Without a WAL nothing is written beside the file, not even the memory that readers share.
    immutable = "" if Path(path + "-wal").exists() else "&immutable=1"
    uri = f"file:{quote(str(Path(path).absolute()))}?mode=ro{immutable}"
    try:
        db = sqlite3.connect(uri, uri=True, isolation_level=None)
        db.execute("PRAGMA query_only=ON")
        db.execute("PRAGMA trusted_schema=OFF")
        # A view in the place of a table may have rows without end.
        found = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type='table'")}
        for table, columns in tables.items():
            have = {row[1] for row in db.execute(f'PRAGMA table_info("{table}")')} if table in found else set()
            if not columns <= have:
                missing = ", ".join(sorted(columns - have)) if have else "it is not there"
                db.close()
                raise ValueError(f"{path}: table {table}: {missing}")
    except sqlite3.DatabaseError as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    return db


def text_or(value: object, default: str = "") -> str:
    return value if isinstance(value, str) else default


def int_or(value: object, default: int = 0) -> int:
    return value if isinstance(value, int) and abs(value) < 1 << 63 else default
