# SPDX-License-Identifier: MIT
"""Run files of W&B as its SDK writes them: LevelDB's log of protobuf records."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BLOCK_BYTES, PIECE_BYTES = 32768, 7
Row = tuple[int, float, Mapping[str, Any]]  # step, time, values


def write_start(
    folder: Path, id: str, started: int, rows: list[Row], config: Mapping[str, Any] | None = None, exited: bool = True
) -> Path:
    """The file of one start of a run."""
    path = folder / f"run-{id}.wandb"
    folder.mkdir(parents=True, exist_ok=True)
    settings = b"".join(_bytes(4, _bytes(1, _item(key, value))) for key, value in (config or {}).items())
    records = [_bytes(17, _text(1, id) + _text(3, "proj") + _bytes(17, _number(1, started)) + settings)]
    records += [_history(*row) for row in rows]
    path.write_bytes(_log(records + ([_bytes(18, _number(1, 0))] if exited else [])))
    return path


def _history(step: int, time: float, values: Mapping[str, Any]) -> bytes:
    items = {**values, "_timestamp": time, "_step": step, "_runtime": 1.0}
    return _bytes(
        2, b"".join(_bytes(1, _item(key, value)) for key, value in items.items()) + _bytes(2, _number(1, step))
    )


def _item(key: str, value: Any) -> bytes:
    return _text(2, key) + _text(16, json.dumps(value))


def _varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _text(field: int, text: str) -> bytes:
    return _bytes(field, text.encode())


def _log(records: list[bytes]) -> bytes:
    out = bytearray(struct.pack("<4sHB", b":W&B", 0xBEE1, 0))
    for record in records:
        rest, is_first = record, True
        while is_first or rest:
            left = BLOCK_BYTES - len(out) % BLOCK_BYTES
            if left < PIECE_BYTES:
                out += b"\0" * left
                continue
            piece, rest = rest[: left - PIECE_BYTES], rest[left - PIECE_BYTES :]
            kind = (1 if not rest else 2) if is_first else (4 if not rest else 3)
            out += struct.pack("<IHB", zlib.crc32(piece, zlib.crc32(bytes([kind]))), len(piece), kind) + piece
            is_first = False
    return bytes(out)
