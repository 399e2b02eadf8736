# SPDX-License-Identifier: MIT
"""Media that a dead process had spooled: encoded here as it would have, once, and added to its run.

Nothing of what such a file says becomes a path, and what is not as a process of ours writes it is dropped and counted.
Any process that does this may be killed at any point: the next one goes on. Threads: any.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracker import _core
from tracker._audio_video import AUDIO_CHANNELS_MAX, FPS_MAX, FPS_MIN, VIDEO_FRAMES_MAX, FramesEncoder, WavEncoder
from tracker._audio_video import FileEncoder as PlainFileEncoder
from tracker._documents import DocumentEncoder
from tracker._files import Given
from tracker._image import FILES, MASKS_MAX, FileEncoder, PixelEncoder, prepare
from tracker._image_array import IMAGE_PIXELS_MAX, MODES
from tracker._media_queue import Encoder
from tracker._media_spool import DamagedError, NewerError, read
from tracker._structured import JsonEncoder

# Spent by open_run(); what is left waits for the next one
LATE_MS_MAX = 10_000
# Encoded between two commits
LATE_VALUES_MAX = 256
LATE_BYTES_MAX = 64 * 1024 * 1024

_DOCUMENTS = {"html": "html", "text": "txt", "markdown": "md", "table": "json", "plotly": "json"}
_FILES = {"audio": ("wav", "mp3", "ogg", "flac"), "video": ("mp4", "webm", "mov", "gif")}
_DATA = ("histogram", "pr_curve", "roc_curve", "confusion_matrix")


class _Files:
    def __init__(self, late: _core.LateMedia) -> None:
        self._late = late

    def add(self, data: Any, extension: str) -> dict[str, Any]:
        digest, size = self._late.store_media(data, extension)
        return {"digest": digest, "ext": extension, "bytes": size}

    def add_path(self, path: str, extension: str, size: int, mtime_ns: int) -> dict[str, Any]:
        raise DamagedError("a path is never spooled")

    def add_document(self, text: Any, extension: str) -> dict[str, Any]:
        return self.add(self._late.redact_document(text, extension), extension)


def encode_spooled(folder: _core.RunFolder, seconds: float | None = None) -> list[str]:
    """For all dead processes of the run, or as many as the time allows. What stands in the way, a line each."""
    try:
        late = _core.LateMedia.open(folder)
    except (_core.TrackerError, OSError) as error:
        return [f"media that wait to be encoded stay as they are: {error}"]
    return [] if late is None else _Work(late, seconds).run()


class _Work:
    def __init__(self, late: _core.LateMedia, seconds: float | None) -> None:
        self._late, self._files = late, _Files(late)
        self._end = time.monotonic() + seconds if seconds is not None else float("inf")
        self._done: list[str] = []  # files that may go when what they hold is committed
        self._bytes = 0
        self._lines: dict[str, int] = {}  # what stands in the way, and of how many

    def run(self) -> list[str]:
        try:
            for path, writer in self._late.waiting():
                if time.monotonic() > self._end:
                    break
                self._take(path, writer)
                if len(self._done) >= LATE_VALUES_MAX or self._bytes >= LATE_BYTES_MAX:
                    self._commit()
            self._commit()
        except (_core.TrackerError, OSError) as error:  # the disk; the next one tries again
            self._lines[str(error)] = 1
        return [f"{count:,} media of a dead process wait to be encoded: {why}" for why, count in self._lines.items()]

    def _take(self, path: str, writer: str) -> None:
        try:
            said, parts = read(path)
            place = _place_of(said, writer)
            if self._is_stored(place):
                self._done.append(path)
                return
            encoder = encoder_of(said.get("encoder"), [part.nbytes for part in parts])
            value = {**encoder(parts, self._files), **_index_of(said)}
            self._add(writer, place, value)
            self._done.append(path)
            self._bytes += sum(part.nbytes for part in parts)
        except (ImportError, NewerError, MemoryError) as error:
            why = str(error) or type(error).__name__
            self._lines[why] = self._lines.get(why, 0) + 1
        except FileNotFoundError:  # somebody has removed it
            return
        except _core.StoreError:
            raise
        except _core.LimitError:
            if not self._has_room(path):
                raise
            self._drop(path, writer, "no room")
        except OSError:
            raise
        except (DamagedError, TypeError, KeyError):
            self._drop(path, writer, "spool damaged")
        except Exception:
            self._drop(path, writer, "not encoded")

    def _is_stored(self, place: tuple[str, int, int, int, int]) -> bool:
        try:
            return self._late.is_stored(*place)
        except ValueError as error:  # a name that is none
            raise DamagedError(str(error)) from None

    def _add(self, writer: str, place: tuple[str, int, int, int, int], value: dict[str, Any]) -> None:
        try:
            self._late.add(writer, *place, value)
        except ValueError as error:  # nested deeper than an event may be
            raise DamagedError(str(error)) from None

    def _has_room(self, path: str) -> bool:
        """False: the disk has none for files just now. True: it is what is said of the value that is too much."""
        try:
            self._late.check_room(Path(path).stat().st_size)
        except _core.LimitError:
            return False
        return True

    def _drop(self, path: str, writer: str, reason: str) -> None:
        Path(path).unlink()  # first: who is killed here leaves a value that is lost, not one that is counted twice
        self._late.drop(writer, reason)

    def _commit(self) -> None:
        self._late.commit()
        for path in self._done:
            with contextlib.suppress(OSError):
                Path(path).unlink()
        self._done, self._bytes = [], 0


def _check(is_so: bool, what: str) -> None:
    if not is_so:
        raise DamagedError(what)


def _whole(value: object, low: int, high: int, what: str) -> int:
    if type(value) is not int or not low <= value <= high:
        raise DamagedError(what)
    return value


def _index_of(said: dict[str, Any]) -> dict[str, int]:
    return {"index": _whole(said["index"], 0, 1 << 31, "its place")} if "index" in said else {}


def _place_of(said: dict[str, Any], writer: str) -> tuple[str, int, int, int, int]:
    key = said.get("key")
    if said.get("writer") != writer or not isinstance(key, str):
        raise DamagedError("it says neither whose nor what it is")
    whole = [_whole(said.get(name), -(1 << 63), (1 << 63) - 1, name) for name in ("step", "time_us")]
    call = _whole(said.get("call"), 0, (1 << 63) - 1, "call")
    return key, whole[0], call, whole[1], _index_of(said).get("index", 0)


def encoder_of(described: object, sizes: list[int]) -> Encoder:
    """The encoder that described itself so, for parts of these sizes. DamagedError; ImportError without Pillow."""
    _check(isinstance(described, dict), "no encoder")
    assert isinstance(described, dict)
    name = described.get("as")
    if not isinstance(name, str):
        raise DamagedError("it does not say which encoder")
    if (make := _MAKERS.get(name)) is None:
        raise NewerError(f"it is a value of a kind that this version does not know: {name[:32]!r}")
    return make(described, sizes)


def _said(described: dict[str, Any], *allowed: str) -> dict[str, Any]:
    """What the event says beside the file: never what names one."""
    said = described.get("said")
    if not isinstance(said, dict) or not set(said) <= {"caption", *allowed}:
        raise DamagedError("it says what it may not")
    for name, value in said.items():
        is_text = name == "caption"
        _check(isinstance(value, str) if is_text else _is_plain(value, 4 if name == "boxes" else 0), name)
        _check(is_text or name == "boxes" or not isinstance(value, str), name)
    return said


def _is_plain(value: object, levels: int) -> bool:
    """Numbers and texts, in lists and maps up to so many levels: what an event may hold."""
    if isinstance(value, (dict, list)):
        each = value.values() if isinstance(value, dict) else value
        return levels > 0 and all(_is_plain(one, levels - 1) for one in each)
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str) or (type(value) is int and -(1 << 63) <= value < 1 << 63)


def _overlays(described: dict[str, Any], sizes: list[int]) -> tuple[list[Any], dict[str, Any]]:
    masks, labels = described.get("masks"), described.get("labels")
    if not isinstance(masks, dict) or not isinstance(labels, dict) or len(masks) > MASKS_MAX:
        raise DamagedError("masks")
    _check(len(masks) == len(sizes) and set(labels) <= set(masks) and _is_plain(labels, 2), "masks")
    out = []
    for (name, size), part in zip(masks.items(), sizes, strict=True):
        width, height = _size(size)
        _check(width * height == part, "the size of a mask")
        out.append((name, None, width, height))
    if masks:
        prepare("masks", "png")
    return out, labels


def _size(size: object) -> tuple[int, int]:
    if not isinstance(size, list) or len(size) != 2:
        raise DamagedError("a size")
    width, height = (_whole(each, 1, IMAGE_PIXELS_MAX, "a size") for each in size)
    _check(width * height <= IMAGE_PIXELS_MAX, "a size")
    return width, height


def _pixels(described: dict[str, Any], sizes: list[int]) -> Encoder:
    mode, extension = described.get("mode"), described.get("ext")
    _check(mode in MODES.values() and extension in ("png", "jpg") and len(sizes) >= 1, "pixels")
    width, height = _size(described.get("size"))
    _check(width * height * len(str(mode)) == sizes[0], "the size of an image")
    quality = _whole(described.get("quality"), 0, 100, "quality")
    said = _said(described, "boxes", "width", "height")
    prepare("images of pixels", str(extension))
    overlays, labels = _overlays(described, sizes[1:])
    return PixelEncoder(str(mode), (width, height), str(extension), quality, said, overlays, labels)


def _image(described: dict[str, Any], sizes: list[int]) -> Encoder:
    extension = described.get("ext")
    _check(extension in FILES and len(sizes) >= 1, "an image")
    said = _said(described, "boxes")
    overlays, labels = _overlays(described, sizes[1:])
    with contextlib.suppress(ImportError):  # without Pillow its size is not said
        if extension != "svg":
            prepare("the size", str(extension))
    return FileEncoder(Given(str(extension), None, ()), said, overlays, labels)


def _file(described: dict[str, Any], sizes: list[int]) -> Encoder:
    kind, extension = described.get("kind"), described.get("ext")
    _check(extension in _FILES.get(str(kind), ()) and len(sizes) == 1, "a file")
    return PlainFileEncoder(str(kind), Given(str(extension), None, ()), _said(described, "sample_rate"))


def _wav(described: dict[str, Any], sizes: list[int]) -> Encoder:
    said = _said(described, "sample_rate", "channels", "samples")
    channels = _whole(said.get("channels"), 1, AUDIO_CHANNELS_MAX, "channels")
    samples = _whole(said.get("samples"), 1, 1 << 40, "samples")
    _whole(said.get("sample_rate"), 1, 1 << 31, "sample_rate")
    _check(sizes == [channels * samples * 2], "the size of a sound")
    return WavEncoder(said)


def _frames(described: dict[str, Any], sizes: list[int]) -> Encoder:
    mode, extension = described.get("mode"), described.get("ext")
    said = _said(described, "width", "height", "frames", "fps")
    width, height = _size([said.get("width"), said.get("height")])
    frames = _whole(said.get("frames"), 1, VIDEO_FRAMES_MAX, "frames")
    fps = said.get("fps")
    _check(isinstance(fps, float) and FPS_MIN <= fps <= FPS_MAX, "fps")
    _check(mode in MODES.values() and extension in ("gif", "webp"), "a video")
    _check(sizes == [width * height * frames * len(str(mode))], "the size of a video")
    prepare("videos of frames", str(extension))
    return FramesEncoder(str(mode), str(extension), said)


def _document(described: dict[str, Any], sizes: list[int]) -> Encoder:
    kind = str(described.get("kind"))
    _check(kind in _DOCUMENTS and len(sizes) == 1, "a document")
    return DocumentEncoder(kind, _DOCUMENTS[kind], _said(described, "rows", "columns"))


def _json(described: dict[str, Any], sizes: list[int]) -> Encoder:
    kind = str(described.get("kind"))
    _check(kind in _DATA and len(sizes) == 1, "numbers")
    return JsonEncoder(kind, _said(described))


_MAKERS: dict[str, Callable[[dict[str, Any], list[int]], Encoder]] = {
    "pixels": _pixels, "image": _image, "file": _file, "wav": _wav, "frames": _frames, "document": _document,
    "json": _json,
}  # fmt: skip
