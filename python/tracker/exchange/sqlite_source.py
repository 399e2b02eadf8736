# SPDX-License-Identifier: MIT
"""SQLite files of other tools: opened read-only, and trusted in nothing."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

WAL_VERSION = 2  # in bytes 18 and 19: who writes the file, and who reads it, knows the WAL


class NotWholeError(ValueError):
    """A database that is damaged, or whose writer was killed within a transaction: what it had not committed is in
    the file until its journal is rolled back, which takes writing. A problem of the import, not of its arguments."""


def open_source(path: str, tables: dict[str, set[str]]) -> sqlite3.Connection:
    """A connection that cannot write. ValueError: no such database, or it lacks a table or a column that is needed;
    NotWholeError: it is damaged, or holds half a transaction. Locks: a query keeps the tool's own commits waiting
    until it ends.
    """
    real = Path(path).resolve()
    if not real.is_file():  # a pipe would be waited for
        raise ValueError(f"{path} is no regular file")
    uri = f"file:{quote(str(real))}?mode=ro" + ("&immutable=1" if _is_at_rest(real) else "")
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
        if error.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK:
            raise NotWholeError(
                f"{path} holds a transaction that its writer did not end, and nothing was taken; open it once with the "
                f"tool that wrote it, which rolls {real.name}-journal back, and import again"
            ) from None
        damaged = (error.sqlite_errorcode & 0xFF) == sqlite3.SQLITE_CORRUPT  # of the extended code the kind
        raise (NotWholeError if damaged else ValueError)(f"{path} cannot be read: {error}") from None
    return db


def _is_at_rest(path: Path) -> bool:
    """A database with a WAL that was checkpointed and removed. Read as others are, it would need `-shm` beside it. One
    with a rollback journal is never read so: without locks a commit that is under way would be seen by halves.
    """
    with path.open("rb") as file:
        header = file.read(20)
    others = (Path(f"{path}-wal"), Path(f"{path}-journal"))
    return header[18:] == bytes([WAL_VERSION, WAL_VERSION]) and not any(other.exists() for other in others)


def has_column(db: sqlite3.Connection, table: str, column: str) -> bool:
    """Of a table; what a view has under that name does not count."""
    kind = db.execute("SELECT type FROM sqlite_schema WHERE name=?", (table,)).fetchone()
    return kind == ("table",) and column in {row[1] for row in db.execute(f'PRAGMA table_info("{table}")')}


def text_or(value: object, default: str = "") -> str:
    return value if isinstance(value, str) else default


def int_or(value: object, default: int = 0) -> int:
    return value if isinstance(value, int) and abs(value) < 1 << 63 else default
