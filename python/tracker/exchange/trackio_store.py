# SPDX-License-Identifier: MIT
"""Trackio: <project>.db, SQLite, a row of JSON a call. Metrics, texts, media, alerts, config and group are
carried over."""

from __future__ import annotations

import contextlib
import datetime
import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.exchange.left_artifacts import LeftArtifacts
from tracker.exchange.media import carry_media
from tracker.exchange.rows import Rows, microseconds, sort_value
from tracker.exchange.run_file import NOT_READ
from tracker.exchange.sqlite_source import NotWholeError, has_column, open_source, text_or
from tracker.exchange.trackio_media import media_of

if TYPE_CHECKING:
    from tracker import _core
    from tracker.exchange.run_file import Progress

TABLES = {"metrics": {"timestamp", "run_name", "step", "metrics"}}
# Limit: bytes of a row of JSON of Trackio. Beyond it: left out and counted.
TRACKIO_JSON_BYTES_MAX = 16 * 1024 * 1024
# By table; rows of all runs
LEFT_OUT = {
    "system_metrics": "system samples",
    "traces": "traces",
}


def import_trackio(store: _core.ImportStore, source: str, project: str, progress: Progress) -> None:
    paths = [source]
    if Path(source).is_dir():
        paths = [str(path) for path in sorted(Path(source).glob("*.db"))]
    if not paths:
        raise ValueError(f"{source} holds no database of Trackio")
    left = LeftArtifacts(store)
    for path in paths:
        try:
            opened = open_source(path, TABLES)
        except NotWholeError as error:
            store.problem(str(error))
            continue
        with contextlib.closing(opened) as db:
            try:
                runs = _runs(db)
                for done, (id, name) in enumerate(runs):
                    _carry(store, db, path, project, id, name)
                    progress(done + 1, len(runs))
                _name_artifacts(db, left)
                for table, kind in LEFT_OUT.items():
                    if count := _count(db, table):
                        store.leave_out(kind, count)
                if others := _alerts_of_others(db):
                    store.leave_out("alerts of runs without rows", others)
            except sqlite3.DatabaseError as error:
                store.problem(f"{path}: {error} (runs before it were taken)")


def _name_artifacts(db: sqlite3.Connection, left: LeftArtifacts) -> None:
    """Versions; their files lie in the folder of Trackio by their digests."""
    if not _count(db, "artifact_versions"):
        return
    try:
        rows = db.execute(
            "SELECT a.name, a.type, v.version, group_concat(l.alias, ', ') FROM artifact_versions v"
            " LEFT JOIN artifacts a ON a.id = v.artifact_id"
            " LEFT JOIN artifact_aliases l ON l.artifact_version_id = v.id GROUP BY v.id ORDER BY v.id"
        )
        for name, type, version, aliases in rows:
            known = "" if name is None else f"{name}:v{version}"
            left.add("versions of artifacts", known, (str(word) for word in (type, aliases) if word is not None))
    except sqlite3.OperationalError:  # columns of another version
        for _ in range(_count(db, "artifact_versions")):
            left.add("versions of artifacts", "", ())


def _time_us(text: object) -> int:
    try:
        when = datetime.datetime.fromisoformat(text_or(text))
    except ValueError:
        return 0
    if when.tzinfo is None:
        when = when.replace(tzinfo=datetime.UTC)
    return microseconds(when.timestamp())


def _is_bounded(text: str | bytes) -> bool:
    if len(text) * 4 <= TRACKIO_JSON_BYTES_MAX:  # a character has at most four bytes
        return True
    return len(text.encode() if isinstance(text, str) else text) <= TRACKIO_JSON_BYTES_MAX


def _document(store: _core.ImportStore, text: object) -> dict[str, Any]:
    try:
        out = json.loads(text) if isinstance(text, (str, bytes)) and _is_bounded(text) else None
    except (ValueError, RecursionError):
        out = None
    if isinstance(out, dict):
        return out
    store.leave_out("rows that are no JSON objects", 1)
    return {}


def _count(db: sqlite3.Connection, table: str) -> int:
    return int(db.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]) if has_column(db, table, "id") else 0


