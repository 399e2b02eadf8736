# SPDX-License-Identifier: MIT
"""The records of a run file of W&B or SwanLab: a head of 7 bytes, then LevelDB's log: blocks of 32 KiB, pieces with
CRCs."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

HEAD = struct.Struct("<4sHB")
BLOCK_BYTES = 32768
PIECE = struct.Struct("<IHB")  # CRC-32 of type and bytes, length, type
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4
# Limit: bytes of a record of a run file of W&B or SwanLab. Beyond it: a problem; the rest of the file is left out.
RUN_FILE_RECORD_BYTES_MAX = 64 * 1024 * 1024


class LogKind(NamedTuple):
    """Whose file it is: what is in its head."""

    tool: str
    identity: bytes
    magic: int
    version: int


WANDB = LogKind("W&B", b":W&B", 0xBEE1, 0)
SWANLAB = LogKind("SwanLab", b":SWL", 0xE1D6, 2)


class DamagedError(ValueError):
    """The file ends within a record, or its bytes do not verify; the message says where."""


def check_head(file: BinaryIO, path: str, kind: LogKind) -> None:
    """DamagedError: no run file of that tool, or one of a version whose records are others."""
    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        raise DamagedError(f"{path} ends within its head")
    identity, magic, version = HEAD.unpack(head)
    if identity != kind.identity or magic != kind.magic:
        raise DamagedError(f"{path} is no run file of {kind.tool}")
    if version != kind.version:
        raise DamagedError(f"{path} is of version {version} of {kind.tool}'s files, and {kind.version} is read")


def records(file: BinaryIO, path: str, of: LogKind) -> Iterator[tuple[int, bytes]]:
    """Each record with the offset after it. DamagedError where the rest cannot be read; what came before is whole."""
    check_head(file, path, of)
    at = HEAD.size
    parts: list[bytes] = []
    held = 0
    while True:
        left = BLOCK_BYTES - at % BLOCK_BYTES
        if left < PIECE.size:
            file.read(left)
            at += left
            continue
        head = file.read(PIECE.size)
        if not head and not parts:
            return
        if len(head) < PIECE.size:
            raise DamagedError(f"{path} ends within the record at byte {at}")
        crc, size, kind = PIECE.unpack(head)
        if crc == 0 and size == 0 and kind == 0 and not parts:
            file.seek(at + left)  # room that was taken in advance
            at += left
            continue
        if size > left - PIECE.size or kind not in (FULL, FIRST, MIDDLE, LAST):
            raise DamagedError(f"{path}: the piece at byte {at} has no valid head")
        data = file.read(size)
        if len(data) < size:
            raise DamagedError(f"{path} ends within the record at byte {at}")
        if zlib.crc32(data, zlib.crc32(bytes([kind]))) != crc:
            raise DamagedError(f"{path}: the piece at byte {at} does not verify")
        if (kind in (FULL, FIRST)) != (not parts):
            raise DamagedError(f"{path}: the piece at byte {at} does not follow the one before")
        at += PIECE.size + size
        held += size
        if held > RUN_FILE_RECORD_BYTES_MAX:
            raise DamagedError(f"{path}: the record that ends at byte {at} has more than 64 MiB")
        parts.append(data)
        if kind in (FULL, LAST):
            yield at, b"".join(parts)
            parts, held = [], 0
