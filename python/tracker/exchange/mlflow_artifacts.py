# SPDX-License-Identifier: MIT
"""Artifacts of an MLflow run that are media: images logged under a key and a step, and files that a browser shows. The
others are counted. MLflow says of a file neither step nor time: it gets step 0 and the time at which it was written."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from tracker._media import Media
from tracker.exchange.media import MAKERS, NOT_MADE, carry_media, read_json
from tracker.exchange.plain_files import files_below
from tracker.exchange.rows import is_unicode
from tracker.exchange.tables import table_of_rows

if TYPE_CHECKING:
    from tracker import _core

MLFLOW_ARTIFACTS_MAX = 100 * 1000
ARTIFACTS = "files of artifacts"
# What log_image(key=, step=) writes; older versions have other separators. Beside it stands a smaller copy, for charts.
TIMED = re.compile(
    r"images/(?P<key>[^+%]+)(?P<s>[+%])step(?P=s)(?P<step>-?\d{1,18})(?P=s)timestamp(?P=s)(?P<ms>\d{1,15})(?P=s)"
    r"[0-9a-f-]+(?P<small>(?P=s)compressed)?\.(?:png|webp)"
)
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


def carry_artifacts(
    store: _core.ImportStore, run: _core.RunImport, folder: Path, tables: set[str], times_us: tuple[int, int]
) -> None:
    """`tables`: what MLflow says of itself is a table. `times_us`: when the run began and ended, 0 where it did not."""
    listed = files_below(folder)
    files = dict(itertools.islice(listed, MLFLOW_ARTIFACTS_MAX))
    if more := sum(1 for _ in listed):
        run.leave_out(ARTIFACTS, more)
    models = {PurePosixPath(name).parent for name in files if PurePosixPath(name).name == MODEL}
    timed: list[tuple[int, int, str, str]] = []
    for name, path in files.items():
        if found := TIMED.fullmatch(name):
            if not found["small"]:
                key = found["key"].replace("~", "/").replace("#", "/")
                timed.append((int(found["ms"]), int(found["step"]), name, key))
            elif name.replace(f"{found['s']}compressed.webp", ".png") not in files:
                run.leave_out(ARTIFACTS)
            continue
        kind = "table" if name in tables else _kind(name)
        if kind is None or not is_unicode(name) or name.startswith(CELLS) or _is_below(name, models):
            run.leave_out(ARTIFACTS)
        else:
            carry_media(store, run, str(path), name, _made(run, kind, path), 0, _time_us(path, times_us), False)
    for ms, step, name, key in sorted(timed):  # as they were logged, so that later ones stand behind those stored
        carry_media(store, run, str(files[name]), key, _made(run, "image", files[name]), step, ms * 1000, False)


def _is_below(name: str, folders: set[PurePosixPath]) -> bool:
    return not folders.isdisjoint(PurePosixPath(name).parents)


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


def _made(run: _core.RunImport, kind: str, path: Path) -> Iterator[Media]:
    try:
        made = _table(run, path) if kind == "table" else MAKERS[kind](path, None)
    except NOT_MADE:  # a file may be called .png and be none
        run.leave_out(ARTIFACTS)
        return
    yield made


def _table(run: _core.RunImport, path: Path) -> Media:
    document = read_json(path)
    return table_of_rows(
        document["columns"], document["data"], lambda kind: run.leave_out(f"values of type {kind[:40]}"), None
    )


def _time_us(path: Path, times_us: tuple[int, int]) -> int:
    """When it was written; a copy of it, behind the run's end, says nothing."""
    started, ended = times_us
    try:
        written = path.lstat().st_mtime_ns // 1000
    except OSError:  # it is gone by now
        return started
    return max(started, min(written, ended or written))
