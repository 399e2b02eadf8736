# SPDX-License-Identifier: MIT
"""wandb.Image: a tracker.Image of what the original takes, with its boxes and masks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tracker._media import image as _image
from tracker._media.class_labels import LABEL_CHARS_MAX
from tracker._media.medium import CAPTION_CHARS_MAX
from tracker.compat.wandb._pixels import from_array

FORMATS = {"jpg": "jpeg", "jpeg": "jpeg"}


class Image(_image.Image):
    """An image of an array, a tensor, Pillow, a figure or pyplot, the path of a file, or another Image."""

    _size: tuple[int, int] | None  # width, height

    def __init__(
        self,
        data_or_path: Any,
        mode: str | None = None,
        caption: str | None = None,
        grouping: int | None = None,
        classes: Any = None,
        boxes: Mapping[str, Any] | None = None,
        masks: Mapping[str, Any] | None = None,
        file_type: str | None = None,
        normalize: bool = True,
    ) -> None:
        self._caption, self._grouping = caption, grouping
        if isinstance(data_or_path, Image):
            self._take_from(data_or_path)
            self._size = data_or_path._size
            return
        data = _data(data_or_path, mode, normalize)
        self._size = _size_of(data)
        names = _class_names(classes)
        super().__init__(
            data,
            None if caption is None else str(caption)[:CAPTION_CHARS_MAX],
            boxes=_boxes(boxes, self._size, names),
            masks={name: _mask(given, names) for name, given in (masks or {}).items() if "mask_data" in given} or None,
            format=FORMATS.get((file_type or "").lower(), "png"),
        )

    @property
    def width(self) -> int | None:
        return self._size[0] if self._size else None

    @property
    def height(self) -> int | None:
        return self._size[1] if self._size else None


def _data(given: Any, mode: str | None, normalize: bool) -> Any:
    """What tracker.Image takes."""
    if isinstance(given, (str, os.PathLike)):
        return given if mode is None else _image.pillow("images of a mode").open(given).convert(mode)
    if getattr(given, "__name__", "") == "matplotlib.pyplot":
        return given.gcf()
    if hasattr(given, "savefig"):
        return given
    if hasattr(given, "get_figure"):  # axes of matplotlib
        return given.get_figure()
    if type(given).__module__.partition(".")[0] == "PIL":
        return given.convert(mode) if mode is not None else given
    pixels = from_array(given, normalize)
    if mode is None:
        return pixels
    flat = pixels[:, :, 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    return _image.pillow("images of a mode").fromarray(flat).convert(mode)


def _size_of(data: Any) -> tuple[int, int] | None:
    """Width and height where they are known, or a file says them."""
    if hasattr(data, "shape"):
        return int(data.shape[1]), int(data.shape[0])
    if type(data).__module__.partition(".")[0] == "PIL":
        return data.width, data.height
    if isinstance(data, (str, os.PathLike)):
        try:
            with _image.pillow("the size").open(data) as image:
                return image.width, image.height
        except Exception:  # without Pillow, or a file that only a browser understands
            return None
    return None


def _class_names(classes: Any) -> dict[Any, str]:
    """Of [{"id": 0, "name": "cat"}, ...] or of a dict."""
    if isinstance(classes, Mapping):
        return {number: str(name) for number, name in classes.items()}
    listed = classes if isinstance(classes, (list, tuple)) else ()
    return {each["id"]: str(each["name"]) for each in listed if isinstance(each, Mapping)}


def _boxes(
    groups: Mapping[str, Any] | None, size: tuple[int, int] | None, names: dict[Any, str]
) -> dict[str, list[dict[str, Any]]] | None:
    if not groups:
        return None
    out: dict[str, list[dict[str, Any]]] = {}
    for group, said in groups.items():
        labels = {**names, **_class_names(said.get("class_labels"))}
        out[group] = [_box(box, size, labels) for box in said["box_data"]]
    return out


def _box(box: Mapping[str, Any], size: tuple[int, int] | None, labels: dict[Any, str]) -> dict[str, Any]:
    """In pixels. The original takes parts of the image's size where `domain` is not "pixel"."""
    at = box["position"]
    if "middle" in at:
        (x, y), half_width, half_height = at["middle"], at["width"] / 2, at["height"] / 2
        corners = [x - half_width, y - half_height, x + half_width, y + half_height]
    else:
        corners = [at["minX"], at["minY"], at["maxX"], at["maxY"]]
    if box.get("domain") != "pixel":
        if size is None:
            raise ValueError('the size of the image is not known: give boxes with domain="pixel"')
        corners = [corner * side for corner, side in zip(corners, size * 2, strict=True)]
    number = box.get("class_id")
    label = box.get("box_caption") or labels.get(number) or ("" if number is None else str(number))
    scores = [score for score in (box.get("scores") or {}).values() if isinstance(score, (int, float))]
    out: dict[str, Any] = {"box": [float(corner) for corner in corners], "label": label[:LABEL_CHARS_MAX]}
    return {**out, "score": float(scores[0])} if scores else out


def _mask(given: Mapping[str, Any], names: dict[Any, str]) -> dict[str, Any]:
    labels = {**names, **_class_names(given.get("class_labels"))}
    return {"mask": given["mask_data"], "labels": labels} if labels else {"mask": given["mask_data"]}
