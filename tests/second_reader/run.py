# SPDX-License-Identifier: MIT
"""A run folder by docs/formats/store.md and database.md. A program: `run.py FOLDER` prints what it finds."""

from __future__ import annotations

import json
import re
import sqlite3
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cbor
from frame import Event, Frame, read_frame
from frames_file import read_frames_file
from journal_files import read_definitions, read_journal
from level import Cells, read_level
from segment import read_segment

CONFIG, SUMMARY, TEXT, ATTRIBUTE = 1, 2, 3, 4
METRIC, ARTIFACT, CONSOLE = 7, 8, 9
ENVIRONMENT, MEDIA, ALERT = 10, 11, 12
REJECTED = 6
TEXT_LOSSES = 0xFFFFFFFF  # in the place of a series: what was lost are texts
ENTRY_LOSSES = 0xFFFFFFFE  # or config, summary and the like


@dataclass
class Row:
    step: int | None
    time_us: int
    value_type: int
    bits: int

    @property
    def value(self) -> float | int | bool:
        if self.value_type == 5:
            return self.bits - (1 << 64) if self.bits >> 63 else self.bits
        if self.value_type == 6:
            return bool(self.bits)
        if self.value_type == 4:  # bfloat16: the upper half of a float32
            return float(struct.unpack("<f", struct.pack("<I", self.bits << 16))[0])
        form, width = {1: ("<d", 8), 2: ("<f", 4), 3: ("<e", 2)}[self.value_type]
        return float(struct.unpack(form, self.bits.to_bytes(width, "little"))[0])


@dataclass
class Writer:
    identity: dict[str, Any]
    last_seq: int
    frames: list[Frame]  # and segments, each as the frame that it could have been
    positions: dict[int, int] = field(default_factory=dict)  # up to where the rings of its journal are in the frames
    levels: dict[tuple[int, int, int], Cells] = field(default_factory=dict)  # by series, level and first_seq
    missing: dict[str, int] = field(default_factory=dict)  # of what its parts should hold: points, texts, dropped

    def order(self) -> tuple[int, int, str]:
        return (self.identity["attempt"], self.identity["started_us"], self.identity["writer"])

    def rows(self, metric: str) -> list[Row]:
        """All rows of a metric in the order logged: frame by frame, within one by the order columns."""
        names: dict[int, str] = {}
        out: list[Row] = []
        for frame in self.frames:
            names.update({number: name for number, (name, _) in frame.names.items()})
            rows: list[tuple[int, Row]] = []
            for block in frame.blocks:
                for number, (value_type, bits) in block.values.items():
                    if names[number] != metric:
                        continue
                    steps = block.steps or [None] * block.rows
                    order = block.order or range(block.rows)
                    rows += [
                        (ordinal, Row(step, time, value_type, bit))
                        for ordinal, step, time, bit in zip(order, steps, block.times_us, bits, strict=True)
                    ]
            out += [row for _, row in sorted(rows, key=lambda entry: entry[0])]
        return out

    def events(self) -> list[Event]:
        return [event for frame in self.frames for event in frame.events]

    def losses(self, *, texts: bool = False) -> int:
        return sum(
            count
            for frame in self.frames
            for series, reason, count in frame.losses
            if reason != REJECTED and (series == TEXT_LOSSES if texts else series < ENTRY_LOSSES)
        )

    def held(self) -> dict[str, int]:
        """As `before` in the identity of the next part counts it."""
        names = {number: name for frame in self.frames for number, (name, _) in frame.names.items()}
        blocks = [block for frame in self.frames for block in frame.blocks]
        own = [b.rows for b in blocks for number in b.values if not names[number].startswith("system/")]
        texts = [event for event in self.events() if event.kind == TEXT]
        every = sum(block.rows * len(block.values) for block in blocks)
        return {"points": sum(own), "texts": len(texts), "dropped": self.losses(), "log_points": every}


