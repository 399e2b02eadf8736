# SPDX-License-Identifier: MIT
"""A frame as docs/formats/frame.md describes it, read without any code of tracker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import cbor
from bytes_in import Bytes, crc32c, signed
from columns import INT64, read_column


@dataclass
class Block:
    rows: int
    steps: list[int] | None
    times_us: list[int]
    values: dict[int, tuple[int, list[int]]]  # series id: value type, raw bits
    order: list[int] | None = None


@dataclass
class Event:
    kind: int
    step: int | None
    time_us: int
    payload: Any
    seq: int = 0  # of the frame that it came with


@dataclass
class Frame:
    writer: str
    seq: int
    names: dict[int, tuple[str, int]] = field(default_factory=dict)
    definitions: int = 0  # a series may be defined again
    blocks: list[Block] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    losses: list[tuple[int, int, int]] = field(default_factory=list)


def read_frame(data: bytes) -> Frame:
    head = Bytes(data)
    if head.take(4) != b"TFRM" or head.uint(2) != 1 or head.uint(2) != 0:
        raise ValueError("not a frame of version 1")
    if head.uint(4) != len(data):
        raise ValueError("size")
    if crc32c(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise ValueError("CRC")
    frame = Frame(head.take(16).hex(), head.uint(8))
    body = Bytes(data[head.at : -4])
    while body.more():
        kind = body.uint(1)
        section = Bytes(body.take(body.uint(4)))
        if kind == 1:
            definitions = read_definitions(section)
            frame.names.update(definitions)
            frame.definitions += len(definitions)
        elif kind == 2:
            frame.blocks.append(_block(section))
        elif kind == 3:
            frame.events += read_events(section)
            for event in frame.events:
                event.seq = frame.seq
        elif kind == 4:
            frame.losses += read_losses(section)
        elif kind < 128:
            raise ValueError(f"section of kind {kind}: a newer version")
    return frame


def read_definitions(section: Bytes) -> list[tuple[int, tuple[str, int]]]:
    out = []
    for _ in range(section.varint()):
        series, value_type = section.varint(), section.uint(1)
        out.append((series, (section.sized().decode(), value_type)))
    return out


def read_events(section: Bytes) -> list[Event]:
    out = []
    for _ in range(section.varint()):
        kind, flags = section.uint(1), section.uint(1)
        step = section.zigzag() if flags & 1 else None
        time_us = section.zigzag()
        out.append(Event(kind, step, time_us, cbor.decode(section.sized())))
    return out


def read_losses(section: Bytes) -> list[tuple[int, int, int]]:
    return [(section.varint(), section.uint(1), section.varint()) for _ in range(section.varint())]


def _block(section: Bytes) -> Block:
    rows, flags = section.varint(), section.uint(1)
    series = [(section.varint(), section.uint(1)) for _ in range(section.varint())]
    has_steps, has_order = bool(flags & 1), bool(flags & 2)
    lengths = [section.varint() for _ in range(len(series) + 1 + has_steps + has_order)]
    columns = [section.take(length) for length in lengths]
    if section.more():
        raise ValueError("bytes after the columns")
    steps = [signed(v) for v in read_column(columns.pop(0), rows, INT64)] if has_steps else None
    times = [signed(v) for v in read_column(columns.pop(0), rows, INT64)]
    order = [signed(v) for v in read_column(columns.pop(0), rows, INT64)] if has_order else None
    values = {
        number: (value_type, read_column(column, rows, value_type))
        for (number, value_type), column in zip(series, columns, strict=True)
    }
    return Block(rows, steps, times, values, order)
