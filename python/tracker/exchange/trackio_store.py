# SPDX-License-Identifier: MIT
"""Trackio: <project>.db, SQLite, a row of JSON a call. Metrics, texts and config are carried over."""

from __future__ import annotations

import contextlib
import datetime
import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.exchange.rows import Rows, microseconds
from tracker.exchange.sqlite_source import open_source, text_or

if TYPE_CHECKING:
    from tracker import _core
    from tracker.exchange import Progress

TABLES = {"metrics": {"timestamp", "run_name", "step", "metrics"}}
TRACKIO_JSON_BYTES_MAX = 16 * 1024 * 1024


def import_trackio(store: _core.ImportStore, source: str, project: str, progress: Progress) -> None:
    paths = [source]
    if Path(source).is_dir():
        paths = [str(path) for path in sorted(Path(source).glob("*.db"))]
    if not paths:
        raise ValueError(f"{source} holds no database of Trackio")
    for path in paths:
        with contextlib.closing(open_source(path, TABLES)) as db:
            try:
                names = [name for (name,) in db.execute("SELECT DISTINCT run_name FROM metrics ORDER BY run_name")]
                for done, name in enumerate(names):
                    if isinstance(name, str):
                        _carry(store, db, path, project, name)
                    progress(done + 1, len(names))
            except sqlite3.DatabaseError as error:
                store.problem(f"{path}: {error} (runs before it were taken)")


def _time_us(text: object) -> int:
    try:
        when = datetime.datetime.fromisoformat(text_or(text))
    except ValueError:
        return 0
    if when.tzinfo is None:
        when = when.replace(tzinfo=datetime.UTC)
    return microseconds(when.timestamp())


def _document(store: _core.ImportStore, text: object) -> dict[str, Any]:
    try:
        out = json.loads(text) if isinstance(text, (str, bytes)) and len(text) <= TRACKIO_JSON_BYTES_MAX else None
    except (ValueError, RecursionError):
        out = None
    if isinstance(out, dict):
        return out
    store.leave_out("rows that are no JSON objects", 1)
    return {}


def _carry(store: _core.ImportStore, db: sqlite3.Connection, path: str, project: str, name: str) -> None:
    own = Path(path).name.removesuffix(".db")
    first = db.execute("SELECT timestamp FROM metrics WHERE run_name=? ORDER BY rowid LIMIT 1", (name,)).fetchone()
    run = store.begin("trackio", f"{own}/{name}", path, project or own, name, "", _time_us(first[0]))
    has_configs = db.execute("SELECT count(*) FROM sqlite_schema WHERE type='table' AND name='configs'").fetchone()[0]
    if has_configs:
        for (config,) in db.execute("SELECT config FROM configs WHERE run_name=?", (name,)):
            for key, value in _document(store, config).items():
                if not key.startswith("_"):
                    run.set("config", key, value)
    rows = Rows(run)
    for time, step, document in db.execute(
        "SELECT timestamp, step, metrics FROM metrics WHERE run_name=? ORDER BY rowid", (name,)
    ):
        values: list[tuple[str, float | int]] = []
        at, time_us = step if isinstance(step, int) else None, _time_us(time)
        for key, value in _document(store, document).items():
            if isinstance(value, (int, float)):
                values.append((key, value))
            elif value in ("NaN", "Infinity", "-Infinity"):
                values.append((key, float(value)))
            elif isinstance(value, str):
                rows.flush()
                run.text(key, value, at, time_us)
            elif value is not None:
                store.leave_out("values that are neither numbers nor texts", 1)
        rows.add(values, at, time_us)
    rows.flush()
    run.end()
