# SPDX-License-Identifier: MIT
"""A segment as docs/formats/segment.md describes it, read without any code of tracker."""

from __future__ import annotations

import struct

from bytes_in import Bytes, crc32c, signed
from columns import INT64, WIDTHS, read_column, zstd
from frame import Block, Frame, read_frame


class Parts:
    """Hands out the parts in the order in which the directory names them."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self.at = at

    def next(self, directory: Bytes) -> bytes:
        size = directory.varint()
        if size == 0:
            return b""
        crc = directory.uint(4)
        part = self.data[self.at : self.at + size]
        self.at += size
        if len(part) != size or crc32c(part) != crc:
            raise ValueError("CRC of a part")
        return part


def read_segment(data: bytes) -> Frame:
    """What its frames held, as one frame with an order column in each block; its seq is the last one."""
    head = Bytes(data)
    if head.take(4) != b"TSEG" or head.uint(2) != 1 or head.uint(2) != 0:
        raise ValueError("not a segment of version 1")
    if head.uint(4) != len(data):
        raise ValueError("size")
    writer, first_seq, last_seq = head.take(16).hex(), head.uint(8), head.uint(8)
    directory_bytes, crc = head.uint(4), head.uint(4)
    if crc32c(data[:48] + data[52 : 52 + directory_bytes]) != crc:
        raise ValueError("CRC")
    directory = Bytes(head.take(directory_bytes))
    parts = Parts(data, head.at)
    frames = directory.varint()
    first_us = directory.zigzag()
    directory.varint()
    log = parts.next(directory)
    numbers, rows = _frames(parts.next(directory), parts.next(directory), frames, first_seq, last_seq)
    out = _log(log, writer, numbers)
    out.blocks = [_block(directory, parts, first_us) for _ in range(directory.varint())]
    if directory.more() or parts.at != len(data):
        raise ValueError("bytes that nothing names")
    ordinals = sorted(ordinal for block in out.blocks for ordinal in block.order or ())
    if ordinals != list(range(sum(rows))):
        raise ValueError("rows of the frames")
    return out


def _frames(numbers: bytes, rows: bytes, frames: int, first_seq: int, last_seq: int) -> tuple[list[int], list[int]]:
    """The numbers of the frames and their rows."""
    if not 1 <= frames <= min(1 << 20, last_seq - first_seq + 1):
        raise ValueError("number of frames")
    gaps = frames <= last_seq - first_seq
    if gaps != bool(numbers):
        raise ValueError("numbers of the frames")
    found = _ints(numbers, frames) if gaps else list(range(first_seq, last_seq + 1))
    if sorted(set(found)) != found or (found[0], found[-1]) != (first_seq, last_seq):
        raise ValueError("numbers of the frames")
    return found, _ints(rows, frames)


def _log(part: bytes, writer: str, frames: list[int]) -> Frame:
    first_seq, last_seq = frames[0], frames[-1]
    if not part:
        return Frame(writer, last_seq)
    log = Bytes(part)
    compressed = log.uint(1)
    size = log.varint() if compressed else len(part) - 1
    plain = log.take(len(part) - log.at)
    plain = zstd(plain, size) if compressed else plain
    frame_bytes = int.from_bytes(plain[8:12], "little")
    frame = read_frame(plain[:frame_bytes])
    if frame.seq != last_seq or frame.blocks:
        raise ValueError("log")
    numbers = Bytes(plain[frame_bytes:])
    came_with = []
    for count in (frame.definitions, len(frame.events), len(frame.losses)):
        seq = first_seq
        for _ in range(count):
            seq += numbers.varint()
            came_with.append(seq)
    if numbers.more() or not set(came_with) <= set(frames):
        raise ValueError("frames of the entries")
    for event, seq in zip(frame.events, came_with[frame.definitions :], strict=False):
        event.seq = seq
    return frame


def _block(directory: Bytes, parts: Parts, first_us: int) -> Block:
    rows, flags = directory.varint(), directory.uint(1)
    least_us = first_us + directory.varint()
    greatest_us = least_us + directory.varint()
    steps = None
    if flags & 1:
        least = directory.zigzag()
        greatest = signed(least + directory.varint())
        steps = _ints(parts.next(directory), rows)
        if (steps[0], steps[-1]) != (least, greatest) or sorted(steps) != steps:
            raise ValueError("range of steps")
    times = _ints(parts.next(directory), rows)
    if (min(times), max(times)) != (least_us, greatest_us):
        raise ValueError("range of times")
    order = _ints(parts.next(directory), rows) if flags & 4 else list(range(rows))
    values = {}
    number = 0
    for _ in range(directory.varint()):
        number += directory.varint()
        value_type = directory.uint(1)
        summary = _summary(directory, rows, value_type)
        bits = read_column(parts.next(directory), rows, value_type)
        _check(summary, bits)
        values[number] = (value_type, bits)
    return Block(rows, steps, times, values, order)


def _ints(part: bytes, rows: int) -> list[int]:
    return [signed(v) for v in read_column(part, rows, INT64)]


def _summary(directory: Bytes, rows: int, value_type: int) -> dict[str, float]:
    def number() -> int:
        return directory.zigzag() & (1 << 64) - 1 if value_type == INT64 else directory.uint(WIDTHS[value_type])

    flags = directory.uint(1)
    not_finite = sum(directory.varint() for _ in range(3)) if flags & 1 else 0
    first = number()
    out: dict[str, float] = {"first": first, "last": first if flags & 2 else number(), "finite": rows - not_finite}
    if rows > not_finite:
        if not flags & 2:
            out["least"], out["greatest"] = number(), number()
        out["sum"] = struct.unpack("<d", directory.take(8))[0]
    return out


def _check(summary: dict[str, float], bits: list[int]) -> None:
    if (bits[0], bits[-1]) != (summary["first"], summary["last"]):
        raise ValueError("first or last value of a summary")
    if "least" in summary and not {summary["least"], summary["greatest"]} <= set(bits):
        raise ValueError("least or greatest value of a summary")