def _runs(db: sqlite3.Connection) -> list[tuple[str, str]]:
    """(id, name). Several runs may have one name, since Trackio gives each an id; before that the name is all."""
    id = "run_id" if has_column(db, "metrics", "run_id") else "run_name"
    rows = db.execute(f"SELECT {id}, min(run_name) FROM metrics GROUP BY {id} ORDER BY min(rowid)")
    return [(one, name) for one, name in rows if isinstance(one, str) and isinstance(name, str)]


def _carry(store: _core.ImportStore, db: sqlite3.Connection, path: str, project: str, id: str, name: str) -> None:
    own = Path(path).name.removesuffix(".db")
    ids = has_column(db, "metrics", "run_id")
    where, which = ("run_id=?", (id,)) if ids else ("run_name=?", (name,))
    first = db.execute(f"SELECT timestamp FROM metrics WHERE {where} ORDER BY rowid LIMIT 1", which).fetchone()
    began_us = _time_us(first[0])
    run = store.begin("trackio", f"{own}/{id}", path, project or own, name, "", began_us)
    if not ids and not run.is_new and began_us and run.created_us != began_us:
        # A name alone: there is such a run in another database that is called so.
        run = store.begin("trackio", f"{own}/{id}/{began_us}", path, project or own, name, "", began_us)
    if has_column(db, "configs", "config"):
        of, whose = (where, which) if has_column(db, "configs", "run_id") else ("run_name=?", (name,))
        for (config,) in db.execute(f"SELECT config FROM configs WHERE {of}", whose):
            for key, value in _document(store, config).items():
                if key == "_Group" and isinstance(value, str):
                    run.set("attribute", "group", value)
                elif not key.startswith("_"):
                    run.set("config", key, value)
    rows = Rows(run)
    for at, time, step, document in db.execute(
        f"SELECT rowid, timestamp, step, metrics FROM metrics WHERE {where} ORDER BY rowid", which
    ):
        try:
            _carry_row(store, rows, path, _time_us(time), step if isinstance(step, int) else None, document)
        except NOT_READ as error:
            store.problem(f"{path}: row {at} of table metrics cannot be read: {str(error)[:200]}")
    rows.flush()
    _carry_alerts(store, run, db, path, id, name)
    run.end()


def _alerts_of_others(db: sqlite3.Connection) -> int:
    if not has_column(db, "alerts", "run_name"):
        return 0
    which = "run_id" if has_column(db, "metrics", "run_id") and has_column(db, "alerts", "run_id") else "run_name"
    found = db.execute(f"SELECT count(*) FROM alerts WHERE {which} NOT IN (SELECT {which} FROM metrics)")
    return int(found.fetchone()[0])


def _carry_alerts(
    store: _core.ImportStore, run: _core.RunImport, db: sqlite3.Connection, path: str, id: str, name: str
) -> None:
    """A text that is no UTF-8 costs the alerts after it, and not the run."""
    if not all(has_column(db, "alerts", column) for column in ("timestamp", "run_name", "title")):
        return
    by_id = has_column(db, "metrics", "run_id") and has_column(db, "alerts", "run_id")
    optional = [one if has_column(db, "alerts", one) else "NULL" for one in ("text", "level", "step")]
    try:
        for title, time, text, level, step in db.execute(
            f"SELECT title, timestamp, {', '.join(optional)} FROM alerts"
            f" WHERE {'run_id' if by_id else 'run_name'}=? ORDER BY rowid",
            (id if by_id else name,),
        ):
            at = step if isinstance(step, int) else None  # what SQLite has is int64
            run.alert(text_or(title), text_or(text), text_or(level), at, _time_us(time))
    except sqlite3.DatabaseError as error:
        store.problem(f"{path}: table alerts: {error} (alerts before it were taken)")


def _carry_row(
    store: _core.ImportStore, rows: Rows, path: str, time_us: int, step: int | None, document: object
) -> None:
    values: list[tuple[str, float | int]] = []
    texts: list[tuple[str, str]] = []
    media: list[tuple[str, dict[str, Any]]] = []
    for key, value in _document(store, document).items():
        sort_value(key, value, values, texts, rows.run, media)
    rows.add(values, step, time_us)
    if texts or media:
        rows.flush()
    for key, text in texts:
        rows.run.text(key, text, step, time_us)
    for key, value in media:
        made = media_of(value, Path(path).parent / "media", rows.run.leave_out)
        carry_media(store, rows.run, path, key, made, step, time_us, False)
