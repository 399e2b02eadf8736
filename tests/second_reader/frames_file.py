# SPDX-License-Identifier: MIT
"""A <writer>.frames file by docs/formats/frames-file.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import cbor
from bytes_in import Bytes, crc32c
from frame import Frame, read_frame

IDENTITY, FRAME, ALIVE, RETIRED, SKIPPED = 1, 2, 3, 4, 128


@dataclass
class FramesFile:
    writer: str
    identity: dict[str, Any] = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=list)
    positions: dict[int, int] = field(default_factory=dict)
    heartbeat_us: int = 0


def read_frames_file(data: bytes) -> FramesFile:
    """Sound records up to the first that is none: at the end of the file that one is not written yet."""
    head = Bytes(data)
    if head.take(8) != b"TRKFLOG1":
        raise ValueError("not a frames file of version 1")
    out = FramesFile(head.take(16).hex())
    head.uint(4)
    if crc32c(data[:28]) != head.uint(4):
        raise ValueError("CRC of the header")
    while len(data) - head.at >= 20:
        offset = head.at
        magic, kind, size, body_crc, crc = head.take(4), head.uint(4), head.uint(4), head.uint(4), head.uint(4)
        own = bytes.fromhex(out.writer) + offset.to_bytes(8, "little") + data[offset : offset + 16]
        if magic != b"TFL1" or crc32c(own) != crc or size > len(data) - head.at:
            break
        body = head.take(size)
        if crc32c(body) != body_crc:
            break
        _add(kind, body, out)
    return out


def _add(kind: int, body: bytes, out: FramesFile) -> None:
    record = Bytes(body)
    if kind == IDENTITY:
        out.identity = cbor.decode(body)
    elif kind == FRAME:
        positions = {record.uint(8): record.uint(8) for _ in range(record.uint(4))}
        frame = read_frame(body[record.at :])
        if not out.frames or frame.seq > out.frames[-1].seq:  # else it is there twice
            out.frames.append(frame)
            out.positions.update(positions)
    elif kind == ALIVE:
        out.heartbeat_us = record.uint(8)
    elif kind == RETIRED:
        while record.more():
            out.positions.pop(record.uint(8), None)
    elif kind < SKIPPED:
        raise ValueError(f"record of kind {kind}: a newer version")
