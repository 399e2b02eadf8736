# SPDX-License-Identifier: MIT
"""Image, with boxes and masks. Pixels become PNG or JPEG on the thread that encodes; files go in as they are."""

from __future__ import annotations

import contextlib
import importlib
import io
import math
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracker import _image_array as _array
from tracker._files import Given, sniff, take_file
from tracker._media import Media, caption_of, short_text

if TYPE_CHECKING:
    from tracker._media_queue import Files

# Of an image
BOXES_MAX = 1000
MASKS_MAX = 16
LABEL_CHARS_MAX = 256
# Of zlib: half the time of the default for some per cent of the bytes
PNG_LEVEL = 4
FORMATS = {"png": "png", "jpeg": "jpg", "jpg": "jpg"}
FILES = ("png", "jpg", "gif", "webp", "svg")
# As Pillow calls them, and what it imports only when it meets one: of a JPEG the EXIF and further pictures
_PILLOW = {
    "png": ("PNG", ()),
    "jpg": ("JPEG", ("PIL.TiffImagePlugin", "PIL.MpoImagePlugin")),
    "gif": ("GIF", ("copy",)),
    "webp": ("WEBP", ("PIL.WebPImagePlugin",)),
}
_module: Any = None  # PIL.Image, once it is imported


def pillow(what: str) -> Any:
    global _module
    if _module is None:
        try:
            _module = importlib.import_module("PIL.Image")
        except ImportError as error:
            raise ImportError(f"Pillow is needed for {what}: pip install 'tracker-run[media]'") from error
    return _module


def prepare(what: str, extension: str) -> None:
    """Imports, in the caller, all that Pillow imports when it first reads or writes such a file.

    The thread that encodes must import nothing: where the program forks meanwhile, its child has the lock of that
    module with nobody to let it go, and a worker that imports it too, as each Image.open() of Pillow does, hangs. Cost:
    tens of ms, once. ImportError without Pillow.
    """
    module = pillow(what)
    module.preinit()
    name, further = _PILLOW[extension]
    for each in further:
        with contextlib.suppress(ImportError):
            importlib.import_module(each)
    if name not in module.OPEN or name not in module.SAVE:
        module.init()  # a Pillow without that format: it would look for it each time


class Image(Media):
    """An image to log: run.log({"samples": tracker.Image(array, caption="…")}, step=i).

    data: an array of (height, width), (height, width, channels) or (channels, height, width) with 1 to 4 channels, of
    NumPy, torch or nested lists: bool, ints 0 to 255, floats 0 to 1; an image of Pillow; a figure of matplotlib, which
    is drawn now; the path or the bytes of a PNG, JPEG, GIF, WebP or SVG file. Where both ends of a shape may be
    channels the last one is, but for a tensor of torch the first; layout="HWC" or "CHW" says it.
    boxes: {"name": [{"box": (x0, y0, x1, y1), "label": "cat", "score": 0.9}, …]} or one such list, in pixels.
    masks: {"name": array of (height, width) with ints 0 to 255} or {"name": {"mask": array, "labels": {1: "cat"}}}.
    format: "png" (exact) or "jpeg" with quality, of pixels. The values are copied. Raises TypeError and ValueError that
    say what was expected, ImportError without Pillow. Cost: a copy of the pixels; encoding is done elsewhere.
    """

    __slots__ = ()
    kind = "image"

    def __init__(
        self,
        data: Any,
        caption: str | None = None,
        *,
        boxes: Mapping[str, Iterable[Any]] | Sequence[Any] | None = None,
        masks: Mapping[str, Any] | None = None,
        layout: str | None = None,
        format: str = "png",
        quality: int = 90,
    ) -> None:
        said: dict[str, Any] = caption_of(caption)
        if format not in FORMATS:
            raise ValueError(f'format must be "png" or "jpeg", got {format!r}')
        if isinstance(quality, bool) or not isinstance(quality, int) or not 1 <= quality <= 100:
            raise ValueError(f"quality must be an int of 1 to 100, got {quality!r}")
        if found := _boxes(boxes):
            said["boxes"] = found
        overlays, labels = _masks(masks)
        given = _given(data, layout)
        if isinstance(given, Given):
            with contextlib.suppress(ImportError):  # without Pillow its size is not said
                if given.extension in _PILLOW:
                    prepare("the size", given.extension)
            self._set_large(FileEncoder(given, said, overlays, labels), *given.parts, *(m for _, m, _, _ in overlays))
            return
        pixels, width, height, mode = given
        prepare("images of pixels", FORMATS[format])
        said |= {"width": width, "height": height}
        for name, _, mask_width, mask_height in overlays:
            if (mask_width, mask_height) != (width, height):
                raise ValueError(f"the mask {name!r} has {mask_width} × {mask_height} pixels, the image {width} × "
                                 f"{height}")  # fmt: skip
        encoder = PixelEncoder(mode, (width, height), FORMATS[format], quality, said, overlays, labels)
        self._set_large(encoder, pixels, *(mask for _, mask, _, _ in overlays))