@dataclass
class Run:
    identity: dict[str, Any]
    writers: list[Writer] = field(default_factory=list)

    def metrics(self) -> list[str]:
        names = {name for w in self.writers for frame in w.frames for name, _ in frame.names.values()}
        return sorted(name for name in names if self.rows(name))

    def rows(self, metric: str) -> list[Row]:
        return [row for writer in self.writers for row in writer.rows(metric)]

    def placed(self, metric: str) -> list[tuple[Writer, Row]]:
        return [(writer, row) for writer in self.writers for row in writer.rows(metric)]

    def resolved(self, metric: str) -> list[tuple[Writer, Row]]:
        """The resolved view of database.md."""
        policy = self._last(ATTRIBUTE).get("duplicate_policy")
        best: dict[int, tuple[tuple[int, int, int, int], Writer, Row]] = {}
        without = []
        for i, (writer, row) in enumerate(self.placed(metric)):
            attempt, rank = writer.identity["attempt"], writer.identity.get("rank", 0)
            if row.step is None:
                without.append((writer, row))
                continue
            cuts = [
                w.identity["resume_step"]
                for w in self.writers
                if w.identity["attempt"] > attempt and w.identity.get("resume_step") is not None
            ]
            if cuts and row.step > min(cuts):
                continue
            place = (attempt, -rank, writer.identity["started_us"], -i if policy == "first" else i)
            if row.step not in best or place > best[row.step][0]:
                best[row.step] = (place, writer, row)
        return [(best[step][1], best[step][2]) for step in sorted(best)] + without

    def environment(self) -> dict[str, Any]:
        """By part; of the writers that said any the newest attempt's, there the first rank's, counts."""
        said = {}
        for writer in self.writers:
            parts = {e.payload["key"]: e.payload["value"] for e in writer.events() if e.kind == ENVIRONMENT}
            if parts:
                identity = writer.identity
                said[identity["attempt"], -identity.get("rank", 0), identity["started_us"]] = parts
        return said[max(said)] if said else {}

    def _events(self, kind: int) -> list[Event]:
        """Of all writers: by time, then writer id, then as the writer said it."""
        found = [
            ((event.time_us, writer.identity["writer"], i), event)
            for writer in self.writers
            for i, event in enumerate(writer.events())
            if event.kind == kind
        ]
        return [event for _, event in sorted(found, key=lambda entry: entry[0])]

    def _last(self, kind: int) -> dict[str, Any]:
        return {event.payload["key"]: event.payload["value"] for event in self._events(kind)}

    def config(self) -> dict[str, Any]:
        """Nested; the last one wins."""
        config: dict[str, Any] = {}
        for event in self._events(CONFIG):
            _set(config, event.payload["key"], event.payload["value"])
        return config

    def explicit_summary(self) -> dict[str, Any]:
        return {key: value for key, value in self._last(SUMMARY).items() if value is not None}

    def alerts(self) -> list[tuple[str, str, str, int | None]]:
        """Level, title, text and step; those that were dropped are counted in events without a title."""
        return [
            (event.payload["level"], event.payload["title"], event.payload.get("text", ""), event.step)
            for event in self._events(ALERT)
            if "title" in event.payload
        ]

    def definition(self, metric: str) -> dict[str, Any]:
        """What define_metric() said of it: a name beats patterns, of which the last one said counts."""
        said: dict[str, tuple[int, dict[str, Any]]] = {}
        for place, event in enumerate(self._events(METRIC)):
            said[event.payload["key"]] = (place, event.payload["value"])
        if metric in said:
            return said[metric][1]
        fitting = [value for key, value in said.items() if _is_pattern(key) and _pattern(key).fullmatch(metric)]
        return max(fitting, key=lambda one: one[0])[1] if fitting else {}

    def artifacts(self, use: str) -> list[dict[str, Any]]:
        """Versions that the run made ("output") or used ("input")."""
        last = {event.payload["key"]: event.payload["value"] for event in self._events(ARTIFACT)}
        return [value for key, value in last.items() if key.startswith(use + " ")]

    def console(self) -> list[tuple[int, int, int, str, int]]:
        """Rank, stream, number, text and updates of each line, by writer."""
        out = []
        for writer in self.writers:
            lines: dict[tuple[int, int], tuple[str, int]] = {}
            for event in writer.events():
                if event.kind != CONSOLE:
                    continue
                said = event.payload
                for i, text in enumerate(said["text"].split("\n")):
                    lines[said["stream"], said["line"] + i] = (text, said.get("updates", 0))
            rank = writer.identity.get("rank", 0)
            out += [(rank, stream, line, *lines[stream, line]) for stream, line in sorted(lines)]
        return out

    def texts(self) -> list[tuple[str, int | None, str]]:
        """Name, step and text, by writer as it logged them."""
        events = [event for writer in self.writers for event in writer.events() if event.kind == TEXT]
        return [(event.payload["key"], event.step, event.payload["text"]) for event in events]

    def media(self) -> list[tuple[str, int | None, dict[str, Any]]]:
        """Name, step and what is said of each value, by writer as it logged them, shadowed or not."""
        events = [event for writer in self.writers for event in writer.events() if event.kind == MEDIA]
        return [(event.payload["key"], event.step, event.payload["value"]) for event in events]

    def points(self) -> int:
        return sum(
            block.rows * len(block.values)
            for writer in self.writers
            for frame in writer.frames
            for block in frame.blocks
        )

    def dropped(self) -> int:
        lost = [writer.missing for writer in self.writers]
        missing = sum(each.get("points", 0) + each.get("dropped", 0) for each in lost)
        return missing + sum(writer.losses() for writer in self.writers)

    def texts_dropped(self) -> int:
        return sum(writer.losses(texts=True) + writer.missing.get("texts", 0) for writer in self.writers)


def _is_pattern(key: str) -> bool:
    return "*" in key or "?" in key


def _pattern(key: str) -> re.Pattern[str]:
    return re.compile("".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in key), re.DOTALL)


