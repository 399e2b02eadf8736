# SPDX-License-Identifier: MIT
"""Media of a run, read back: StoredRun.media()."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from tracker import _arguments, _core
from tracker._media.image_array import numpy_for


class MediaEntry:
    """One medium as it was logged: name, step, time (seconds since 1970), attempt, rank, kind, caption and path, the
    file's place, None where it has none. `info` is all that the run says of it: width, boxes, …
    """

    __slots__ = ("attempt", "info", "kind", "name", "path", "rank", "step", "time")

    def __init__(self, folder: str, name: str, row: tuple[Any, ...]) -> None:
        self.name: str = name
        self.step: int | None = row[0]
        self.time: float = row[1]
        self.attempt: int = row[2]
        self.rank: int = row[3]
        self.info: dict[str, Any] = row[4]
        self.kind: str = str(self.info.get("kind", ""))
        self.path: str | None = f"{folder}/{row[5]}" if row[5] else None

    @property
    def caption(self) -> str | None:
        value = self.info.get("caption")
        return value if isinstance(value, str) else None

    @property
    def bytes(self) -> bytes:
        """Those of the file, or of the text that is a part of the run. FileNotFoundError where the file is gone."""
        if self.path is not None:
            with open_plain(self.path) as file:
                return file.read()
        if "text" in self.info:
            return str(self.info["text"]).encode()
        return json.dumps(self.info.get("data", {})).encode()

    def load(self) -> Any:
        """An image as an array of NumPy (Pillow is needed), and so the pixels of one that was stored raw ("array": an
        image, or all frames of a video); WAV as (samples, rate), a table as TableData, a histogram, curves, a confusion
        matrix and a figure of plotly as dicts, texts as str, anything else as bytes.
        """
        if self.kind == "array" or (self.kind == "image" and self.info.get("ext") != "svg"):
            return _pixels(self.path or "")
        if self.kind == "audio" and self.info.get("ext") == "wav":
            return _samples(self.path or "")
        if self.kind == "table":
            return TableData(json.loads(self.bytes), self._pictures())
        if "data" in self.info:
            return self.info["data"]
        if self.info.get("ext") == "json":
            return json.loads(self.bytes)
        if self.info.get("ext") in ("html", "md", "txt", "csv", "svg"):
            return self.bytes.decode()
        return self.bytes

    def masks(self) -> dict[str, Any]:
        """The masks of an image by name, arrays of (height, width) with the ids that were given."""
        out: dict[str, Any] = {}
        for name, mask in self.info.get("masks", {}).items():
            if (path := self._beside(mask)) and mask["ext"] in ("png", "npy"):
                out[name] = _pixels(path)
                if ids := mask.get("ids"):
                    out[name] = numpy_for("reading an image").array(ids)[out[name]]
        return out

    def _beside(self, info: dict[str, Any]) -> str | None:
        """The path of a further file of this value."""
        digest, extension = str(info.get("digest", "")), str(info.get("ext", ""))
        if len(digest) != 64 or not digest.isalnum() or not extension.isalnum():
            return None
        return str(Path(self.path or "").parent.parent / digest[:2] / f"{digest}.{extension}")

    def _pictures(self) -> list[MediaEntry]:
        """Those in the cells of a table."""
        out = []
        for info in self.info.get("pictures", ()):
            out.append(MediaEntry("", self.name, (self.step, self.time, self.attempt, self.rank, info, "")))
            out[-1].path = self._beside(info)
        return out

    def __repr__(self) -> str:
        return f"<tracker.MediaEntry {self.name} step {self.step}: {self.kind}>"


class TableData:
    """A table read back: names, types ("bool", "int", "float", "text", "time", "mixed") and columns by name. A picture
    in a cell is a MediaEntry."""

    def __init__(self, document: dict[str, Any], pictures: Sequence[MediaEntry] = ()) -> None:
        self.rows: int = document["rows"]
        self.types: dict[str, str] = {column["name"]: column["type"] for column in document["columns"]}
        self.columns: dict[str, list[Any]] = {
            column["name"]: [_cell(value, column["type"], pictures) for value in column["values"]]
            for column in document["columns"]
        }

    def __len__(self) -> int:
        return self.rows

    def to_rows(self) -> list[tuple[Any, ...]]:
        return list(zip(*self.columns.values(), strict=True))

    def to_pandas(self) -> Any:
        from tracker._numpy import pandas

        return pandas().DataFrame(self.columns)


def _cell(value: Any, kind: str, pictures: Sequence[MediaEntry]) -> Any:
    if value is None or kind in ("bool", "int", "text"):
        return value
    if kind == "mixed":
        from tracker._media.table_cells import cell_of

        return cell_of(value, pictures)
    if kind == "float":
        return float(value)
    import datetime

    return datetime.datetime.fromisoformat(value)


IMAGE_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")  # of others Pillow may start a program


def open_plain(path: str) -> IO[bytes]:
    """A file of a run, which may have come from anybody: no link is followed, no pipe is waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is no regular file")
    return open(descriptor, "rb")


def _pixels(path: str) -> Any:
    from tracker._media.image import pillow

    np = numpy_for("reading an image")
    if path.endswith(".npy"):
        with open_plain(path) as file:
            return np.lib.format.read_array(file, allow_pickle=False)
    with open_plain(path) as file, pillow("reading an image").open(file, formats=IMAGE_FORMATS) as image:
        return np.array(image)


def _samples(path: str) -> tuple[Any, int]:
    import wave

    np = numpy_for("reading audio")
    with open_plain(path) as plain, wave.open(plain, "rb") as file:
        if file.getsampwidth() != 2:
            raise ValueError(f"{path} has {8 * file.getsampwidth()} bits a sample; 16 are read here, .bytes has all")
        data = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        return (data if file.getnchannels() == 1 else data.reshape(-1, file.getnchannels())), file.getframerate()


class MediaOfRun:
    """What StoredRun has of media."""

    _folder: _core.RunFolder

    def _view(self) -> _core.RunView:
        raise NotImplementedError

    def media(self, name: str, *, all: bool = False) -> list[MediaEntry]:
        """The media logged under a name, by step; of each step those of the last call, of the last attempt.

        all=True: every one, also what a later call or attempt replaced. NotFoundError names those that are there.
        Cost: reads every frame; files are read by MediaEntry.load() and .bytes.
        """
        if not isinstance(name, str):
            raise TypeError(f"media(name): name must be a str, got {type(name).__name__}")
        view = self._view()
        _arguments.utf8("the name of media", name)
        folder = self._folder.path
        entries = [MediaEntry(folder, name, row) for row in view.media(name, bool(all))]
        if not entries and name not in view.media_names():
            known = ", ".join(map(repr, view.media_names()[:10])) or "none"
            raise _core.NotFoundError(f"{self!r} has no media {name!r}; the names with media: {known}")
        return entries

    def media_names(self) -> list[str]:
        """The names that hold media, sorted."""
        return self._view().media_names()

    @property
    def media_account(self) -> dict[str, Any]:
        """logged = stored + dropped + pending + lost, by_reason. Pending: on their way in a process that lives. Lost:
        not stored when their process died."""
        return self._view().media_account()
