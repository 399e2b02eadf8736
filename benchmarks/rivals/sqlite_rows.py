# SPDX-License-Identifier: MIT
"""Python's sqlite3: a row for each point, a transaction for each call."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rivals import Log, Series

NAME = "sqlite3, row a point"
MODULES = ["sqlite3"]
DURABLE = "process: all; power: what the last checkpoint of the WAL covered (synchronous=NORMAL)"
SETTINGS = "WAL, synchronous=NORMAL (SQLite's advice for WAL), WITHOUT ROWID keyed by (key, step)"


class Rows:
    def __init__(self, folder: str) -> None:
        import sqlite3

        self.db = sqlite3.connect(Path(folder, "rows.db"), isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=NORMAL")
        self.db.execute("CREATE TABLE keys (id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
        self.db.execute(
            "CREATE TABLE points (key INTEGER, step INTEGER, time REAL, value REAL, PRIMARY KEY (key, step)) "
            "WITHOUT ROWID"
        )
        self.ids: dict[str, int] = {}

    def id_of(self, key: str) -> int:
        if key not in self.ids:
            self.ids[key] = len(self.ids) + 1
            self.db.execute("INSERT INTO keys VALUES (?, ?)", (self.ids[key], key))
        return self.ids[key]

    def log(self, values: Mapping[str, float], step: int) -> None:
        now = time.time()
        rows: list[tuple[Any, ...]] = [(self.id_of(key), step, now, value) for key, value in values.items()]
        if len(rows) == 1:
            self.db.execute("INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?)", rows[0])
            return
        self.db.execute("BEGIN")
        self.db.executemany("INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?)", rows)
        self.db.execute("COMMIT")

    def flush(self) -> None:
        pass

    def finish(self) -> None:
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.db.close()


def open(folder: str) -> Log:
    return Rows(folder)


def read(folder: str, key: str) -> Series:
    import sqlite3

    db = sqlite3.connect(Path(folder, "rows.db"))
    query = "SELECT step, value FROM points JOIN keys ON keys.id = key WHERE name = ? ORDER BY step"
    rows = db.execute(query, (key,)).fetchall()
    db.close()
    return [step for step, _ in rows], [value for _, value in rows]


def dropped(folder: str) -> int:
    return 0
