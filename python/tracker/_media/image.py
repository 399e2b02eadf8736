# SPDX-License-Identifier: MIT
"""Image, with boxes and masks. Pixels become PNG or JPEG on the thread that encodes; files go in as they are."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracker._media import image_array as _array
from tracker._media.class_labels import check_classes, names_of_ids
from tracker._media.image_overlays import Overlay, boxes_of, check_overlays, masks_of
from tracker._media.media_files import Given, sniff, take_file
from tracker._media.medium import Media, caption_of

if TYPE_CHECKING:
    from tracker._media.encode_queue import Files

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
    module without a thread to release it, and a worker that imports it too, as each Image.open() of Pillow does, hangs.
    Cost: tens of ms, once. ImportError without Pillow.
    """
    module = pillow(what)
    module.preinit()
    name, further = _PILLOW[extension]
    for each in further:
        with contextlib.suppress(ImportError):
            importlib.import_module(each)
    if name not in module.OPEN or name not in module.SAVE:
        module.init()  # a Pillow without that format: it would search for it each time


class Image(Media):
    """An image to log: run.log({"samples": tracker.Image(array, caption="…")}, step=i).

    data: an array of (height, width), (height, width, channels) or (channels, height, width) with 1 to 4 channels, of
    NumPy, torch or nested lists: bool, ints 0 to 255, floats 0 to 1, or any others (see normalize); an image of Pillow;
    a figure of matplotlib, which is drawn now; the path or the bytes of a PNG, JPEG, GIF, WebP or SVG file. Where both
    ends of a shape may be channels the last one is, but for a tensor of torch the first; layout="HWC" or "CHW" says it.
    normalize: (lowest, highest) value, which are black and full; True: those that occur; False: 0 to 255 of ints, 0 to
    1 of floats, others are cut off; None: so too where they fit, else what is usual (-1 to 1, 0 to 255 of floats, 8, 12
    and 16 bits) or occurs, said once, and `range` of the entry's info. NaN is black.
    boxes: {"name": [{"box": (x0, y0, x1, y1), "label": 3, "score": 0.9}, …]} or one such list, in pixels.
    masks: {"name": array of (height, width) with ids of classes} or {"name": {"mask": array, "labels": {1: "cat"}}}; at
    most 256 ids in a mask, any ints. classes: names of the ids in boxes and masks, {3: "cat"} or a list for 0, 1, 2, ….
    A box or mask that cannot be shown is left out, said once. format: "png" (exact) or "jpeg" with quality, of pixels.
    The values are copied. TypeError and ValueError for a wrong argument alone; data that cannot be shown make an image
    with a `problem`, which log() counts as refused. ImportError without Pillow. Cost: a copy of the pixels; encoding is
    done elsewhere.
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
        classes: Mapping[Any, Any] | Sequence[Any] | None = None,
        layout: str | None = None,
        normalize: bool | Sequence[float] | None = None,
        format: str = "png",
        quality: int = 90,
    ) -> None:
        if format not in FORMATS:
            raise ValueError(f'format must be "png" or "jpeg", got {format!r}')
        if isinstance(quality, bool) or not isinstance(quality, int) or not 1 <= quality <= 100:
            raise ValueError(f"quality must be an int of 1 to 100, got {quality!r}")
        _array.check_layout(layout)
        _array.check_normalize(normalize)
        check_classes(classes)
        check_overlays(boxes, masks)
        with self._refusing():
            said: dict[str, Any] = caption_of(caption, self)
            names = names_of_ids(classes)
            if found := boxes_of(boxes, names, self._remark):
                said["boxes"] = found
            overlays = masks_of(masks, names, self._remark)
            if overlays:
                prepare("masks", "png")
            given = _given(data, layout, normalize, self._remark)
            if isinstance(given, Given):
                with contextlib.suppress(ImportError):  # without Pillow its size is not said
                    if given.extension in _PILLOW:
                        prepare("the size", given.extension)
                self._set_large(FileEncoder(given, said, overlays), *given.parts, *(each.pixels for each in overlays))
                return
            pixels, width, height, mode, shown = given
            prepare("images of pixels", FORMATS[format])
            said |= {"width": width, "height": height} | ({"range": list(shown)} if shown else {})
            for each in overlays:
                if each.size != (width, height):
                    self._remark(f"the mask {each.name!r} is left out: it has {each.size[0]} × {each.size[1]} pixels, "
                                 f"the image {width} × {height}")  # fmt: skip
            overlays = [each for each in overlays if each.size == (width, height)]
            encoder = PixelEncoder(mode, (width, height), FORMATS[format], quality, said, overlays)
            self._set_large(encoder, pixels, *(each.pixels for each in overlays))


class _Overlays:
    """What both encoders do with masks. Holds their names, sizes and labels."""

    def __init__(self, overlays: list[Overlay]) -> None:
        self._masks = [(each.name, each.size, each.said) for each in overlays]

    def add(self, parts: Sequence[memoryview], files: Files) -> dict[str, Any]:
        if not self._masks:
            return {}
        return {
            "masks": {
                name: {**add_pixels(files, part, "L", size, "png", 0), **said}
                for (name, size, said), part in zip(self._masks, parts, strict=True)
            }
        }


class PixelEncoder:
    def __init__(
        self, mode: str, size: tuple[int, int], extension: str, quality: int, said: dict[str, Any],
        overlays: list[Overlay],
    ) -> None:  # fmt: skip
        self._mode, self._size, self._extension, self._quality, self._said = mode, size, extension, quality, said
        self._overlays = _Overlays(overlays)

    def __call__(self, parts: Sequence[memoryview], files: Files) -> dict[str, Any]:
        file = add_pixels(files, parts[0], self._mode, self._size, self._extension, self._quality)
        return {**kind_of("image", files), **file, **self._said, **self._overlays.add(parts[1:], files)}


class FileEncoder:
    def __init__(self, given: Given, said: dict[str, Any], overlays: list[Overlay]) -> None:
        self._given, self._said, self._overlays = given.without_parts(), said, _Overlays(overlays)
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


def _given(
    data: Any, layout: str | None, normalize: Any, remark: _array.Remark
) -> Given | tuple[Any, int, int, str, _array.Range | None]:
    """A file, or (pixels, width, height, mode, range)."""
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
            return _array.picture(data, layout, f"an image of mode {data.mode}", normalize, remark)
        if data.mode == "LAB":
            data = _rgb_of_lab(data)
        mode = data.mode if data.mode in _array.MODES.values() else "RGBA" if "A" in data.getbands() else "RGB"
        mode = "RGBA" if data.mode in ("P", "PA") and "transparency" in data.info else mode
        image = data if data.mode == mode else data.convert(mode)
        if normalize:
            return _array.picture(image, "HWC", "an image", normalize, remark)
        return image.tobytes(), image.width, image.height, mode, None
    return _array.picture(data, layout, "an image", normalize, remark)


def _rgb_of_lab(image: Any) -> Any:
    """Pillow's convert() has no such way, and takes "A" for an alpha."""
    try:
        cms: Any = importlib.import_module("PIL.ImageCms")
        profiles = (cms.createProfile("LAB"), cms.createProfile("sRGB"))
        return cms.profileToProfile(image, *profiles, outputMode="RGB")
    except Exception as error:  # one without littlecms; its own kind of error
        raise ValueError(f"an image of mode LAB could not be converted ({error}): convert it to RGB first") from None
