# SPDX-License-Identifier: MIT
"""The files of an MLflow run. Images logged under a key and a step, and files that a browser shows, become media;
models and all others artifacts that the run made. MLflow says of a file neither step nor time: it gets step 0 and the
time at which it was written."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from tracker._media.medium import Media
from tracker.exchange.media import MAKERS, NOT_MADE, carry_media, read_document, read_json
from tracker.exchange.plain_files import MLFLOW_DEPTH_MAX, Skipped, files_below
from tracker.exchange.rows import is_unicode
from tracker.exchange.tables import table_of_rows

if TYPE_CHECKING:
    from tracker import _core

# Limit: files of an MLflow run, and of a model. Beyond it: counted.
MLFLOW_ARTIFACTS_MAX = 100 * 1000
ARTIFACTS = "files of artifacts"
LINKS = "links among files"
# What log_image(key=, step=) writes; older versions have other separators. Beside it is a smaller copy, for charts.
TIMED = re.compile(
    r"images/(?P<key>[^+%]+)(?P<s>[+%])step(?P=s)(?P<step>-?\d{1,18})(?P=s)timestamp(?P=s)(?P<ms>\d{1,15})(?P=s)"
    r"[0-9a-f-]+(?P<small>(?P=s)compressed)?\.(?:png|webp)"
)
NO_NAME = re.compile("[/:@]")  # divides names of artifacts from versions
CELLS = "table_images/"  # of log_table(): images of its cells
MODEL = "MLmodel"  # in the folder of a model, whose texts are parts of it
KINDS = {
    "audio": (".wav", ".mp3", ".ogg", ".flac"),
    "html": (".html", ".htm"),
    "image": (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg"),
    "markdown": (".md",),
    "text": (".txt",),
    "video": (".mp4", ".webm", ".mov"),
}


class Artifacts:
    """The files of one run. `times_us`: when it began and ended, 0 where it did not. `report` gets which part of an
    artifact is stored, 0 to 1. Not `wanted`: what is no medium is counted."""

    def __init__(
        self,
        store: _core.ImportStore,
        run: _core.RunImport,
        times_us: tuple[int, int],
        report: Callable[[float], None],
        wanted: bool,
    ) -> None:
        self._store, self._run, self._times_us, self._report, self._wanted = store, run, times_us, report, wanted
        self._names: set[str] = set()  # of artifacts

    def carry(self, folder: Path, tables: set[str]) -> None:
        """`tables`: what MLflow says of itself is a table."""
        files = self._files_below(folder)
        models = {str(PurePosixPath(name).parent) for name in files if PurePosixPath(name).name == MODEL}
        inside: dict[str, dict[str, Path]] = {}
        others: dict[str, Path] = {}
        timed: list[tuple[int, int, str, str]] = []
        for name, path in files.items():
            if model := _model_of(name, models):
                inside.setdefault(model, {})[name if model == "." else name[len(model) + 1 :]] = path
            elif (found := TIMED.fullmatch(name)) and not found["small"]:
                key = found["key"].replace("~", "/").replace("#", "/")
                timed.append((int(found["ms"]), int(found["step"]), name, key))
            elif found and name.replace(f"{found['s']}compressed.webp", ".png") in files:
                continue
            elif not self._carry_medium(name, path, "table" if name in tables else _kind(name)):
                others[name] = path
        for ms, step, name, key in sorted(timed):  # as they were logged, so that later ones come after those stored
            if made := self._made("image", files[name]):
                carry_media(self._store, self._run, str(files[name]), key, iter([made]), step, ms * 1000, False)
            else:
                others[name] = files[name]
        self._store_artifact("artifacts", "artifacts", folder, others)
        for model, parts in inside.items():
            self._store_artifact("model" if model == "." else model, "model", folder / model, parts)

    def carry_model(self, name: str, folder: Path) -> None:
        """One that MLflow 3 keeps beside the runs."""
        self._store_artifact(name, "model", folder, self._files_below(folder))

    def _files_below(self, folder: Path) -> dict[str, Path]:
        skipped = Skipped()
        listed = files_below(folder, skipped)
        files = dict(itertools.islice(listed, MLFLOW_ARTIFACTS_MAX))
        odd = [name for name in files if not is_unicode(name)]
        for name in odd:
            del files[name]
        if left_out := len(odd) + sum(1 for _ in listed) + skipped.others:
            self._run.leave_out(ARTIFACTS, left_out)
        report_skipped(self._store, skipped)
        return files

    def _carry_medium(self, name: str, path: Path, kind: str | None) -> bool:
        made = None if kind is None or name.startswith(CELLS) else self._made(kind, path)
        if made is not None:
            time_us = _time_us(path, self._times_us)
            carry_media(self._store, self._run, str(path), name, iter([made]), 0, time_us, False, by_content=True)
        return made is not None

    def _made(self, kind: str, path: Path) -> Media | None:
        try:
            if kind in ("html", "markdown", "text"):
                read_document(path, "strict")  # what is no UTF-8 is kept with its bytes
            return _table(self._run, path) if kind == "table" else MAKERS[kind](path, None)
        except NOT_MADE:  # a file may be called .png and be none
            return None

    def _store_artifact(self, name: str, type: str, folder: Path, files: dict[str, Path]) -> None:
        if files and not self._wanted:
            self._run.leave_out(ARTIFACTS, len(files))
        if not files or not self._wanted:
            return
        wanted, number = name, 1
        while (name := NO_NAME.sub("_", name)) in self._names:  # as import_artifact.cc writes it
            number += 1
            name = f"{wanted}-{number}"
        self._names.add(name)
        time_us = max(_time_us(path, self._times_us) for path in files.values())
        size = sum(_bytes(path) for path in files.values())
        self._run.artifact(
            self._store, name, type, str(folder), list(files), time_us, ARTIFACTS, lambda at: self._report(at / size)
        )


def report_skipped(store: _core.ImportStore, skipped: Skipped) -> None:
    if skipped.links:
        store.leave_out(LINKS, skipped.links)
    if skipped.too_deep:
        more = f", nor is what {len(skipped.too_deep) - 1:,} others hold" if len(skipped.too_deep) > 1 else ""
        store.problem(f"{skipped.too_deep[0]} lies in {MLFLOW_DEPTH_MAX} folders; what it holds is left out{more}")
    for line in skipped.unread:
        store.problem(f"{line}; its files come with the next import that can read it")


def _model_of(name: str, models: set[str]) -> str | None:
    """The outermost one that a file is part of."""
    return next((str(folder) for folder in reversed(PurePosixPath(name).parents) if str(folder) in models), None)


def tables_of(tag: str) -> set[str]:
    """The paths of tables in the tag mlflow.loggedArtifacts."""
    try:
        logged = json.loads(tag)
    except (ValueError, RecursionError):
        return set()
    entries = [one for one in logged if isinstance(one, dict)] if isinstance(logged, list) else []
    return {str(one.get("path")) for one in entries if one.get("type") == "table"}


def _kind(name: str) -> str | None:
    suffix = Path(name).suffix.lower()
    return next((kind for kind, suffixes in KINDS.items() if suffix in suffixes), None)


def _table(run: _core.RunImport, path: Path) -> Media:
    document = read_json(path, "strict")
    return table_of_rows(
        document["columns"], document["data"], lambda kind: run.leave_out(f"values of type {kind[:40]}"), None
    )


def _time_us(path: Path, times_us: tuple[int, int]) -> int:
    """When it was written; a copy of it, after the run's end, says nothing."""
    started, ended = times_us
    try:
        written = path.lstat().st_mtime_ns // 1000
    except OSError:  # it is gone by now
        return started
    return max(started, min(written, ended or written))


def _bytes(path: Path) -> int:
    try:
        return max(1, path.lstat().st_size)
    except OSError:
        return 1