Overlay = tuple[str, Any, int, int]  # name, bytes, width, height


class _Overlays:
    """What both encoders do with masks. Holds their names and sizes."""

    def __init__(self, overlays: list[Overlay], labels: dict[str, dict[str, str]]) -> None:
        self._names = [(name, width, height) for name, _, width, height in overlays]
        self._labels = labels

    def add(self, parts: Sequence[memoryview], files: Files) -> dict[str, Any]:
        if not self._names:
            return {}
        masks: dict[str, Any] = {}
        for (name, width, height), part in zip(self._names, parts, strict=True):
            masks[name] = add_pixels(files, part, "L", (width, height), "png", 0)
            if name in self._labels:
                masks[name]["labels"] = self._labels[name]
        return {"masks": masks}


class PixelEncoder:
    def __init__(
        self, mode: str, size: tuple[int, int], extension: str, quality: int, said: dict[str, Any],
        overlays: list[Overlay], labels: dict[str, dict[str, str]],
    ) -> None:  # fmt: skip
        self._mode, self._size, self._extension, self._quality, self._said = mode, size, extension, quality, said
        self._overlays = _Overlays(overlays, labels)

    def __call__(self, parts: Sequence[memoryview], files: Files) -> dict[str, Any]:
        file = add_pixels(files, parts[0], self._mode, self._size, self._extension, self._quality)
        return {**kind_of("image", files), **file, **self._said, **self._overlays.add(parts[1:], files)}


class FileEncoder:
    def __init__(
        self, given: Given, said: dict[str, Any], overlays: list[Overlay], labels: dict[str, dict[str, str]]
    ) -> None:
        self._given, self._said, self._overlays = given.without_parts(), said, _Overlays(overlays, labels)
        self.document = "svg" if given.extension == "svg" else ""

    def __call__(self, parts: Sequence[memoryview], files: Files) -> dict[str, Any]:
        file, rest = self._given.add(parts, files)
        size = {}
        if _module is not None and self._given.extension in _PILLOW:
            try:
                formats = (_PILLOW[self._given.extension][0],)
                with _module.open(self._given.path or io.BytesIO(parts[0]), formats=formats) as image:
                    size = {"width": image.width, "height": image.height}
            except Exception:  # a file that only a browser understands: its size is not said
                size = {}
        return {"kind": "image", **file, **size, **self._said, **self._overlays.add(rest, files)}


def kind_of(kind: str, files: Files) -> dict[str, str]:
    """What the event says of pixels: "array" where they are stored raw."""
    return {"kind": "array", "of": kind} if files.raw else {"kind": kind}


def add_pixels(
    files: Files, data: Any, mode: str, size: tuple[int, int], extension: str, quality: int
) -> dict[str, Any]:
    if files.raw:
        return files.add(data, "npy", _array.npy_head((size[1], size[0]), mode))
    return files.add(encode_pixels(data, mode, size, extension, quality), extension)


def encode_pixels(data: Any, mode: str, size: tuple[int, int], extension: str, quality: int) -> bytes:
    image = pillow("images of pixels").frombuffer(mode, size, data, "raw", mode, 0, 1)
    out = io.BytesIO()
    if extension == "jpg":
        image = image.convert("L" if mode in ("L", "LA") else "RGB")
        image.save(out, "JPEG", quality=quality)
    else:
        image.save(out, "PNG", compress_level=PNG_LEVEL)
    return out.getvalue()


def _given(data: Any, layout: str | None) -> Given | tuple[Any, int, int, str]:
    """A file, or (pixels, width, height, mode)."""
    _array.check_layout(layout)
    if isinstance(data, (str, os.PathLike, bytes, bytearray, memoryview)):
        return take_file(data, "an image", FILES)
    if hasattr(data, "savefig"):
        out = io.BytesIO()
        try:
            data.savefig(out, format="png")
        except Exception as error:
            raise ValueError(f"the figure could not be drawn: {type(error).__name__}: {error}") from error
        return Given(sniff(out.getvalue()[:16]) or "png", None, (out.getvalue(),))
    if type(data).__module__.partition(".")[0] == "PIL" and hasattr(data, "tobytes"):
        if not data.width or not data.height:
            raise ValueError(f"an image has no pixels: {data.width} × {data.height}")
        _array.check_pixels(data.width, data.height, "an image")
        if data.mode.partition(";")[0] in ("I", "F"):  # Pillow would cut their values off at 0 and 255
            return _array.picture(data, layout, f"an image of mode {data.mode}")
        if data.mode == "LAB":
            data = _rgb_of_lab(data)
        mode = data.mode if data.mode in _array.MODES.values() else "RGBA" if "A" in data.getbands() else "RGB"
        mode = "RGBA" if data.mode in ("P", "PA") and "transparency" in data.info else mode
        image = data if data.mode == mode else data.convert(mode)
        return image.tobytes(), image.width, image.height, mode
    return _array.picture(data, layout, "an image")


