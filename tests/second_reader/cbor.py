# SPDX-License-Identifier: MIT
"""CBOR as docs/formats/records.md says: no tags, no byte strings, definite lengths."""

from __future__ import annotations

import struct
from typing import Any


def decode(data: bytes) -> Any:
    value, end = _item(data, 0)
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes too many")
    return value


def _argument(data: bytes, at: int) -> tuple[int, int]:
    low = data[at] & 31
    if low < 24:
        return low, at + 1
    width = {24: 1, 25: 2, 26: 4, 27: 8}[low]
    return int.from_bytes(data[at + 1 : at + 1 + width], "big"), at + 1 + width


def _item(data: bytes, at: int) -> tuple[Any, int]:
    major, low = data[at] >> 5, data[at] & 31
    if major == 7:
        if low in (20, 21, 22):
            return {20: False, 21: True, 22: None}[low], at + 1
        width, form = {25: (2, ">e"), 26: (4, ">f"), 27: (8, ">d")}[low]
        return struct.unpack(form, data[at + 1 : at + 1 + width])[0], at + 1 + width
    count, at = _argument(data, at)
    if major == 0:
        return count, at
    if major == 1:
        return -1 - count, at
    if major == 3:
        return data[at : at + count].decode(), at + count
    if major == 4:
        items = []
        for _ in range(count):
            item, at = _item(data, at)
            items.append(item)
        return items, at
    if major == 5:
        entries = {}
        for _ in range(count):
            key, at = _item(data, at)
            entries[key], at = _item(data, at)
        return entries, at
    raise ValueError(f"major type {major}")
