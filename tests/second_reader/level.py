# SPDX-License-Identifier: MIT
"""A level as docs/formats/level.md describes it, read without any code of tracker."""

from __future__ import annotations

from dataclasses import dataclass, field

from bytes_in import Bytes, crc32c, signed
from columns import INT64, read_column

FLOAT64 = 1


@dataclass
class Cells:
    """Columns of one entry a cell; values are raw bits."""

    over_times: bool
    value_type: int
    shift: int
    rows: int
    x_first: int  # steps, or times in µs
    x_last: int
    x0: list[int] = field(default_factory=list)
    x1: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    least: list[int] = field(default_factory=list)
    greatest: list[int] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    not_finite: list[list[int]] = field(default_factory=list)  # NaN, +inf, -inf; empty: all are finite


def read_level(data: bytes) -> Cells:
    if crc32c(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise ValueError("CRC")
    level = Bytes(data[:-4])
    version = level.uint(1)
    if version not in (1, 2):
        raise ValueError("not a level of version 1 or 2")
    value_type, shift, flags, rows = level.uint(1), level.uint(1), level.uint(1), level.varint()
    first = level.zigzag()
    out = Cells(version == 2, value_type, shift, rows, first, first + level.varint())
    stride = level.varint() if flags & 1 else 0
    cells = level.varint()
    if stride:
        _cells_of_stride(out, stride)
    else:
        out.x0, out.x1, out.counts = (_ints(level, cells) for _ in range(3))
    out.first, out.last, out.least, out.greatest = (read_column(level.sized(), cells, value_type) for _ in range(4))
    out.sums = read_column(level.sized(), cells, FLOAT64)
    if flags & 2:
        out.not_finite = [_ints(level, cells) for _ in range(3)]
    if level.more() or len(out.x0) != cells or sum(out.counts) != rows:
        raise ValueError("cells")
    return out


def _ints(level: Bytes, cells: int) -> list[int]:
    return [signed(value) for value in read_column(level.sized(), cells, INT64)]


def _cells_of_stride(out: Cells, stride: int) -> None:
    for row in range(out.rows):
        x = out.x_first + row * stride
        if out.x0 and x >> out.shift == out.x0[-1] >> out.shift:
            out.x1[-1] = x
            out.counts[-1] += 1
        else:
            out.x0.append(x)
            out.x1.append(x)
            out.counts.append(1)
