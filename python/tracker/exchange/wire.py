# SPDX-License-Identifier: MIT
"""The wire format of protocol buffers, field by field."""

from __future__ import annotations

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_double = struct.Struct("<d")
_MASK = (1 << 64) - 1


def _varint(data: bytes, at: int) -> tuple[int, int]:
    out = shift = 0
    while shift < 70:
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        out |= (byte & 0x7F) << shift
        if byte < 0x80:
            return out & _MASK, at
        shift += 7
    raise ValueError("a varint does not end")


def fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """(number, wire type, value): an int of a varint, raw bytes of everything else. ValueError: no message."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, at = _varint(data, at)
            yield number, kind, value
            continue
        if kind == BYTES:
            size, at = _varint(data, at)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise ValueError(f"wire type {kind}")
        if number == 0 or size > len(data) - at:
            raise ValueError("a field runs past its message")
        yield number, kind, data[at : at + size]
        at += size


def messages(data: bytes, number: int) -> Iterator[bytes]:
    """The fields `number` that hold bytes: messages, texts."""
    for found, _, value in fields(data):
        if found == number and isinstance(value, bytes):
            yield value


def text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def signed(value: int) -> int:
    """An int64 out of a varint."""
    return value - (1 << 64) if value >> 63 else value


def zigzag(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


def double(data: bytes) -> float:
    return float(_double.unpack(data)[0])
