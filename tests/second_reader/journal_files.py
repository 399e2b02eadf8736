# SPDX-License-Identifier: MIT
"""The journal of a writer that was killed, by docs/formats/ring.md: definitions, rings and spill file as frames after
those of its database."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cbor
from bytes_in import Bytes, crc32c, crc32c_words, signed
from frame import Block, Event, Frame, read_frame

HEADER_BYTES = 4096
ANCHORS, ANCHORS_AT = 16, 200
LOSSES, LOSSES_AT = 96, 640
VALUES, EVENT, PAD = 1, 2, 3
TEXT, END = 3, 6  # of events
TEXTS = 0xFFFFFFFF  # in the place of a series: what was lost are texts
HAS_STEP = 1 << 20
CENTURY_NS = 3.2e18


@dataclass
class Definitions:
    identity: dict[str, Any] = field(default_factory=dict)
    names: dict[int, tuple[str, int]] = field(default_factory=dict)
    end: tuple[int, int, dict[str, Any]] | None = None  # time in us, texts accepted in all, the end record


def read_definitions(data: bytes) -> Definitions:
    if data[:8] != b"TRKJDEF1":
        raise ValueError("not a definitions file of version 1")
    out = Definitions()
    rest = Bytes(data[8:])
    while len(rest.data) - rest.at >= 8:
        length, crc = rest.uint(4), rest.uint(4)
        if length == 0 or length > len(rest.data) - rest.at:
            break  # cut: never used
        body = rest.take(length)
        if crc32c(body) != crc:
            break
        if body[0] == 1:
            out.identity = cbor.decode(body[1:])
        elif body[0] == 2:
            out.names[int.from_bytes(body[1:5], "little")] = (body[6:].decode(), body[5])
        elif body[0] == 3:
            texts = int.from_bytes(body[9:17], "little")
            out.end = (signed(int.from_bytes(body[1:9], "little")), texts, cbor.decode(body[17:]))
    return out


@dataclass
class Record:
    tick: int
    step: int | None
    values: list[tuple[int, int]]  # series id, bits
    event: tuple[int, bytes] | None


class Ring:
    def __init__(self, data: bytes, writer: str) -> None:
        head = Bytes(data[:HEADER_BYTES])
        if head.take(8) != b"TRKJRING" or head.uint(4) != 1:
            raise ValueError("not a ring of version 1")
        head.uint(4)
        self.nonce, size = head.uint(8), head.uint(8)
        if head.take(16).hex() != writer or len(data) != HEADER_BYTES + size:
            raise ValueError("not a ring of this journal")
        self.rate = struct.unpack_from("<d", data, 48)[0]
        self.tail = int.from_bytes(data[64:72], "little")
        self.data = data[HEADER_BYTES:]
        count = int.from_bytes(data[192:200], "little")
        slots = [struct.unpack_from("<Qqq", data, ANCHORS_AT + 24 * i) for i in range(min(count, ANCHORS))]
        # In the second lap the slot that comes next may be half written.
        self.anchors = [slot for i, slot in enumerate(slots) if count < ANCHORS or i != count % ANCHORS]
        self.losses = [struct.unpack_from("<QQ", data, LOSSES_AT + 16 * i) for i in range(LOSSES)]

    def word(self, position: int) -> int:
        at = position % len(self.data)
        return int.from_bytes(self.data[at : at + 8], "little")

    def records(self, position: int) -> list[Record]:
        out = []
        while position < self.tail:
            left = len(self.data) - position % len(self.data)
            word = self.word(position)
            head, crc = word >> 32, word & 0xFFFFFFFF
            kind, count = head >> 16 & 15, head & 0xFFFF
            size = 8
            if kind == VALUES:
                size = 24 + 16 * count
            elif kind == EVENT:
                size = 32 + ((self.word(position + 24) >> 32) + 7) // 8 * 8
            words = [self.word(position + at) for at in range(8, size, 8)] if size <= left else []
            if size > left or crc32c_words([self.nonce, position ^ head << 32, *words]) != crc:
                raise ValueError(f"the record at {position} does not verify")
            if kind == PAD:
                position += left
                continue
            out.append(self._record(position, head, count if kind == VALUES else -1))
            position += size
        return out

    def _record(self, position: int, head: int, count: int) -> Record:
        step = signed(self.word(position + 8)) if head & HAS_STEP else None
        record = Record(self.word(position + 16), step, [], None)
        if count >= 0:
            for i in range(count):
                at = position + 24 + 16 * i
                record.values.append((self.word(at + 8) & 0xFFFFFFFF, self.word(at)))
        else:
            word, at = self.word(position + 24), position % len(self.data) + 32
            record.event = (word & 0xFF, self.data[at : at + (word >> 32)])
        return record


def wall_us(tick: int, anchors: list[tuple[int, int, int]], rate: float) -> int:
    """`anchors` by tick, each tick, monotonic and real time in ns."""
    later = [anchor for anchor in anchors if anchor[0] > tick]
    before = [anchor for anchor in anchors if anchor[0] <= tick]
    base = before[-1] if before else anchors[0]
    ns_a_tick = 1.0 / rate
    if before and later:
        ns_a_tick = float(later[0][1] - base[1]) / float(later[0][0] - base[0])
    since = min(max(float(tick - base[0]) * ns_a_tick, -CENTURY_NS), CENTURY_NS)
    wall = _divided(base[2]) + _divided(int(since))
    return min(wall, _divided(later[0][2])) if before and later and later[0][2] >= base[2] else wall


def _divided(ns: int) -> int:
    """By 1000, towards zero."""
    return ns // 1000 if ns >= 0 else -(-ns // 1000)


def _spilled(folder: Path, writer: str, last_seq: int) -> list[tuple[Frame, dict[int, int]]]:
    path = folder / "spill"
    rest = Bytes(path.read_bytes() if path.exists() else b"")
    out = []
    while len(rest.data) - rest.at >= 16:
        magic, size, crc = rest.take(4), rest.uint(4), rest.uint(4)
        rest.uint(4)
        if magic != b"TJS1" or size > len(rest.data) - rest.at:
            break
        body = rest.take(size)
        if crc32c(bytes.fromhex(writer)[:8] + body) != crc:
            break
        record = Bytes(body)
        seq = record.uint(8)
        positions = {record.uint(8): record.uint(8) for _ in range(record.uint(4))}
        if seq > last_seq:
            out.append((read_frame(body[record.at :]), positions))
    return out


def _frame_of(rings: list[Ring], definitions: Definitions, positions: dict[int, int], seq: int) -> Frame:
    """All records of the rings in one frame: each a block of one row, in the order of their ticks."""
    frame = Frame(definitions.identity["writer"], seq, dict(definitions.names))
    anchors = sorted(anchor for ring in rings for anchor in ring.anchors if anchor[0])
    found = [record for ring in rings for record in ring.records(positions.get(ring.nonce, 0))]
    for order, record in enumerate(sorted(found, key=lambda record: record.tick)):
        time_us = wall_us(record.tick, anchors, rings[-1].rate)
        if record.event:
            kind, payload = record.event
            frame.events.append(Event(kind, record.step, time_us, cbor.decode(payload), seq))
            continue
        values = {series: (definitions.names[series][1], [bits]) for series, bits in record.values}
        steps = None if record.step is None else [record.step]
        frame.blocks.append(Block(1, steps, [time_us], values, [order]))
    for ring in rings:
        for i, (key, count) in enumerate(ring.losses):
            new = count - positions.get(ring.nonce | (i + 1), 0)
            if key and new:
                frame.losses.append((key >> 8, key & 0xFF, new))
    return frame


def _end_of(definitions: Definitions, stored: list[Frame], seq: int) -> list[Frame]:
    """What finish() has said, where no frame has it, and the texts that are in none of them."""
    if definitions.end is None or any(event.kind == END for frame in stored for event in frame.events):
        return []
    time_us, texts, record = definitions.end
    frame = Frame(definitions.identity["writer"], seq)
    frame.events.append(Event(END, None, time_us, record, seq))
    texts -= sum(event.kind == TEXT for frame in stored for event in frame.events)
    texts -= sum(
        n for frame in stored for series, reason, n in frame.losses if series == TEXTS and reason in (5, 7, 10)
    )
    if texts > 0:
        frame.losses.append((TEXTS, 5, texts))
    return [frame]


def read_journal(folder: Path, positions: dict[int, int], last_seq: int, stored: list[Frame]) -> list[Frame]:
    """What a journal holds after a database (or .frames file) that has the frames `stored`, up to `last_seq`, and the
    rings up to `positions`."""
    definitions = read_definitions((folder / "defs").read_bytes())
    positions = dict(positions)
    frames = []
    for frame, reached in _spilled(folder, definitions.identity["writer"], last_seq):
        frames.append(frame)
        positions.update(reached)
    paths = sorted(path for path in folder.glob("ring-*") if path.stat().st_size)
    rings = [Ring(path.read_bytes(), definitions.identity["writer"]) for path in paths]
    if rings:
        frames.append(_frame_of(rings, definitions, positions, last_seq + len(frames) + 1))
    return frames + _end_of(definitions, stored + frames, last_seq + len(frames) + 1)
