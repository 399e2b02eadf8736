# SPDX-License-Identifier: MIT
"""MLflow: the file store (./mlruns) and the SQLite one (mlflow.db). Metrics, params, tags, notes and files are
carried over; an experiment is a project."""

from __future__ import annotations

import contextlib
import math
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import unquote

from tracker import _core
from tracker.exchange.mlflow_artifacts import ARTIFACTS, LINKS, Artifacts, report_skipped, tables_of
from tracker.exchange.mlflow_yaml import MetaError, read_meta
from tracker.exchange.plain_files import Skipped, files_below, folder_below, is_folder, is_plain, visible
from tracker.exchange.rows import INT64_MAX, INT64_MIN, Rows, is_unicode
from tracker.exchange.sqlite_source import NotWholeError, has_column, int_or, open_source, text_or

if TYPE_CHECKING:
    from tracker.exchange.run_file import Progress

# Limit: bytes of a text, of a line of a metric and of a meta.yaml of MLflow. Beyond it: cut; left out and named.
MLFLOW_TEXT_BYTES_MAX = 1024 * 1024
PROGRESS_PARTS = 1000  # of one run
MLRUNS = "mlruns"  # the folder of the file store
DELETED = "deleted"  # a lifecycle_stage: `mlflow gc` has not removed the run yet
LARGEST = 1.7976931348623157e308  # how the SQLite store keeps an infinity
LOGGED_TABLES = "mlflow.loggedArtifacts"
ELSEWHERE = "folders of artifacts that lie elsewhere"
OTHER_FILES = "files of params, tags and metrics that are none, or in too many folders"
SERVED = "mlflow-artifacts"  # by `mlflow server`, which keeps them in ./mlartifacts
SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):(?://)?")
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


def import_mlflow(
    store: _core.ImportStore, source: str, project: str, progress: Progress, with_artifacts: bool = True
) -> None:
    """Of a folder `mlruns` in it, or itself, and `mlflow.db`. ValueError: neither is there."""
    if not Path(source).is_dir():
        _Database(store, source, project, progress, with_artifacts).carry()
        return
    found = False
    for name in ("mlflow.db", "mlruns.db"):
        path = Path(source, name)
        if is_plain(path):
            found = True
            _Database(store, str(path), project, progress, with_artifacts).carry()
    for root in (Path(source, MLRUNS), Path(source)):
        # An experiment that is deleted is moved, with its runs.
        trash = _run_folders(root / ".trash", Skipped())
        deleted = sum(1 for _ in trash) if is_folder(root / ".trash") else 0
        if deleted:
            found = True
            store.leave_out("deleted runs", deleted)
        skipped = Skipped()
        runs = list(_run_folders(root, skipped))
        found = found or skipped.links > 0
        report_skipped(store, skipped)
        for done, (experiment, folder) in enumerate(runs):
            found = True
            _carry_folder(store, experiment, folder, project, _within(progress, done, len(runs)), with_artifacts)
            progress(done + 1, len(runs))
        if runs:
            break
    if not found:
        raise ValueError(f"{source} holds no mlflow.db and no runs of MLflow")


def _within(progress: Progress, done: int, total: int) -> Callable[[float], None]:
    """Reports a part of the run after `done` others."""
    return lambda part: progress(int((done + min(part, 1)) * PROGRESS_PARTS), total * PROGRESS_PARTS)


def param_value(key: str, text: str) -> str | int | float:
    """MLflow keeps a param as its str(): the number, where its text is exactly this one, else the text ("007"). Of a
    secret the text, which is redacted."""
    for kind in () if _core.is_secret_key(key) else (int, float):
        try:
            number = kind(text)
        except ValueError:  # also of an int of more digits than Python reads
            continue
        if str(number) == text and (kind is float or INT64_MIN <= number <= INT64_MAX):
            return number
    return text


def _set_tag(run: _core.RunImport, key: str, value: str) -> None:
    names = {"mlflow.runName": "name", "mlflow.note.content": "notes"}
    if key in names:
        run.set("attribute", names[key], value)
    elif key.startswith("mlflow."):
        run.set("config", "mlflow/" + key.removeprefix("mlflow.").replace(".", "/"), value)
    else:
        run.set("config", "tags/" + key, value)


# --- the file store -----------------------------------------------------------------------------------------------


def _run_folders(root: Path, skipped: Skipped) -> Iterator[tuple[Path, Path]]:
    """(experiment's folder, run's folder), sorted; none where there is no such folder."""
    if not root.is_dir():
        return
    for folder in skipped.entries_of(root):
        if root.name == MLRUNS and folder.is_symlink():
            skipped.links += 1
        if not folder.is_dir(follow_symlinks=False) or not os.path.lexists(Path(folder.path, "meta.yaml")):
            continue
        for run in skipped.entries_of(Path(folder.path)):
            if run.is_symlink():
                skipped.links += 1
            elif run.is_dir(follow_symlinks=False) and os.path.lexists(Path(run.path, "meta.yaml")):
                yield Path(folder.path), Path(run.path)


def _named_files(store: _core.ImportStore, folder: Path) -> Iterator[tuple[str, Path]]:
    skipped = Skipped()
    for name, path in files_below(folder, skipped):
        if is_unicode(name):
            yield name, path
        else:
            store.leave_out("files whose names are no UTF-8", 1)
    if skipped.others:
        store.leave_out(OTHER_FILES, skipped.others)
    report_skipped(store, skipped)


def _unread(error: OSError) -> str:
    return f"{visible(str(error.filename))} cannot be read: {error.strerror}"


@contextlib.contextmanager
def _naming(store: _core.ImportStore, run: _core.RunImport, kind: str, path: Path) -> Iterator[None]:
    """One that a disk or its owner refuses is counted and named, and the rest is carried over."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        run.leave_out(f"{kind} that cannot be read")
        store.problem(f"{_unread(error)}; it comes with the next import that can read it")


def _read_text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(MLFLOW_TEXT_BYTES_MAX).decode("utf-8", "replace")


def _read_meta(path: Path, *needed: str) -> dict[str, str]:
    """ValueError, which names it: it cannot be read, is damaged, or ends before what MLflow always writes."""
    try:
        if not is_plain(path):  # a pipe would be waited for
            raise MetaError("it is no regular file")
        with path.open("rb") as file:
            text = file.read(MLFLOW_TEXT_BYTES_MAX + 1)
        if len(text) > MLFLOW_TEXT_BYTES_MAX:
            raise MetaError("it has more than 1 MiB")
        meta = read_meta(text.decode())
    except OSError as error:
        error.filename = error.filename or str(path)
        raise ValueError(_unread(error)) from None
    except UnicodeDecodeError:
        raise ValueError(f"{visible(str(path))} cannot be read: it is no UTF-8") from None
    except MetaError as error:
        raise ValueError(f"{visible(str(path))} cannot be read: {error}") from None
    if missing := [key for key in needed if not meta.get(key)]:
        raise ValueError(f"{visible(str(path))} is damaged: it does not say {missing[0]}")
    return meta


def _millis(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else 0


def _carry_folder(
    store: _core.ImportStore,
    experiment: Path,
    folder: Path,
    project: str,
    report: Callable[[float], None],
    with_artifacts: bool,
) -> None:
    try:
        meta = _read_meta(folder / "meta.yaml", "status")
        # Both: either says that the run was deleted.
        project_meta = _read_meta(experiment / "meta.yaml", "name")
    except ValueError as error:
        store.problem(f"the run of {visible(str(folder))} was left out: {error}")
        return
    if DELETED in (meta.get("lifecycle_stage"), project_meta.get("lifecycle_stage")):
        store.leave_out("deleted runs", 1)
        return
    project = project or project_meta["name"]
    id = meta.get("run_uuid") or meta.get("run_id") or folder.name
    started_us = _millis(meta.get("start_time", "")) * 1000
    run = store.begin("mlflow", id, str(folder), project, meta.get("run_name") or id, "", started_us)
    for name, path in _named_files(store, folder / "params"):
        with _naming(store, run, "params", path):
            run.set("config", name, param_value(name, _read_text(path)))
    tables: set[str] = set()
    for name, path in _named_files(store, folder / "tags"):
        with _naming(store, run, "tags", path):
            tag = _read_text(path)
            _set_tag(run, name, tag)
            if name == LOGGED_TABLES:
                tables = tables_of(tag)
    for name, path in _named_files(store, folder / "metrics"):
        with _naming(store, run, "metrics", path):
            _carry_metric(run, name, path, store)
    ended_us = _millis(meta.get("end_time", "")) * 1000
    artifacts = Artifacts(store, run, (started_us, ended_us), report, with_artifacts)
    artifacts.carry(folder / "artifacts", tables)
    with _naming(store, run, "models", folder / "outputs"):
        for name, model in _models_of(store, run, folder, experiment / "models"):
            artifacts.carry_model(name, model)
    run.end(STATES.get(meta.get("status", ""), "crashed"), 0, ended_us)


def _models_of(
    store: _core.ImportStore, run: _core.RunImport, run_folder: Path, models: Path
) -> Iterator[tuple[str, Path]]:
    """(name, folder) of the models that a run of MLflow 3 made, as it made them: they lie beside the runs."""
    outputs = run_folder / "outputs"
    found: list[tuple[int, str, str, Path]] = []
    for output in outputs.iterdir() if is_folder(outputs) else ():
        model = folder_below(models, output.name)
        if model is None or not is_plain(model / "meta.yaml"):
            continue
        try:
            meta = _read_meta(model / "meta.yaml", "name")
        except ValueError as error:
            run.leave_out("models that cannot be read")
            store.problem(f"{error}; its model comes with the next import that can read it")
            continue
        if meta.get("lifecycle_stage") != DELETED:
            made = _millis(meta.get("creation_timestamp", ""))
            found.append((made, output.name, meta["name"], model / "artifacts"))
    for _, _, name, folder in sorted(found):
        yield name, folder


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """A longer one is empty, which is no value: of one that is cut the last number would be another."""
    while line := file.readline(MLFLOW_TEXT_BYTES_MAX + 1):
        whole = len(line) <= MLFLOW_TEXT_BYTES_MAX or line.endswith(b"\n")
        yield line if whole else b""
        while line and not line.endswith(b"\n"):
            line = file.readline(MLFLOW_TEXT_BYTES_MAX)


def _carry_metric(run: _core.RunImport, name: str, path: Path, store: _core.ImportStore) -> None:
    rows = Rows(run)
    with path.open("rb") as file:
        for number, line in enumerate(_lines(file), 1):
            parts = line.decode("utf-8", "replace").split()
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
    def __init__(
        self, store: _core.ImportStore, path: str, project: str, progress: Progress, with_artifacts: bool
    ) -> None:
        self.store, self.path, self.project, self.progress = store, path, project, progress
        self.with_artifacts = with_artifacts

    def carry(self) -> None:
        try:
            opened = open_source(self.path, TABLES)
        except NotWholeError as error:
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
                        self._run(db, text_or(folder), tuple(row), _within(self.progress, done, len(runs)))
                    self.progress(done + 1, len(runs))
            except sqlite3.DatabaseError as error:
                self.store.problem(f"{self.path}: {error} (runs before it were taken)")

    def _run(self, db: sqlite3.Connection, uri: str, row: tuple[object, ...], report: Callable[[float], None]) -> None:
        id, name, status, start, end, experiment = row
        if not isinstance(id, str):
            self.store.problem(f"{self.path}: a run without an id was left out")
            return
        started_us, ended_us = int_or(start) * 1000, int_or(end) * 1000
        label = text_or(name) or id
        run = self.store.begin("mlflow", id, self.path, self.project or text_or(experiment), label, "", started_us)
        for key, value in db.execute("SELECT key, value FROM params WHERE run_uuid=? ORDER BY rowid", (id,)):
            if isinstance(key, str) and isinstance(value, str):
                run.set("config", key, param_value(key, value))
        tables: set[str] = set()
        for key, value in db.execute("SELECT key, value FROM tags WHERE run_uuid=? ORDER BY rowid", (id,)):
            if isinstance(key, str) and isinstance(value, str):
                _set_tag(run, key, value)
                if key == LOGGED_TABLES:
                    tables = tables_of(value)
        rows = Rows(run)
        for key, value, time, step, is_nan in db.execute(
            "SELECT key, value, timestamp, step, is_nan FROM metrics WHERE run_uuid=? ORDER BY key, rowid", (id,)
        ):
            if not isinstance(key, str) or not isinstance(value, (int, float)):
                self.store.leave_out("metrics that are no numbers", 1)
                continue
            rows.add([(key, _number(float(value), bool(is_nan)))], int_or(step), int_or(time) * 1000)
        rows.flush()
        artifacts = Artifacts(self.store, run, (started_us, ended_us), report, self.with_artifacts)
        if (folder := self._folder(run, uri, id, 4)) is not None:
            artifacts.carry(folder, tables)
        for name, folder in self._models(db, run, id):
            artifacts.carry_model(name, folder)
        run.end(STATES.get(text_or(status), "crashed"), 0, ended_us)

    def _models(self, db: sqlite3.Connection, run: _core.RunImport, id: str) -> Iterator[tuple[str, Path]]:
        """(name, folder) of the models that a run of MLflow 3 made."""
        if not has_column(db, "logged_models", "source_run_id"):
            return
        seen: set[Path] = set()
        for model, name, uri in db.execute(
            "SELECT model_id, name, artifact_location FROM logged_models"
            " WHERE source_run_id=? AND lifecycle_stage IS NOT ? ORDER BY creation_timestamp_ms, model_id",
            (id, DELETED),
        ).fetchall():
            folder = self._folder(run, text_or(uri), text_or(model), 5)
            if folder is not None and folder not in seen:
                seen.add(folder)
                yield text_or(name) or text_or(model), folder

    def _folder(self, run: _core.RunImport, uri: str, id: str, end: int) -> Path | None:
        """Where the files are, below the database's own folder, by the last `end` names of the path. The files of a
        folder that lies elsewhere on this machine are counted, not read: the database may come from anywhere. Its end
        is checked, so that not all of the disk is counted."""
        scheme = SCHEME.match(uri)
        if scheme and scheme[1] not in ("file", SERVED):
            run.leave_out(ELSEWHERE)
            return None
        path = PurePosixPath(unquote(uri[scheme.end() :] if scheme else uri))
        if path.parts[-2:] != (id, "artifacts"):
            if uri:
                run.leave_out(ELSEWHERE)
            return None
        base = Path(self.path).absolute().parent
        is_served = scheme is not None and scheme[1] == SERVED
        for inner in _inner(path, (base, base.resolve()), is_served, end):
            if folder := folder_below(base, str(inner)):
                return folder
        if is_served:
            run.leave_out(ELSEWHERE)
        elif Path(base / path).is_symlink():
            run.leave_out(LINKS)
        elif count := sum(1 for _ in files_below(base / path, Skipped())):
            run.leave_out(ARTIFACTS, count)
        return None


def _inner(path: PurePosixPath, bases: tuple[Path, Path], is_served: bool, end: int) -> Iterator[PurePosixPath]:
    """Where below the database's folder artifacts may lie. What was moved there with it is found by the end: the folder
    of all artifacts, the experiment's and the run's or the model's."""
    if is_served:
        yield PurePosixPath("mlartifacts", *path.parts[1:])
        return
    for base in bases:
        if path.is_relative_to(base):
            yield path.relative_to(base)
    if not path.is_absolute():
        yield path
    elif not is_folder(Path(path)):
        yield PurePosixPath(*path.parts[-end:])


def _number(value: float, is_nan: bool) -> float:
    if is_nan:
        return math.nan
    return math.copysign(math.inf, value) if abs(value) >= LARGEST else value
