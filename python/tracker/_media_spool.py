# SPDX-License-Identifier: MIT
"""A value of media that waits on the disk: one file with its bytes and with what is to be done with them, so that
another process can do it where this one is killed (docs/formats/store.md). It gets its name when it is whole.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tracker import _core

SPOOL_CHUNK_BYTES = 1 * 1024 * 1024
# What is said of a value in front of its bytes
SPOOL_DESCRIPTION_BYTES_MAX = 4 * 1024 * 1024
# A whole file: more than a value that is spooled can have
SPOOL_FILE_BYTES_MAX = 272 * 1024 * 1024
# Of all processes of a run, dead ones among them
SPOOL_FOLDER_BYTES_MAX = 4 * 1024 * 1024 * 1024
SPOOL_FOLDER_LOOK_MS = 10_000

_MAGIC = "tracker-spool"
_VERSION = 1
_HEAD_BYTES_MAX = 64


class DamagedError(ValueError):
    """The file is not what was written."""


class NewerError(ValueError):
    """The file is of a newer version."""


class Spooled:
    """Where the bytes of a value are. Behind keep() others find it there when this process is dead."""

    __slots__ = ("offset", "path", "sizes", "whole")

    def __init__(self, path: str, whole: str, offset: int, sizes: list[int]) -> None:
        self.path, self.whole, self.offset, self.sizes = path, whole, offset, sizes

    def keep(self) -> None:
        if self.offset:  # else it does not say what it is
            with contextlib.suppress(OSError):
                Path(self.path).rename(self.whole)
                self.path = self.whole

    def is_whole(self) -> bool:
        """Others find it there."""
        return self.path == self.whole

    def load(self) -> list[memoryview]:
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            return [memoryview(file.read(size)) for size in self.sizes]

    def remove(self) -> None:
        for each in {self.whole, self.path}:  # what a signal's handler raises may come between name and note
            with contextlib.suppress(OSError):
                Path(each).unlink()


def names(folder: str, writer: str) -> tuple[str, str]:
    """While it is written, and when it is whole."""
    number = secrets.token_hex(8)
    return f"{folder}/media/spool.tmp-{number}", f"{folder}/media/spool-{writer}-{number}"


def head_of(description: dict[str, Any], payload: Sequence[memoryview], end: float) -> bytes:
    """What stands in front of the bytes. ValueError: it cannot be said. OSError: the time is over."""
    parts = [[part.nbytes, checksum(part, end)] for part in payload]
    text = json.dumps({**description, "parts": parts}, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    said = text.encode()
    if len(said) > SPOOL_DESCRIPTION_BYTES_MAX:
        raise ValueError(f"what is said of it takes {len(said):,} bytes; at most {SPOOL_DESCRIPTION_BYTES_MAX:,}")
    return f"{_MAGIC} {_VERSION} {len(said)} {_core.crc32c(said):08x}\n".encode() + said + b"\n"


def checksum(part: memoryview, end: float) -> int:
    crc = 0
    for chunk in _chunks(part, end):
        crc = _core.crc32c(chunk, crc)
    return crc


def write(path: str, parts: Sequence[Any], end: float) -> None:
    with contextlib.suppress(FileExistsError):
        Path(path).parent.mkdir()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "wb", buffering=0) as file:
        for part in parts:
            for chunk in _chunks(memoryview(part), end):
                left = chunk
                while left:
                    left = left[file.write(left) :]


def _chunks(part: memoryview, end: float) -> Any:
    data = part.cast("B")
    for at in range(0, len(data), SPOOL_CHUNK_BYTES):
        if time.monotonic() > end:
            raise OSError("the disk is slow")
        yield data[at : at + SPOOL_CHUNK_BYTES]


def bytes_in(folder: str) -> int:
    """Of all processes of the run."""
    total = 0
    with contextlib.suppress(OSError), os.scandir(f"{folder}/media") as entries:
        for entry in entries:
            if entry.name.startswith("spool"):
                with contextlib.suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_size
    return total


def read(path: str) -> tuple[dict[str, Any], list[memoryview]]:
    """What is said of a value, and its bytes. DamagedError, NewerError, OSError."""
    from tracker._media_read import open_plain

    with open_plain(path) as file:
        if os.fstat(file.fileno()).st_size > SPOOL_FILE_BYTES_MAX:
            raise DamagedError(f"more than {SPOOL_FILE_BYTES_MAX:,} bytes")
        data = memoryview(file.read(SPOOL_FILE_BYTES_MAX))
    said, at = _said(data)
    parts = said.get("parts")
    if not isinstance(parts, list) or not all(_is_part(part) for part in parts):
        raise DamagedError("it does not say what parts it has")
    if at + sum(size for size, _ in parts) != data.nbytes:
        raise DamagedError("it is longer or shorter than it says")
    payload = []
    for size, crc in parts:
        payload.append(data[at : at + size])
        at += size
        if _core.crc32c(payload[-1]) != crc:
            raise DamagedError("its bytes are not those that were written")
    return said, payload


def _said(data: memoryview) -> tuple[dict[str, Any], int]:
    """And where its bytes begin."""
    head = bytes(data[:_HEAD_BYTES_MAX]).split(b"\n", 1)[0]
    words = head.split(b" ")
    if len(words) != 4 or words[0] != _MAGIC.encode() or not words[1].isdigit() or not words[2].isdigit():
        raise DamagedError("it does not begin as such a file")
    if int(words[1]) != _VERSION:
        raise NewerError(f"it is of version {int(words[1])}; this program reads {_VERSION}")
    begin, size = len(head) + 1, int(words[2])
    if size > SPOOL_DESCRIPTION_BYTES_MAX or begin + size + 1 > data.nbytes:
        raise DamagedError("what it says is longer than it may be")
    text = bytes(data[begin : begin + size])
    if f"{_core.crc32c(text):08x}".encode() != words[3] or data[begin + size] != ord("\n"):
        raise DamagedError("what it says is not what was written")
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        raise DamagedError("what it says is no JSON") from None
    if not isinstance(said, dict):
        raise DamagedError("what it says is no object")
    return said, begin + size + 1


def _is_part(part: object) -> bool:
    return isinstance(part, list) and len(part) == 2 and all(type(n) is int and n >= 0 for n in part)
