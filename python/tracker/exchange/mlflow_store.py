# SPDX-License-Identifier: MIT
"""MLflow: the file store (./mlruns) and the SQLite one (mlflow.db). Metrics, params, tags and notes are carried over;
an experiment is a project."""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from tracker.exchange.plain_files import is_folder, is_plain
from tracker.exchange.rows import Rows
from tracker.exchange.sqlite_source import UnfinishedError, has_column, int_or, open_source, text_or

if TYPE_CHECKING:
    from tracker import _core
    from tracker.exchange import Progress

MLFLOW_TEXT_BYTES_MAX = 1024 * 1024
DEPTH_MAX = 16  # of metrics' folders
DELETED = "deleted"  # a lifecycle_stage: `mlflow gc` has not removed the run yet
ARTIFACTS = "files of artifacts"
LARGEST = 1.7976931348623157e308  # how the SQLite store keeps an infinity
STATES = {
    "3": "finished",
    "FINISHED": "finished",
    "4": "failed",
    "FAILED": "failed",
    "5": "interrupted",
    "KILLED": "interrupted",
}
TABLES = {
    "experiments": {"experiment_id", "name"},
    "runs": {"run_uuid", "name", "status", "start_time", "end_time", "experiment_id"},
    "metrics": {"key", "value", "timestamp", "run_uuid", "step", "is_nan"},
    "params": {"key", "value", "run_uuid"},
    "tags": {"key", "value", "run_uuid"},
}


def import_mlflow(store: _core.ImportStore, source: str, project: str, progress: Progress) -> None:
    """Of a folder `mlruns` in it, or itself, and `mlflow.db`. ValueError: neither is there."""
    if not Path(source).is_dir():
        _Database(store, source, project, progress).carry()
        return
    found = False
    for name in ("mlflow.db", "mlruns.db"):
        path = Path(source, name)
        if is_plain(path):
            found = True
            _Database(store, str(path), project, progress).carry()
    for root in (Path(source, "mlruns"), Path(source)):
        # An experiment that is deleted is moved, with its runs.
        deleted = sum(1 for _ in _run_folders(root / ".trash")) if is_folder(root / ".trash") else 0
        if deleted:
            found = True
            store.leave_out("deleted runs", deleted)
        runs = list(_run_folders(root))
        for done, (experiment, folder) in enumerate(runs):
            found = True
            _carry_folder(store, experiment, folder, project)
            progress(done + 1, len(runs))
        if runs:
            break
    if not found:
        raise ValueError(f"{source} holds no mlflow.db and no runs of MLflow")


def _set_tag(run: _core.RunImport, key: str, value: str) -> None:
    names = {"mlflow.runName": "name", "mlflow.note.content": "notes"}
    if key in names:
        run.set("attribute", names[key], value)
    elif key.startswith("mlflow."):
        run.set("config", "mlflow/" + key.removeprefix("mlflow.").replace(".", "/"), value)
    else:
        run.set("config", "tags/" + key, value)


# --- the file store -----------------------------------------------------------------------------------------------


def _run_folders(root: Path) -> Iterator[tuple[Path, Path]]:
    """(experiment's folder, run's folder), sorted; none where there is no such folder."""
    if not root.is_dir():
        return
    for folder in sorted(root.iterdir()):
        if not is_folder(folder) or not is_plain(folder / "meta.yaml"):
            continue
        for run in sorted(folder.iterdir()):
            if is_folder(run) and is_plain(run / "meta.yaml"):
                yield folder, run


def _read_text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(MLFLOW_TEXT_BYTES_MAX).decode("utf-8", "replace")


def _read_meta(path: Path) -> dict[str, str]:
    """The plain `key: value` lines of a meta.yaml."""
    out: dict[str, str] = {}
    for line in _read_text(path).splitlines():
        key, colon, value = line.partition(":")
        value = value.strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        if colon and not line.startswith((" ", "-", "#")) and value != "null":
            out[key] = value
    return out


def _files_below(folder: Path, depth: int = 0) -> Iterator[tuple[str, Path]]:
    """(name with slashes, path) of the plain files, sorted."""
    if not is_folder(folder):
        return
    with contextlib.suppress(FileNotFoundError):
        for entry in sorted(os.scandir(folder), key=lambda one: one.name):
            if entry.is_file(follow_symlinks=False):
                yield entry.name, Path(entry.path)
            elif entry.is_dir(follow_symlinks=False) and depth < DEPTH_MAX:
                for name, path in _files_below(Path(entry.path), depth + 1):
                    yield f"{entry.name}/{name}", path


