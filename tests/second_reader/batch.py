# SPDX-License-Identifier: MIT
"""A batch as docs/formats/http.md describes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cbor
from bytes_in import Bytes, crc32c
from frame import Frame, read_frame

FRAME, SEGMENT = 1, 2


@dataclass
class Unit:
    kind: int
    prev: int
    first: int
    last: int
    lost: int
    data: bytes

    def frame(self) -> Frame:
        return read_frame(self.data)


def read_batch(data: bytes) -> tuple[dict[str, Any], list[Unit]]:
    """Its head and its units."""
    header = Bytes(data)
    if header.take(4) != b"TBAT" or header.uint(2) != 1 or header.uint(2) != 0:
        raise ValueError("not a batch of version 1")
    if header.uint(4) != len(data):
        raise ValueError("size")
    if crc32c(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise ValueError("CRC")
    rest = Bytes(data[header.at : -4])
    head = cbor.decode(rest.sized())
    units = []
    for _ in range(rest.varint()):
        kind = rest.uint(1)
        prev, first, last, lost = (rest.varint() for _ in range(4))
        units.append(Unit(kind, prev, first, last, lost, rest.sized()))
    if rest.more():
        raise ValueError("bytes after the units")
    return head, units
