# SPDX-License-Identifier: MIT
"""SwanLab's own files: <run>/run-<id>.swanlab, as its modes local, offline and online write them. Scalars, texts,
media, config, name, description, tags, group, job type and state are carried over."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.exchange import wire
from tracker.exchange.leveldb_log import SWANLAB
from tracker.exchange.media import carry_media
from tracker.exchange.plain_files import file_below, run_files
from tracker.exchange.rows import Rows, timestamp_us
from tracker.exchange.run_file import NOT_READ, RunFile, with_progress
from tracker.exchange.swanlab_media import TEXT, media_of, text_of

if TYPE_CHECKING:
    from tracker import _core
    from tracker.exchange.run_file import Progress

# Limit: metrics of a SwanLab run whose kind is remembered. Beyond it: they count as the program's.
SWANLAB_COLUMNS_MAX = 262_144
# Limit: bytes of SwanLab's config. Beyond it: left out and counted.
SWANLAB_CONFIG_BYTES_MAX = 1024 * 1024
# Limit: settings of SwanLab's config, aliases resolved. Beyond it: the config is left out and counted.
SWANLAB_SETTINGS_MAX = 10_000
# Record.record_type
START, FINISH, COLUMN, SCALAR, MEDIA, LOG, SAVE = 10, 11, 12, 13, 14, 16, 20
STATES = {1: "finished", 2: "failed", 3: "interrupted"}
SYSTEM_COLUMN, CONFIG_FILE = 2, 1


def import_swanlab(store: _core.ImportStore, source: str, project: str, progress: Progress) -> None:
    files = run_files(source, ".swanlab")
    if not files:
        raise ValueError(f"{source} holds no run-*.swanlab")
    for path, report in with_progress(files, progress):
        _RunFile(store, path, project, report).carry(SWANLAB)


class _RunFile(RunFile):
    def __init__(self, store: _core.ImportStore, path: str, project: str, progress: Callable[[int], None]) -> None:
        super().__init__(store, path, project, progress)
        self.system: set[str] = set()  # metrics that sample the machine
        self.call: dict[str, float] = {}  # what one log() has logged so far
        self.at: tuple[int, int] = (0, 0)  # its step and time
        self.state = "crashed"

    def _end(self, rows: Rows) -> None:
        try:
            self._end_call(rows)
            rows.flush()
            self._config(rows.run)
        except NOT_READ as error:
            self.store.problem(f"{self.path}: its last rows or its config cannot be stored: {error}")
        rows.run.end(self.state, int(self.state == "failed"), self.ended_us)

    def _record(self, record: bytes) -> None:
        for number, _, value in wire.fields(record):
            if not isinstance(value, bytes):
                continue
            if number == START:
                self._start(value)
            elif number == LOG:
                self.store.leave_out("console lines", 1)
            elif number == SAVE:
                self._save(value)
            elif self.rows is None:
                continue
            elif number == COLUMN:
                self._column(value)
            elif number == SCALAR:
                self._scalar(self.rows, value)
            elif number == MEDIA:
                self._media(self.rows, value)
            elif number == FINISH:
                self._finish(value)

    def _start(self, record: bytes) -> None:
        if self.rows is not None:
            return
        texts: dict[int, str] = {}
        tags: list[str] = []
        started_us = 0
        for number, _, value in wire.fields(record):
            if not isinstance(value, bytes):
                continue
            if number == 6:
                tags.append(wire.text(value))
            elif number == 12:
                started_us = timestamp_us(value)
            else:
                texts[number] = wire.text(value)
        # A run that was resumed has a folder and a file a start, each with its own rows.
        key = f"{texts.get(2, '')}/{texts.get(1, '')}/{texts.get(10, '')}/{started_us}"
        project = self.project or texts.get(1, "") or "uncategorized"
        label = texts.get(10, "") or texts.get(4, "")
        run = self.store.begin("swanlab", key, self.path, project, label, "", started_us)
        self.rows = Rows(run)
        for number, name in ((4, "name"), (5, "notes"), (7, "group"), (8, "job_type")):
            if texts.get(number):
                run.set("attribute", name, texts[number])
        if tags:
            run.set("attribute", "tags", tags)

    def _finish(self, record: bytes) -> None:
        for number, _, value in wire.fields(record):
            if number == 1 and isinstance(value, int):
                self.state = STATES.get(value, "crashed")
            elif number == 2 and value:
                self.store.leave_out("texts of errors", 1)
            elif number == 3 and isinstance(value, bytes):
                self.ended_us = timestamp_us(value)

    def _save(self, record: bytes) -> None:
        kinds = [value for number, _, value in wire.fields(record) if number == 5]
        if CONFIG_FILE not in kinds:
            self.store.leave_out("files", 1)

    def _column(self, record: bytes) -> None:
        key, kind = "", 0
        for number, _, value in wire.fields(record):
            if number == 3 and isinstance(value, bytes):
                key = wire.text(value)
            elif number == 1 and isinstance(value, int):
                kind = value
        if kind == SYSTEM_COLUMN and len(self.system) < SWANLAB_COLUMNS_MAX:
            self.system.add(key)

    def _scalar(self, rows: Rows, record: bytes) -> None:
        key, step, time_us, number = "", 0, 0, 0.0  # the format leaves out what is zero
        for field, _, value in wire.fields(record):
            if field == 1 and isinstance(value, bytes):
                key = wire.text(value)
            elif field == 2 and isinstance(value, int):
                step = wire.signed(value)
            elif field == 4 and isinstance(value, bytes):
                time_us = timestamp_us(value)
            elif field == 5 and isinstance(value, bytes):
                for part, kind, inner in wire.fields(value):
                    if part == 1 and kind == wire.FIXED64 and isinstance(inner, bytes):
                        number = wire.double(inner)
        if key in self.system:
            rows.run.leave_out("system samples", 1)
            return
        if (step, time_us) != self.at or key in self.call:
            self._end_call(rows)
            self.at = (step, time_us)
        self.call[key] = number

    def _end_call(self, rows: Rows) -> None:
        call, self.call = self.call, {}
        self.ended_us = max(self.ended_us, self.at[1])
        rows.add(call.items(), *self.at)

    def _media(self, rows: Rows, record: bytes) -> None:
        key, step, kind, time_us = "", 0, 0, 0
        items: list[bytes] = []
        for field, _, value in wire.fields(record):
            if field == 1 and isinstance(value, bytes):
                key = wire.text(value)
            elif field == 2 and isinstance(value, int):
                step = wire.signed(value)
            elif field == 3 and isinstance(value, int):
                kind = value
            elif field == 4 and isinstance(value, bytes):
                time_us = timestamp_us(value)
            elif field == 5 and isinstance(value, bytes):
                items += wire.messages(value, 1)
        if not items:
            return
        self._end_call(rows)
        rows.flush()
        folder = Path(self.path).parent
        text = text_of(items, folder) if kind == TEXT else None
        if text is not None:
            rows.run.text(key, text, step, time_us)
        else:
            made = media_of(kind, items, folder, rows.run.leave_out)
            carry_media(self.store, rows.run, self.path, key, made, step, time_us, len(items) > 1)

    def _config(self, run: _core.RunImport) -> None:
        text = _read_config(self.path)
        if text is None:
            run.leave_out("config over 1 MiB", 1)
        if not text:
            return
        try:
            yaml: Any = importlib.import_module("yaml")  # which has no types
        except ModuleNotFoundError:
            run.leave_out("config (its YAML needs PyYAML: pip install pyyaml)", 1)
            return
        try:
            config = yaml.safe_load(text)
        except (yaml.YAMLError, *NOT_READ) as error:
            self.store.problem(f"{self.path}: its config.yaml cannot be read: {str(error)[:200]}")
            return
        if not isinstance(config, dict) or not _is_bounded(config):
            run.leave_out("config of too many settings, or none", 1)
            return
        for key, value in config.items():
            # Each is under `value`, beside its description and its place in the list.
            plain = value["value"] if isinstance(value, dict) and "value" in value and "sort" in value else value
            run.set("config", str(key), plain)


def _read_config(path: str) -> str | None:
    """Empty where there is none. None: it is too large."""
    config = file_below(Path(path).parent, "files/config.yaml")
    if config is None:
        return ""
    with config.open("rb") as file:
        data = file.read(SWANLAB_CONFIG_BYTES_MAX + 1)
    return data.decode("utf-8", "replace") if len(data) <= SWANLAB_CONFIG_BYTES_MAX else None


def _is_bounded(config: Any) -> bool:
    """YAML's aliases make a small file a tree without end."""
    left, stack = SWANLAB_SETTINGS_MAX, [config]
    while stack and left > 0:
        left -= 1
        value = stack.pop()
        if isinstance(value, dict):
            stack += value.values()
        elif isinstance(value, (list, tuple, set)):
            stack += value
    return not stack