def _millis(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else 0


def _carry_folder(store: _core.ImportStore, experiment: Path, folder: Path, project: str) -> None:
    meta = _read_meta(folder / "meta.yaml")
    if meta.get("lifecycle_stage") == DELETED:
        store.leave_out("deleted runs", 1)
        return
    id = meta.get("run_uuid") or meta.get("run_id") or folder.name
    project = project or _read_meta(experiment / "meta.yaml").get("name", "")
    started_us = _millis(meta.get("start_time", "")) * 1000
    run = store.begin("mlflow", id, str(folder), project, meta.get("run_name") or id, "", started_us)
    for name, path in _files_below(folder / "params"):
        run.set("config", name, _read_text(path))
    for name, path in _files_below(folder / "tags"):
        _set_tag(run, name, _read_text(path))
    for name, path in _files_below(folder / "metrics"):
        _carry_metric(run, name, path, store)
    if artifacts := sum(1 for _ in _files_below(folder / "artifacts")):
        store.leave_out(ARTIFACTS, artifacts)
    run.end(STATES.get(meta.get("status", ""), "crashed"), 0, _millis(meta.get("end_time", "")) * 1000)


def _carry_metric(run: _core.RunImport, name: str, path: Path, store: _core.ImportStore) -> None:
    rows = Rows(run)
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(iter(lambda: file.readline(MLFLOW_TEXT_BYTES_MAX), ""), 1):
            parts = line.split()
            try:
                time_ms, value = int(parts[0]), float(parts[1])
                step = int(parts[2]) if len(parts) > 2 else 0
            except (ValueError, IndexError):
                store.problem(f"{path}: line {number} is no value; it was left out")
                continue
            rows.add([(name, value)], step, time_ms * 1000 if abs(time_ms) < 1 << 50 else 0)
    rows.flush()


# --- the SQLite store ---------------------------------------------------------------------------------------------


class _Database:
    def __init__(self, store: _core.ImportStore, path: str, project: str, progress: Progress) -> None:
        self.store, self.path, self.project, self.progress = store, path, project, progress

    def carry(self) -> None:
        try:
            opened = open_source(self.path, TABLES)
        except UnfinishedError as error:
            self.store.problem(str(error))
            return
        with contextlib.closing(opened) as db:
            try:
                stage = "r.lifecycle_stage" if has_column(db, "runs", "lifecycle_stage") else "'active'"
                folder = "r.artifact_uri" if has_column(db, "runs", "artifact_uri") else "NULL"
                # All at once: a query that goes on keeps MLflow's commits waiting, where it is still writing.
                runs = db.execute(
                    f"SELECT {stage}, {folder}, r.run_uuid, r.name, r.status, r.start_time, r.end_time, e.name"
                    " FROM runs r LEFT JOIN experiments e ON e.experiment_id = r.experiment_id"
                    " ORDER BY r.start_time, r.run_uuid"
                ).fetchall()
                for done, (stage, folder, *row) in enumerate(runs):
                    if stage == DELETED:
                        self.store.leave_out("deleted runs", 1)
                    else:
                        self._run(db, tuple(row))
                        self._artifacts(text_or(folder), text_or(row[0]))
                    self.progress(done + 1, len(runs))
            except sqlite3.DatabaseError as error:
                self.store.problem(f"{self.path}: {error} (runs before it were taken)")

    def _run(self, db: sqlite3.Connection, row: tuple[object, ...]) -> None:
        id, name, status, start, end, experiment = row
        if not isinstance(id, str):
            self.store.problem(f"{self.path}: a run without an id was left out")
            return
        started_us, ended_us = int_or(start) * 1000, int_or(end) * 1000
        label = text_or(name) or id
        run = self.store.begin("mlflow", id, self.path, self.project or text_or(experiment), label, "", started_us)
        for key, value in db.execute("SELECT key, value FROM params WHERE run_uuid=? ORDER BY rowid", (id,)):
            if isinstance(key, str) and isinstance(value, str):
                run.set("config", key, value)
        for key, value in db.execute("SELECT key, value FROM tags WHERE run_uuid=? ORDER BY rowid", (id,)):
            if isinstance(key, str) and isinstance(value, str):
                _set_tag(run, key, value)
        rows = Rows(run)
        for key, value, time, step, is_nan in db.execute(
            "SELECT key, value, timestamp, step, is_nan FROM metrics WHERE run_uuid=? ORDER BY key, rowid", (id,)
        ):
            if not isinstance(key, str) or not isinstance(value, (int, float)):
                self.store.leave_out("metrics that are no numbers", 1)
                continue
            rows.add([(key, _number(float(value), bool(is_nan)))], int_or(step), int_or(time) * 1000)
        rows.flush()
        run.end(STATES.get(text_or(status), "crashed"), 0, ended_us)

    def _artifacts(self, uri: str, id: str) -> None:
        """Counts the files, of a folder here. Its end is looked at, so that a file from elsewhere does not have all of
        the disk counted."""
        if "://" in uri and not uri.startswith("file://"):
            self.store.leave_out("folders of artifacts that lie elsewhere", 1)
            return
        folder = Path(self.path).parent / unquote(uri.removeprefix("file://"))
        if folder.parts[-2:] == (id, "artifacts") and (count := sum(1 for _ in _files_below(folder))):
            self.store.leave_out(ARTIFACTS, count)


def _number(value: float, is_nan: bool) -> float:
    if is_nan:
        return math.nan
    return math.copysign(math.inf, value) if abs(value) >= LARGEST else value
