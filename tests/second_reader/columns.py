# SPDX-License-Identifier: MIT
"""Columns of frames and segments by docs/formats/frame.md and segment.md: raw bits of each value, unsigned."""

from __future__ import annotations

import ctypes
import ctypes.util

from bytes_in import Bytes

MINI_ROWS = 512
INT64, BOOL = 5, 6
WIDTHS = {1: 8, 2: 4, 3: 2, 4: 2, 5: 8, 6: 1}


def zstd(data: bytes, size: int) -> bytes:
    """The `size` bytes that one zstd frame holds: the one thing that no document of ours describes."""
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    out = ctypes.create_string_buffer(max(1, size))
    if library.ZSTD_decompress(out, size, data, len(data)) != size:
        raise ValueError("zstd")
    return out.raw[:size]


def read_column(data: bytes, rows: int, value_type: int) -> list[int]:
    """`value_type`: INT64 for steps, times and ordinals."""
    column = Bytes(data)
    width = WIDTHS[value_type]
    encoding = column.uint(1)
    mask = (1 << (8 * width)) - 1
    if encoding == 0:
        out = [column.uint(width) for _ in range(rows)]
    elif encoding == 1:
        out = [column.uint(width)] * rows
    elif encoding == 2:
        first, stride = column.uint(8), column.uint(8)
        out = [(first + i * stride) & mask for i in range(rows)]
    elif encoding == 3:
        out, value = [], 0
        for _ in range(rows):
            value = (value + column.zigzag()) & mask
            out.append(value)
    elif encoding in (4, 5):
        out = _packed(column, rows, value_type, deltas=encoding == 5)
    elif encoding == 6:
        plain = zstd(column.take(len(data) - 1), rows * width)
        out = [int.from_bytes(plain[i::rows], "little") for i in range(rows)]
    else:
        raise ValueError(f"encoding {encoding}")
    if column.more():
        raise ValueError("bytes after the column")
    return out


def _packed(column: Bytes, rows: int, value_type: int, *, deltas: bool) -> list[int]:
    bits = 8 * WIDTHS[value_type]
    mask = (1 << (64 if bits == 64 else 32)) - 1
    shift, flags = column.uint(1), column.uint(1)
    if shift >= bits or flags > 1:
        raise ValueError("head of a packed column")
    first_bytes = column.uint(1) if deltas else 0
    lowest_first = column.uint(bits // 8) if deltas else 0
    base_bytes = column.uint(1)
    lowest_base = column.uint(8 if deltas else bits // 8)
    exception_bytes = column.uint(1) if flags else 0
    minis = []
    for at in range(0, rows, MINI_ROWS):
        first = lowest_first + column.uint(first_bytes)
        base = lowest_base + column.uint(base_bytes)
        width = column.uint(1)
        exceptions = column.uint(1) if flags else 0
        minis.append((min(MINI_ROWS, rows - at), first, base, width, exceptions))
    out: list[int] = []
    for count, first, base, width, exceptions in minis:
        numbers = _numbers(column, count - deltas, width, exceptions, exception_bytes)
        if deltas:
            keys = [first & mask]
            for number in numbers:
                keys.append((keys[-1] + base + number) & mask)
        else:
            keys = [(base + number) & mask for number in numbers]
        out += [_value(key, bits - shift, value_type) << shift for key in keys]
    return out


def _numbers(column: Bytes, count: int, width: int, exceptions: int, exception_bytes: int) -> list[int]:
    body = int.from_bytes(column.take((count * width + 7) // 8), "little")
    numbers = [body >> (i * width) & ((1 << width) - 1) for i in range(count)]
    indexes = [column.uint(2) for _ in range(exceptions)]
    for index in indexes:
        zigzag = column.uint(exception_bytes)
        numbers[index] += ((zigzag >> 1) ^ -(zigzag & 1)) << width
    return numbers


def _value(key: int, bits: int, value_type: int) -> int:
    """The bits of the value whose key this is."""
    if value_type == BOOL:
        return key
    top = 1 << (bits - 1)
    if value_type == INT64 or key & top:
        return key ^ top
    return key ^ ((1 << bits) - 1)
