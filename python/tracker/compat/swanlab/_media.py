# SPDX-License-Identifier: MIT
"""Image and Text of SwanLab, as media of tracker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracker._media.documents import Text as _Text
from tracker._media.image import Image as _Image
from tracker._media.image import pillow
from tracker._media.medium import Media
from tracker.compat.swanlab._image_grid import grid

FORMATS = {"png": "png", "jpg": "jpeg", "jpeg": "jpeg", "bmp": "png"}


class Image(_Image):
    """An image: a path, an image of Pillow, a figure or pyplot, an array (H, W), (H, W, 3), (H, W, 4), or a tensor of
    one image (C, H, W) or several (N, C, H, W), which become a grid.

    mode: of Pillow, such as "L". size: the longer side at most, or (width, height), where one may be None. Values of
    an array are cut to 0 to 255, floats to 0 to 1 where none is above 1. Those of a tensor are spread from its least
    to its largest value. file_type "bmp" is stored as PNG. ImportError without Pillow.
    """

    __slots__ = ()

    def __init__(
        self, data_or_path: Any, mode: str | None = None, caption: str | None = None, file_type: str | None = None,
        size: Any = None,
    ) -> None:  # fmt: skip
        if isinstance(data_or_path, Media):  # it is copied, with its own caption
            self._take_from(data_or_path)
            return
        kind = (file_type or "png").lower()
        if kind not in FORMATS:
            raise ValueError(f"file_type must be one of {', '.join(FORMATS)}, got {file_type!r}")
        data, layout = _pixels(data_or_path)
        if mode is not None or size is not None:
            data, layout = _resized(_pillow_image(data, layout), mode, size), None
        super().__init__(data, None if caption is None else str(caption), layout=layout, format=FORMATS[kind])


class Text(_Text):
    """A text with a caption."""

    __slots__ = ()

    def __init__(self, content: Any, caption: str | None = None) -> None:
        super().__init__(str(content), None if caption is None else str(caption))


def image(data: Any, caption: str | None, **options: Any) -> Media:
    return data if isinstance(data, Media) else Image(data, caption=caption, **options)


def text(data: Any, caption: str | None) -> Media | str:
    if isinstance(data, Media):
        return data
    return str(data) if caption is None else Text(data, caption)


def listed(make: Callable[..., Any], data: Any, caption: Any, **options: Any) -> Any:
    """One medium, or a list of them with the captions of a list."""
    if not isinstance(data, (list, tuple)):
        return make(data, caption, **options)
    captions = caption if isinstance(caption, (list, tuple)) else [caption] * len(data)
    return [make(each, said, **options) for each, said in zip(data, captions, strict=True)]


def _pixels(data: Any) -> tuple[Any, str | None]:
    """What tracker.Image takes, and its layout where that is known."""
    if hasattr(data, "detach") and hasattr(data, "cpu"):
        return grid(data), "HWC"
    if type(data).__module__ == "numpy" and data.size and data.dtype.kind in "iuf":
        if data.dtype.kind in "iu" or float(data.max()) > 1:
            return data.clip(0, 255).astype("uint8"), None
        return data.clip(0, 1), None
    return data, None


def _pillow_image(data: Any, layout: str | None) -> Any:
    import io
    import os

    from tracker._media import image_array

    module = pillow("mode and size of an image")
    if isinstance(data, (str, os.PathLike)):
        return module.open(data)
    if type(data).__module__.partition(".")[0] == "PIL":
        return data
    if hasattr(data, "savefig"):
        drawn = io.BytesIO()
        data.savefig(drawn, format="png")
        return module.open(drawn)
    pixels, width, height, mode, _ = image_array.picture(data, layout, "an image", None, lambda _: None)
    return module.frombuffer(mode, (width, height), bytes(pixels), "raw", mode, 0, 1)


def _resized(given: Any, mode: str | None, size: Any) -> Any:
    out = given.copy() if mode is None else given.convert(mode)
    if size is None:
        return out
    if isinstance(size, int):
        out.thumbnail((size, size))
        return out
    width, height = (*size, None)[:2]
    if width is None and height is None:
        return out
    scale = width / out.width if width is not None else height / out.height
    chosen = (width or max(1, int(out.width * scale)), height or max(1, int(out.height * scale)))
    return out.resize(tuple(map(int, chosen)))
