# SPDX-License-Identifier: MIT
"""Columns of frames and segments by docs/formats/frame.md and segment.md: raw bits of each value, unsigned."""

from __future__ import annotations

import ctypes
import ctypes.util
import struct

from bytes_in import Bytes, signed

MINI_ROWS = 512
FLOAT64, INT64, BOOL = 1, 5, 6
WIDTHS = {1: 8, 2: 4, 3: 2, 4: 2, 5: 8, 6: 1}
_ORDERS = {4: 0, 5: 1, 7: 2, 8: 3}  # of the differences that a packed column holds


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
    elif encoding in _ORDERS:
        out = _packed(column, rows, value_type, _ORDERS[encoding])
    elif encoding == 6:
        plain = zstd(column.take(len(data) - 1), rows * width)
        out = [int.from_bytes(plain[i::rows], "little") for i in range(rows)]
    elif encoding == 9 and value_type == FLOAT64:
        out = _decimals(column, rows)
    else:
        raise ValueError(f"encoding {encoding}")
    if column.more():
        raise ValueError("bytes after the column")
    return out


def _packed(column: Bytes, rows: int, value_type: int, order: int) -> list[int]:
    bits = 8 * WIDTHS[value_type]
    mask = (1 << (64 if bits == 64 else 32)) - 1
    shift, flags = column.uint(1), column.uint(1)
    if shift >= bits or flags & ~2:
        raise ValueError("head of a packed column")
    starts = [(column.uint(1), column.uint(bits // 8 if i == 0 else 8)) for i in range(order)]
    base_bytes = column.uint(1)
    lowest_base = column.uint(8 if order else bits // 8)
    one_width = column.uint(1) if flags else 0
    minis = []
    for at in range(0, rows, MINI_ROWS):
        keys = [lowest + column.uint(size) for size, lowest in starts]
        base = lowest_base + column.uint(base_bytes)
        width = column.uint(1)
        exceptions = (column.uint(1), one_width or column.uint(1)) if flags else (0, 0)
        minis.append((min(MINI_ROWS, rows - at), keys, base, width, exceptions))
    out: list[int] = []
    for count, starting, base, width, exceptions in minis:
        keys = [base + number for number in _numbers(column, max(0, count - order), width, *exceptions)]
        for start in reversed(starting):
            total, sums = start, [start]
            for key in keys:
                total = (total + key) & mask
                sums.append(total)
            keys = sums
        out += [_value(key & mask, bits - shift, value_type) << shift for key in keys[:count]]
    return out


def _packed_numbers(column: Bytes, count: int, width: int) -> list[int]:
    body = int.from_bytes(column.take((count * width + 7) // 8), "little")
    return [body >> (i * width) & ((1 << width) - 1) for i in range(count)]


def _numbers(column: Bytes, count: int, width: int, exceptions: int, exception_width: int) -> list[int]:
    numbers = _packed_numbers(column, count, width)
    for exception in _packed_numbers(column, exceptions, exception_width):
        zigzag = exception >> 9
        numbers[exception & 511] += ((zigzag >> 1) ^ -(zigzag & 1)) << width
    return numbers


def _decimals(column: Bytes, rows: int) -> list[int]:
    exponent, factor, exceptions = column.uint(1), column.uint(1), column.uint(4)
    if exponent > 15 or factor > 3:
        raise ValueError("powers of a decimal column")
    indexes = [column.uint(4) for _ in range(exceptions)]
    values = [column.uint(8) for _ in range(exceptions)]
    wholes = [signed(whole) for whole in read_column(column.take(len(column.data) - column.at), rows, INT64)]
    if indexes != sorted(set(indexes)) or any(index >= rows for index in indexes):
        raise ValueError("exceptions of a decimal column")
    if any(not -(1 << 51) <= whole < 1 << 51 for whole in wholes):
        raise ValueError("whole numbers of a decimal column")
    values_of_wholes = [whole / 10.0**exponent * 10.0**factor for whole in wholes]
    out = [struct.unpack("<Q", struct.pack("<d", value))[0] for value in values_of_wholes]
    for index, value in zip(indexes, values, strict=True):
        out[index] = value
    return out


def _value(key: int, bits: int, value_type: int) -> int:
    """The bits of the value whose key this is."""
    if value_type == BOOL:
        return key
    top = 1 << (bits - 1)
    if value_type == INT64 or key & top:
        return key ^ top
    return key ^ ((1 << bits) - 1)
