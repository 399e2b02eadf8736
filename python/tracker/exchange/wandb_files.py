# SPDX-License-Identifier: MIT
"""W&B offline runs: run-<id>.wandb. History, media, config, summary, name, notes, tags, group, job type are carried
over. A run that was resumed has a folder and a file a start; each is an attempt of the run, and how far it was taken
is kept with it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.exchange import wire
from tracker.exchange.left_artifacts import LeftArtifacts
from tracker.exchange.leveldb_log import WANDB
from tracker.exchange.media import carry_media
from tracker.exchange.plain_files import run_files
from tracker.exchange.rows import Rows, microseconds, sort_value, timestamp_us
from tracker.exchange.run_file import NOT_READ, RunFile, with_progress
from tracker.exchange.wandb_media import is_list, media_of

if TYPE_CHECKING:
    from tracker import _core
    from tracker.exchange.run_file import Progress

# Record.record_type, as far as it is read; the others are counted by these names.
HISTORY, SUMMARY, OUTPUT, CONFIG, FILES, STATS, OUTPUT_RAW, RUN, EXIT = 2, 3, 4, 5, 6, 7, 13, 17, 18
LEFT_OUT = {
    OUTPUT: "console lines",
    OUTPUT_RAW: "console lines",
    STATS: "system samples",
    10: "alerts",
}
# ArtifactRecord and UseArtifactRecord: where their name is, and their type and aliases
ARTIFACTS = {8: ("artifacts", 5, (4, 11)), 25: ("uses of artifacts", 3, (2,))}
NAMES = {8: "name", 9: "notes", 6: "group", 7: "job_type"}
OWN_KEYS = ("_step", "_runtime", "_timestamp", "_wandb")  # what W&B itself adds to rows and summary
_MISSING = object()


def import_wandb(store: _core.ImportStore, source: str, project: str, progress: Progress) -> None:
    files = run_files(source, ".wandb")
    # In the order of the starts, which the folders' names say; those of offline runs have a word before that.
    files.sort(key=lambda path: (Path(path).parent.name.removeprefix("offline-"), path))
    left = LeftArtifacts(store)
    for path, report in with_progress(files, progress):
        _RunFile(store, path, project, report, left).carry(WANDB)


def _text_in(record: bytes, number: int) -> str:
    """Of a field that may be there several times all of them."""
    return ", ".join(map(wire.text, wire.messages(record, number)))


class _RunFile(RunFile):
    def __init__(
        self,
        store: _core.ImportStore,
        path: str,
        project: str,
        progress: Callable[[int], None],
        left: LeftArtifacts | None = None,
    ) -> None:
        super().__init__(store, path, project, progress)
        self._left = left or LeftArtifacts(store)
        self.last: dict[str, Any] = {}  # of each metric the last value: what a summary would repeat
        self.summary: dict[tuple[str, ...], Any] = {}
        self.names: dict[str, Any] = {}  # attributes, as the last record of the run has them
        self.class_names: dict[str, Any] = {}  # among others
        self.config: dict[tuple[str, ...], Any] = {}
        self.part, self.taken_bytes = "", 0  # how far an earlier import took this file
        self.exit_code: int | None = None

    def _end(self, rows: Rows) -> None:
        run = rows.run
        try:
            rows.flush()
        except NOT_READ as error:
            self.store.problem(f"{self.path}: its last rows cannot be stored: {error}")
        if run.settings_count:
            self._settings(run)
        run.mark(self.part, max(self.read_bytes, self.taken_bytes))
        if self.exit_code is None:
            run.end("crashed", 0, self.ended_us)
        else:
            run.end("failed" if self.exit_code else "finished", self.exit_code, self.ended_us)

    def _settings(self, run: _core.RunImport) -> None:
        for path, value in self.config.items():
            self._set(run, "config", "/".join(path), value)
        media = {path[:-1] for path in self.summary if path[-1] == "_type"}
        for path, value in self.summary.items():
            key = "/".join(path)
            if any(path[:depth] in media for depth in range(len(path))) or _same(self.last.get(key, _MISSING), value):
                continue
            self._set(run, "summary", key, value)
        for name, value in self.names.items():
            self._set(run, "attribute", name, value)

    def _set(self, run: _core.RunImport, what: str, key: str, value: Any) -> None:
        try:
            run.set(what, key, value)
        except NOT_READ as error:
            self.store.problem(f"{self.path}: a value of its {what} cannot be stored: {error}")

    @property
    def is_new(self) -> bool:
        """Whether no earlier import took the current record."""
        return self.read_bytes > self.taken_bytes

    def _record(self, record: bytes) -> None:
        for number, _, value in wire.fields(record):
            if not isinstance(value, bytes):
                continue
            if number == RUN:
                self._run(value)
            elif number == FILES:
                self._files(value)
            elif number in ARTIFACTS:
                what, name, words = ARTIFACTS[number]
                self._left.add(what, _text_in(value, name), (_text_in(value, word) for word in words))
            elif number in LEFT_OUT:
                self.store.leave_out(LEFT_OUT[number], 1)
            elif self.rows is None:
                continue
            elif number == HISTORY:
                self._history(self.rows, value)
            elif number == CONFIG:
                self._config(value)
            elif number == SUMMARY:
                self._summary(value)
            elif number == EXIT:
                self.exit_code = 0  # which the format leaves out
                for part, _, inner in wire.fields(value):
                    if part == 1 and isinstance(inner, int):
                        self.exit_code = wire.signed(inner)

    def _files(self, record: bytes) -> None:
        for item in wire.messages(record, 1):
            path = next(wire.messages(item, 1), b"")
            if not path.startswith(b"media/"):  # those are read where the history names them
                self.store.leave_out("files", 1)

    def _run(self, record: bytes) -> None:
        texts: dict[int, str] = {}
        tags: list[str] = []
        started_us = 0
        for number, _, value in wire.fields(record):
            if isinstance(value, bytes) and number in (1, 2, 3, 6, 7, 8, 9, 13):
                texts[number] = wire.text(value)
            elif isinstance(value, bytes) and number == 10:
                tags.append(wire.text(value))
            elif isinstance(value, bytes) and number == 17:
                started_us = timestamp_us(value)
        if self.rows is None:
            self._begin(texts, started_us)
            for config in wire.messages(record, 4):
                self._config(config)
            for summary in wire.messages(record, 5):
                self._summary(summary)
        # Of config and summary a later record of the run says what records of theirs say again.
        if self.is_new:
            self.names = {name: texts[number] for number, name in NAMES.items() if texts.get(number)}
            if tags:
                self.names["tags"] = tags

    def _begin(self, texts: dict[int, str], started_us: int) -> None:
        key = "/".join(texts.get(number, "") for number in (2, 3, 1))
        run = self.store.begin(
            "wandb",
            key,
            self.path,
            self.project or texts.get(3, "") or "uncategorized",
            texts.get(1, ""),
            texts.get(13, ""),
            started_us,
        )
        self.rows = Rows(run)
        # Not by its path: a folder may be moved.
        self.part = f"start {started_us}" if started_us else "/".join(Path(self.path).absolute().parts[-2:])
        self.taken_bytes = run.begin_part(self.part)
        size = Path(self.path).stat().st_size
        if size < self.taken_bytes:
            self.store.problem(
                f"{self.path} has {size} bytes, and {self.taken_bytes} of it were imported before: it is another file,"
                " or was cut"
            )

    def _config(self, record: bytes) -> None:
        for path, value in _items(record):
            if path[0] == "_wandb":
                if len(path) == 1 and isinstance(value, dict):  # the whole of it, again at each change
                    self.class_names = value
            elif self.is_new:
                self.config.pop(tuple(path), None)  # so that the last one said is the last one set
                self.config[tuple(path)] = value

    def _summary(self, record: bytes) -> None:
        for path, value in _items(record) if self.is_new else ():
            if path[0] not in OWN_KEYS and not _is_media(value):
                self.summary[tuple(path)] = value

    def _history(self, rows: Rows, record: bytes) -> None:
        values: list[tuple[str, float | int]] = []
        texts: list[tuple[str, str]] = []
        media: list[tuple[str, dict[str, Any]]] = []
        items: list[tuple[list[str], Any]] = []
        step: int | None = None
        time_us = 0
        for number, _, value in wire.fields(record):
            if number == 2 and isinstance(value, bytes):
                step = 0
                for part, _, inner in wire.fields(value):
                    if part == 1 and isinstance(inner, int):
                        step = wire.signed(inner)
            elif number == 1 and isinstance(value, bytes):
                path, item = _item(value)
                if path == ["_step"] and isinstance(item, int):
                    step = item
                elif path == ["_timestamp"] and isinstance(item, (int, float)):
                    time_us = microseconds(item)
                elif path[0] not in OWN_KEYS:
                    items.append((path, item))
        for name, item in _gathered(items):
            sort_value(name, item, values, texts, rows.run, media)
        self.ended_us = max(self.ended_us, time_us)
        self.last.update(values)
        self.last.update(texts)
        if self.is_new:
            rows.add(values, step, time_us)
        if texts or media:
            rows.flush()
        for name, text in texts if self.is_new else ():
            rows.run.text(name, text, step, time_us)
        for name, item in media:
            self._media(rows.run, name, item, step, time_us)

    def _media(self, run: _core.RunImport, name: str, item: dict[str, Any], step: int | None, time_us: int) -> None:
        made = media_of(item, Path(self.path).parent / "files", run.leave_out, name, self.class_names)
        carry_media(self.store, run, self.path, name, made, step, time_us, is_list(item))


def _gathered(items: Iterable[tuple[list[str], Any]]) -> Iterable[tuple[str, Any]]:
    """Items one below the other, as the objects that they were: W&B writes an object's keys one by one."""
    out: dict[str, Any] = {}
    for path, value in items:
        at = out
        for part in path[:-1]:
            below = at.setdefault(part, {})
            if not isinstance(below, dict):  # two records of one name: the later one counts
                below = at[part] = {}
            at = below
        at[path[-1]] = value
    return out.items()


def _items(record: bytes) -> Iterator[tuple[list[str], Any]]:
    for item in wire.messages(record, 1):
        yield _item(item)


def _item(data: bytes) -> tuple[list[str], Any]:
    """The path and the value of a ConfigItem, SummaryItem or HistoryItem. ValueError: no such message."""
    key = ""
    nested: list[str] = []
    value: Any = None
    for number, kind, field in wire.fields(data):
        if isinstance(field, int):
            if number == 4:
                value = field != 0
            elif number == 5:
                value = wire.zigzag(field)
        elif number == 1:
            key = wire.text(field)
        elif number == 2:
            nested.append(wire.text(field))
        elif number == 6 and kind == wire.FIXED64:
            value = wire.double(field)
        elif number == 7:
            value = wire.text(field)
        elif number in (8, 16):
            value = json.loads(field)
    return nested or [key], value


def _is_media(value: Any) -> bool:
    return isinstance(value, dict) and "_type" in value


def _same(a: Any, b: Any) -> bool:
    both_nan = isinstance(a, float) and math.isnan(a) and (b == "NaN" or (isinstance(b, float) and math.isnan(b)))
    return both_nan or (type(a) is type(b) and a == b)
