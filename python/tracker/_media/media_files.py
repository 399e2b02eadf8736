# SPDX-License-Identifier: MIT
"""Media that are files already: by path or as bytes. Their first bytes determine their format, never their name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracker._media.encode_queue import Files

# Limit: bytes of a media file that is given by path. Beyond it: counted as rejected.
FILE_BYTES_MAX = 1 * 1024 * 1024 * 1024
# A file up to here is read by the constructor, a larger one when it is stored
# Limit: bytes of a file that the call copies, and of a picture of SVG. Beyond it: a larger file is read when it is
# stored, a larger SVG counted as rejected.
FILE_COPIED_BYTES_MAX = 16 * 1024 * 1024
_HEAD_BYTES = 4096  # within which a file says what it is

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpg"), (b"GIF87a", "gif"), (b"GIF89a", "gif"),
    (b"fLaC", "flac"), (b"OggS", "ogg"), (b"ID3", "mp3"), (b"\xff\xfb", "mp3"), (b"\xff\xf3", "mp3"),
    (b"\x1aE\xdf\xa3", "webm"), (b"<svg", "svg"), (b"<?xml", "svg"),
)  # fmt: skip


def sniff(head: bytes) -> str:
    """The extension of a known format; "" for another."""
    if head[:4] == b"RIFF":
        return {b"WAVE": "wav", b"WEBP": "webp"}.get(head[8:12], "")
    if head[4:8] == b"ftyp":
        return "mov" if head[8:10] == b"qt" else "mp4"
    return next((extension for magic, extension in _MAGIC if head.startswith(magic)), "")


def _is_svg(head: bytes) -> bool:
    """After a byte order mark, blanks, a declaration, comments and a document type."""
    rest = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    for _ in range(16):
        end = next((e for b, e in ((b"<?", b"?>"), (b"<!--", b"-->"), (b"<!", b">")) if rest.startswith(b)), b"")
        if not end or end not in rest:
            break
        rest = rest[rest.index(end) + len(end) :].lstrip()
    return rest.startswith(b"<svg")


class Given:
    """A file: its bytes, or its path where it is too large to be copied now."""

    def __init__(
        self, extension: str, path: str | None, parts: tuple[Any, ...], stamp: tuple[int, int] = (0, 0)
    ) -> None:
        self.extension, self.path, self.parts = extension, path, parts
        self.stamp = stamp  # bytes and mtime_ns of what lies at the path

    def without_parts(self) -> Given:
        return Given(self.extension, self.path, (), self.stamp)

    def add(self, parts: Sequence[memoryview], files: Files) -> tuple[dict[str, Any], Sequence[memoryview]]:
        """What the event says of the file, and the parts after it."""
        if self.path is not None:
            return files.add_path(self.path, self.extension, *self.stamp), parts
        add = files.add_document if self.extension == "svg" else files.add
        return add(parts[0], self.extension), parts[1:]


def take_file(data: Any, what: str, extensions: tuple[str, ...]) -> Given:
    """Of a path or bytes. FileNotFoundError and other OSErrors as open() has them, ValueError for another format."""
    path: Path | None = None
    copied, stamp, size = True, (0, 0), 0
    if isinstance(data, (str, os.PathLike)):
        path = Path(data).absolute()
        found = path.stat()
        size, stamp = found.st_size, (found.st_size, found.st_mtime_ns)
        if not path.is_file():
            raise ValueError(f"{what}: {path} is no regular file")
        if size > FILE_BYTES_MAX:
            raise ValueError(f"{what}: {path} has {size:,} bytes; at most {FILE_BYTES_MAX:,}")
        copied = size <= FILE_COPIED_BYTES_MAX
        with path.open("rb") as file:
            content = file.read() if copied else file.read(_HEAD_BYTES)
    else:
        content = bytes(data)
    extension = sniff(content[:16])
    if extension in ("", "svg"):
        extension = "svg" if _is_svg(content[:_HEAD_BYTES]) else ""
    if extension == "svg" and not copied:
        raise ValueError(f"{what}: {path} is an SVG of {size:,} bytes; at most {FILE_COPIED_BYTES_MAX:,}, for it is "
                         "searched for secrets")  # fmt: skip
    if extension not in extensions:
        named = path.name if path is not None else "what was given"
        raise ValueError(f"{what} may be a file of {', '.join(extensions)}; {named} is none by its first bytes")
    return Given(extension, None if copied else str(path), (content,) if copied else (), stamp)
