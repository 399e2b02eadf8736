# SPDX-License-Identifier: MIT
"""A run folder by docs/formats/store.md and database.md. A program: `run.py FOLDER` prints what it finds."""

from __future__ import annotations

import json
import sqlite3
import struct
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cbor
from frame import Event, Frame, read_frame
from segment import read_segment

REJECTED = 6


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


@dataclass
class Run:
    identity: dict[str, Any]
    writers: list[Writer] = field(default_factory=list)

    def metrics(self) -> list[str]:
        names = {name for w in self.writers for frame in w.frames for name, _ in frame.names.values()}
        return sorted(name for name in names if self.rows(name))

    def rows(self, metric: str) -> list[Row]:
        return [row for writer in self.writers for row in writer.rows(metric)]

    def config(self) -> dict[str, Any]:
        """Nested; the last one wins by time, then writer id, then as the writer said it."""
        events = [
            (event.time_us, writer.identity["writer"], i, event.payload)
            for writer in self.writers
            for i, event in enumerate(writer.events())
            if event.kind == 1
        ]
        config: dict[str, Any] = {}
        for _, _, _, payload in sorted(events, key=lambda entry: entry[:3]):
            _set(config, payload["key"], payload["value"])
        return config

    def dropped(self) -> int:
        return sum(
            count
            for writer in self.writers
            for frame in writer.frames
            for _, reason, count in frame.losses
            if reason != REJECTED
        )


def _set(config: dict[str, Any], path: str, value: Any) -> None:
    if not path:
        for key, item in value.items():
            if isinstance(item, dict) and item:
                _set(config.setdefault(key, {}), "", item)
            else:
                config[key] = item
        return
    *folders, last = path.split("/")
    for name in folders:
        if not isinstance(config.get(name), dict):
            config[name] = {}
        config = config[name]
    config[last] = value


def read_run(folder: Path) -> Run:
    run = Run(json.loads((folder / "run.json").read_text()))
    for path in folder.glob("*.db"):
        run.writers.append(read_writer(path))
    run.writers.sort(key=lambda w: (w.identity["attempt"], w.identity["started_us"], w.identity["writer"]))
    return run


def read_writer(path: Path) -> Writer:
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        assert database.execute("PRAGMA application_id").fetchone()[0] == 0x54524B31
        assert database.execute("PRAGMA user_version").fetchone()[0] == 1
        meta = dict(database.execute("SELECT key, value FROM meta"))
        log = [(seq, read_frame(data)) for seq, data in database.execute("SELECT seq, data FROM frames")]
        log += [(seq, read_segment(data)) for seq, data in database.execute("SELECT first_seq, data FROM segments")]
    finally:
        database.close()
    return Writer(
        cbor.decode(meta["identity"]), meta["last_seq"], [entry for _, entry in sorted(log, key=lambda entry: entry[0])]
    )


if __name__ == "__main__":
    found = read_run(Path(sys.argv[1]))
    print(found.identity["project"], found.identity["id"], found.config())
    for name in found.metrics():
        values = [row.value for row in found.rows(name)]
        print(name, len(values), "points, last", values[-1])