def _leaves(prefix: str, value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        path = f"{prefix}/{key}" if prefix else key
        if isinstance(item, dict) and item:
            yield from _leaves(path, item)
        else:
            yield path, item


def _set(config: dict[str, Any], path: str, value: Any) -> None:
    if not path:
        for leaf, item in _leaves("", value):
            if leaf:
                _set(config, leaf, item)
            else:
                config[""] = item
        return
    while 0 < (slash := path.find("/")) < len(path) - 1:
        name, path = path[:slash], path[slash + 1 :]
        if not isinstance(config.get(name), dict):
            config[name] = {}
        config = config[name]
    config[path] = value


def read_run(folder: Path, journals: Path | None = None) -> Run:
    """`journals`: the folder of the writers' journals; what those that were killed have left there is read too."""
    run = Run(json.loads((folder / "run.json").read_text()))
    files: dict[str, dict[int, Path]] = {}  # by writer and number
    for path in [*folder.glob("*.frames"), *folder.glob("*.db")]:
        number = int(path.stem[33:] or 1)
        parts = files.setdefault(path.stem[:32], {})
        if number not in parts or _is_whole(path):
            parts[number] = path
    writers = {}
    for name, numbered in files.items():
        read = [_read_part(numbered[number], name) for number in sorted(numbered)]
        if found := [part for part in read if part]:
            writers[name] = _unite(found)
    for journal in sorted(journals.iterdir()) if journals else []:
        identity = read_definitions((journal / "defs").read_bytes()).identity
        if identity["run"]["uid"] == run.identity["uid"]:
            writer = writers.setdefault(journal.name, Writer(identity, 0, []))
            writer.frames += read_journal(journal, writer.positions, writer.last_seq, writer.frames)
    run.writers = sorted(writers.values(), key=Writer.order)
    return run


def _is_whole(path: Path) -> bool:
    head = path.read_bytes()[:32]
    page, pages = int.from_bytes(head[16:18], "big"), int.from_bytes(head[28:32], "big")
    return len(head) == 32 and path.stat().st_size >= (65536 if page == 1 else page) * pages


def read_unfinished(path: Path) -> Writer:
    found = read_frames_file(path.read_bytes())
    last = found.frames[-1].seq if found.frames else 0
    return Writer(found.identity, last, found.frames, found.positions)


def read_database(path: Path) -> Writer:
    database = sqlite3.connect(path.resolve().as_uri() + "?mode=ro", uri=True)
    try:
        assert database.execute("PRAGMA application_id").fetchone()[0] == 0x54524B57
        assert database.execute("PRAGMA user_version").fetchone()[0] == 1
        meta = dict(database.execute("SELECT key, value FROM meta"))
        log = [(seq, read_frame(data)) for seq, data in database.execute("SELECT seq, data FROM frames")]
        log += [(seq, read_segment(data)) for seq, data in database.execute("SELECT first_seq, data FROM segments")]
        levels = {(series, level, seq): read_level(data) for series, level, seq, data in _levels(database)}
        positions = {
            nonce & (1 << 64) - 1: position & (1 << 64) - 1
            for nonce, position in database.execute("SELECT nonce, position FROM journal")
        }
    finally:
        database.close()
    frames = [entry for _, entry in sorted(log, key=lambda entry: entry[0])]
    return Writer(cbor.decode(meta["identity"]), meta["last_seq"], frames, positions, levels)


def _read_part(path: Path, writer: str) -> Writer | None:
    """None: it cannot be read, or is not what its name says."""
    try:
        part = read_database(path) if path.suffix == ".db" else read_unfinished(path)
    except (sqlite3.DatabaseError, ValueError, AssertionError):
        return None
    said = part.identity["writer"], part.identity.get("part", 1)
    return part if said == (writer, int(path.stem[33:] or 1)) else None


def _unite(parts: list[Writer]) -> Writer:
    """Of frames that two parts hold those of the later one count."""
    limit = None
    for part in reversed(parts):
        if limit is not None:
            part.frames = [frame for frame in part.frames if frame.seq <= limit]
        if part.frames and "before" in part.identity:
            limit = part.identity["before"]["seq"]
    out = parts[0]
    for part in parts:
        held = out.held() if part is not out else dict.fromkeys(("points", "texts", "dropped", "log_points"), 0)
        for key, said in part.identity.get("before", {}).items():
            if key != "seq":
                out.missing[key] = max(out.missing.get(key, 0), said - held[key])
        if part is out:
            continue
        out.frames += part.frames
        out.levels |= part.levels
        if part.frames:
            out.last_seq, out.positions = part.last_seq, part.positions
    return out


def _levels(database: sqlite3.Connection) -> list[tuple[Any, ...]]:
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name='levels'").fetchone():
        return []
    return database.execute(
        "SELECT series, level, first_seq, levels.data FROM levels JOIN segments USING (first_seq, last_seq)"
    ).fetchall()


if __name__ == "__main__":
    found = read_run(Path(sys.argv[1]))
    print(found.identity["project"], found.identity["id"], found.config())
    for name in found.metrics():
        values = [row.value for row in found.rows(name)]
        print(name, len(values), "points, last", values[-1])
