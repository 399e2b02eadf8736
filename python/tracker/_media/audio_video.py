# SPDX-License-Identifier: MIT
"""Audio and Video: samples become WAV, frames an animated GIF or WebP; files go in as they are."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tracker._media import image_array as _array
from tracker._media.image import kind_of, pillow, prepare
from tracker._media.media_files import Given, take_file
from tracker._media.medium import Media, caption_of

if TYPE_CHECKING:
    from tracker._media.encode_queue import Files

# Limit: samples a second of audio. Beyond it: an error.
SAMPLE_RATE_MAX = 1_000_000
# Limit: channels of audio. Beyond it: counted as rejected.
AUDIO_CHANNELS_MAX = 32
# Of samples or frames, as they wait
# Limit: bytes of the samples or frames of an array. Beyond it: counted as rejected.
ARRAY_BYTES_MAX = 256 * 1024 * 1024
# Limit: frames of a video. Beyond it: counted as rejected.
VIDEO_FRAMES_MAX = 10_000
# GIF counts in hundredths of a second
# Limit: frames a second of a video. Beyond it: an error.
FPS_MAX = 100
# A frame of a GIF is shown for at most 655 s
FPS_MIN = 0.01
PATHS = (str, os.PathLike, bytes, bytearray, memoryview)


def _check_bytes(what: str, size: int) -> None:
    if size > ARRAY_BYTES_MAX:
        raise ValueError(f"{what} of {size:,} bytes; an array may have {ARRAY_BYTES_MAX:,}, a file 1 GiB")


class FileEncoder:
    def __init__(self, kind: str, given: Given, said: dict[str, Any]) -> None:
        self._kind, self._given, self._said = kind, given.without_parts(), said

    def __call__(self, parts: Sequence[memoryview], files: Files) -> dict[str, Any]:
        file, _ = self._given.add(parts, files)
        return {"kind": self._kind, **file, **self._said}


class Audio(Media):
    """Sound: the path or bytes of a WAV, MP3, OGG or FLAC file, or samples with their rate.

    data: an array of (samples,) or (samples, channels): int16, or floats -1 to 1; stored as WAV of 16 bits.
    Other ints, floats beyond and NaN are heard in a plainer form, said once. sample_rate: samples a second, needed for
    an array. TypeError and ValueError for a wrong argument; data that are no sound make a medium with a `problem`.
    """

    __slots__ = ()
    kind = "audio"

    def __init__(self, data: Any, sample_rate: int | None = None, caption: str | None = None) -> None:
        sample_rate = _array.plain_number(sample_rate)
        if sample_rate is not None:
            if isinstance(sample_rate, bool) or not isinstance(sample_rate, int):
                raise TypeError(f"sample_rate must be an int, got {type(sample_rate).__name__}")
            if not 1 <= sample_rate <= SAMPLE_RATE_MAX:
                raise ValueError(f"sample_rate must be 1 to {SAMPLE_RATE_MAX:,}, got {sample_rate:,}")
        if sample_rate is None and not isinstance(data, PATHS):
            raise ValueError("audio of an array needs sample_rate=")
        with self._refusing():
            said: dict[str, Any] = caption_of(caption, self)
            if isinstance(data, PATHS):
                given = take_file(data, "audio", ("wav", "mp3", "ogg", "flac"))
                said |= {"sample_rate": sample_rate} if sample_rate is not None else {}
                self._set_large(FileEncoder("audio", given, said), *given.parts)
                return
            samples, channels = _samples(data, self._remark)
            said |= {"sample_rate": sample_rate, "channels": channels, "samples": samples.size // channels}
            self._set_large(WavEncoder(said), samples)


def _samples(data: Any, remark: _array.Remark) -> tuple[Any, int]:
    """int16 of (samples × channels), a copy."""
    np = _array.numpy_for("audio of an array")
    array = _array.as_array(data, "audio")
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] > AUDIO_CHANNELS_MAX):
        raise ValueError(
            f"audio takes (samples,) or (samples, channels) with at most {AUDIO_CHANNELS_MAX} channels, got shape "
            f"{array.shape}"
        )
    _check_bytes("audio", array.size * 2)
    channels = 1 if array.ndim == 1 else array.shape[1]
    if array.dtype.newbyteorder("=") == np.int16:
        return np.array(array, "<i2", order="C"), channels
    if array.dtype.kind != "f":  # of other ints the whole range is the sound
        info = np.iinfo(array.dtype if array.dtype.kind in "iu" else np.uint8)
        middle, half = (info.max + info.min + 1) / 2, (info.max - info.min + 1) / 2
        remark(f"samples of {array.dtype} are stored as 16 bits")
        array = (array.astype(np.float64) - middle) / half
    low, high = array.min(), array.max()
    if not (np.isfinite(low) and np.isfinite(high)):
        remark("samples that are NaN or infinite are stored as silence")
        array = np.nan_to_num(array, nan=0.0, posinf=0.0, neginf=0.0)
        low, high = array.min(), array.max()
    if low < -1 - _array.ROUNDING or high > 1 + _array.ROUNDING:
        remark(f"audio of floats takes -1 to 1, got {low:g} to {high:g}: scaled to fit")
        array = array / max(abs(float(low)), abs(float(high)))
    return np.ascontiguousarray(np.round(np.clip(array, -1, 1).astype(np.float64) * 32767).astype("<i2")), channels


class WavEncoder:
    def __init__(self, said: dict[str, Any]) -> None:
        self._said = said

    def __call__(self, parts: Sequence[memoryview], files: Files) -> dict[str, Any]:
        head = _wav_head(parts[0].nbytes, self._said["channels"], self._said["sample_rate"])
        return {"kind": "audio", **files.add(parts[0], "wav", head), **self._said}


def _wav_head(size: int, channels: int, rate: int) -> bytes:
    """Of PCM with 16 bits a sample."""
    format = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, channels, rate, rate * channels * 2, channels * 2, 16)
    return struct.pack("<4sI4s", b"RIFF", 36 + size, b"WAVE") + format + struct.pack("<4sI", b"data", size)


class Video(Media):
    """Moving pictures: the path or bytes of an MP4, WebM, MOV or GIF file, or frames.

    data: an array of (time, height, width, channels) or (time, channels, height, width), values as for Image; stored as
    an animated GIF (256 colours a frame) or WebP at fps frames a second. A file is the way to anything better: no
    encoder of video is run in the training process. normalize: as of Image, over all frames. TypeError and ValueError
    for a wrong argument; data that are no video make a medium with a `problem`.
    """

    __slots__ = ()
    kind = "video"

    def __init__(
        self, data: Any, fps: float = 10, caption: str | None = None, *, format: str = "gif", layout: str | None = None,
        normalize: bool | Sequence[float] | None = None,
    ) -> None:  # fmt: skip
        if format not in ("gif", "webp"):
            raise ValueError(f'format must be "gif" or "webp", got {format!r}')
        fps = _array.plain_number(fps)
        if isinstance(fps, bool) or not isinstance(fps, (int, float)) or not FPS_MIN <= fps <= FPS_MAX:
            raise ValueError(f"fps must be {FPS_MIN} to {FPS_MAX}, got {fps!r}")
        _array.check_layout(layout)
        _array.check_normalize(normalize)
        with self._refusing():
            said: dict[str, Any] = caption_of(caption, self)
            if isinstance(data, PATHS):
                given = take_file(data, "a video", ("mp4", "webm", "mov", "gif"))
                self._set_large(FileEncoder("video", given, said), *given.parts)
                return
            array = _array.as_array(data, "a video")
            while array.ndim > 4 and array.shape[0] == 1:  # a batch of one
                array = array[0]
            if array.ndim != 4:
                raise ValueError(f"a video takes (time, height, width, channels), got shape {array.shape}")
            array = _array.channels_last(array, layout, _array.is_torch(data), "a video")
            frames, height, width, channels = array.shape
            if frames > VIDEO_FRAMES_MAX:
                raise ValueError(f"a video has {frames:,} frames; at most {VIDEO_FRAMES_MAX:,}")
            _check_bytes("a video", array.size)
            prepare("videos of frames", format)
            pixels, shown = _array.to_bytes(array, "a video", normalize, self._remark)
            said |= {"width": width, "height": height, "frames": frames, "fps": float(fps)}
            said |= {"range": list(shown)} if shown else {}
            self._set_large(FramesEncoder(_array.MODES[channels], format, said), pixels)


class FramesEncoder:
    def __init__(self, mode: str, extension: str, said: dict[str, Any]) -> None:
        self._mode, self._extension, self._said = mode, extension, said

    def __call__(self, parts: Sequence[memoryview], files: Files) -> dict[str, Any]:
        size = (self._said["width"], self._said["height"])
        if files.raw:
            head = _array.npy_head((self._said["frames"], size[1], size[0]), self._mode)
            return {**kind_of("video", files), **files.add(parts[0], "npy", head), **self._said}
        each = parts[0].nbytes // self._said["frames"]
        make = pillow("videos of frames").frombuffer
        frames = [
            make(self._mode, size, parts[0][at : at + each], "raw", self._mode, 0, 1).convert("RGB")
            for at in range(0, parts[0].nbytes, each)
        ]
        out = io.BytesIO()
        duration = max(10, round(1000 / self._said["fps"]))
        frames[0].save(out, self._extension.upper(), save_all=True, append_images=frames[1:], duration=duration, loop=0)
        return {"kind": "video", **files.add(out.getvalue(), self._extension), **self._said}