def _rgb_of_lab(image: Any) -> Any:
    """Pillow's convert() has no such way, and takes "A" for an alpha."""
    try:
        cms: Any = importlib.import_module("PIL.ImageCms")
        profiles = (cms.createProfile("LAB"), cms.createProfile("sRGB"))
        return cms.profileToProfile(image, *profiles, outputMode="RGB")
    except Exception as error:  # one without littlecms; its own kind of error
        raise ValueError(f"an image of mode LAB could not be converted ({error}): convert it to RGB first") from None


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    return number


def _boxes(boxes: object) -> dict[str, list[dict[str, Any]]]:
    if boxes is None:
        return {}
    groups = boxes if isinstance(boxes, Mapping) else {"boxes": boxes}
    out: dict[str, list[dict[str, Any]]] = {}
    for name, group in groups.items():
        if not isinstance(name, str) or isinstance(group, (str, bytes)) or not isinstance(group, Iterable):
            raise TypeError("boxes must be a list of boxes, or a dict of names to such lists")
        out[short_text("the name of boxes", name, LABEL_CHARS_MAX)] = [_box(box) for box in group]
    count = sum(map(len, out.values()))
    if count > BOXES_MAX:
        raise ValueError(f"an image has {count:,} boxes; at most {BOXES_MAX:,}")
    return out


def _box(box: object) -> dict[str, Any]:
    if not isinstance(box, Mapping):
        box = {"box": box}
    unknown = set(box) - {"box", "label", "score"}
    if unknown:
        raise ValueError(f"a box has box, label and score, not {sorted(map(str, unknown))}")
    given = box.get("box")
    corners = list(given) if isinstance(given, Iterable) else []
    if len(corners) != 4:
        raise ValueError(f"a box is (x0, y0, x1, y1) in pixels, got {len(corners)} numbers")
    x0, y0, x1, y1 = (_number(value, "a corner of a box") for value in corners)
    if x1 < x0 or y1 < y0:
        raise ValueError(f"a box is (x0, y0, x1, y1) with x0 <= x1 and y0 <= y1, got {(x0, y0, x1, y1)}")
    out: dict[str, Any] = {"box": [x0, y0, x1, y1]}
    if box.get("label") is not None:
        out["label"] = short_text("the label of a box", str(box["label"]), LABEL_CHARS_MAX)
    if box.get("score") is not None:
        out["score"] = _number(box["score"], "the score of a box")
    return out


def _labels(name: str, labels: object) -> dict[str, str]:
    if not isinstance(labels, Mapping):
        raise TypeError(f"the labels of the mask {name!r} must be a dict such as {{1: 'cat'}}, "
                        f"got {type(labels).__name__}")  # fmt: skip
    out: dict[str, str] = {}
    for number, text in labels.items():
        try:
            value = operator.index(int(number) if isinstance(number, str) else number)
        except (TypeError, ValueError):
            value = -1
        if not 0 <= value <= 255:
            raise ValueError(f"the labels of the mask {name!r} are of ints 0 to 255, got {number!r}")
        out[str(value)] = short_text("the label of a mask", str(text), LABEL_CHARS_MAX)
    return out


def _masks(masks: object) -> tuple[list[Overlay], dict[str, dict[str, str]]]:
    overlays: list[Overlay] = []
    labels: dict[str, dict[str, str]] = {}
    if masks is None:
        return overlays, labels
    if not isinstance(masks, Mapping):
        raise TypeError(f"masks must be a dict of names to arrays, got {type(masks).__name__}")
    if len(masks) > MASKS_MAX:
        raise ValueError(f"an image has {len(masks)} masks; at most {MASKS_MAX}")
    prepare("masks", "png")
    for name, given in masks.items():
        if not isinstance(name, str):
            raise TypeError("the name of a mask must be a str")
        short_text("the name of a mask", name, LABEL_CHARS_MAX)
        if isinstance(given, Mapping):
            if unknown := set(given) - {"mask", "labels"}:
                raise ValueError(f"the mask {name!r} has mask and labels, not {sorted(map(str, unknown))}")
            if given.get("labels") is not None:
                labels[name] = _labels(name, given["labels"])
            if given.get("mask") is None:
                raise ValueError(f'the mask {name!r} has no "mask": expected an array of (height, width) there')
            given = given["mask"]
        array = _array.as_array(given, f"the mask {name!r}")
        if array.ndim != 2 or array.dtype.kind not in "bui":
            raise ValueError(f"the mask {name!r} takes ints of (height, width), got {array.dtype} of shape "
                             f"{array.shape}")  # fmt: skip
        array = array.astype("uint8") if array.dtype.kind == "b" else array
        overlays.append((name, _array.to_bytes(array, f"the mask {name!r}"), array.shape[1], array.shape[0]))
    return overlays, labels
