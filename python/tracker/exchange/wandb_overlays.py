# SPDX-License-Identifier: MIT
"""Boxes and masks of W&B's images: files of their own, whose classes have names in the config's part `_wandb`."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracker._media.class_labels import LABEL_CHARS_MAX
from tracker._media.image import pillow
from tracker._media.image_array import IMAGE_PIXELS_MAX, numpy_for
from tracker._media.image_overlays import BOXES_MAX, MASKS_MAX
from tracker.exchange.media import NOT_MADE, read_json
from tracker.exchange.plain_files import file_below


class Overlays:
    """Of one object of the history. `carried` holds the ids of what the image has now; the rest is to be counted."""

    def __init__(
        self, value: dict[str, Any], folder: Path, name: str, names: dict[str, Any], leave_out: Callable[[str], None]
    ) -> None:
        self._value, self._folder, self._leave_out = value, folder, leave_out
        self._keys = (name, name.rpartition("/")[2])  # W&B has the last part of a nested name there
        self._names = names
        width, height = value.get("width"), value.get("height")
        is_known = type(width) is int and type(height) is int and width > 0 and height > 0
        self._size: Any = (width, height) if is_known else None
        self.carried: set[int] = set()

    def of(self, place: int) -> dict[str, Any]:
        """What tracker.Image takes as boxes= and masks=, of the image at this place of a list."""
        out: dict[str, Any] = {}
        if boxes := self._boxes(self._groups("boxes", place)):
            out["boxes"] = boxes
        if masks := self._masks(self._groups("masks", place)):
            out["masks"] = masks
        return out

    def _groups(self, what: str, place: int) -> list[tuple[str, dict[str, Any], Path]]:
        """(name, what the history says, file)"""
        groups = self._value.get(what)
        listed = self._value.get(f"all_{what}")
        if isinstance(listed, list):
            groups = listed[place] if place < len(listed) else None
        out = []
        for name, said in groups.items() if isinstance(groups, dict) else ():
            file = file_below(self._folder, said.get("path")) if isinstance(said, dict) else None
            if file is not None and name.isprintable() and len(name) <= LABEL_CHARS_MAX:
                out.append((name, said, file))
        return out

    def _classes(self, kind: str, group: str) -> dict[str, str]:
        """Numbers, as texts, and names."""
        groups = self._names.get(f"{kind}/class_labels")
        for key in self._keys:
            found = groups.get(f"{key}_wandb_delimeter_{group}") if isinstance(groups, dict) else None
            if isinstance(found, dict):
                return _labels(found.get("value"))
        return {}

    def _boxes(self, groups: list[tuple[str, dict[str, Any], Path]]) -> dict[str, list[dict[str, Any]]]:
        out: dict[str, list[dict[str, Any]]] = {}
        room = BOXES_MAX
        for name, said, file in groups:
            try:
                document = read_json(file)
                boxes = list(document["box_data"])
                classes = {**self._classes("bounding_box", name), **_labels(document.get("class_labels"))}
            except NOT_MADE:
                continue
            out[name] = []
            self.carried.add(id(said))
            for box in boxes:
                try:
                    made = self._box(box, classes) if room > 0 else None
                except NOT_MADE:
                    made = None
                if made is None:
                    self._leave_out("boxes of images")
                    continue
                out[name].append(made)
                room -= 1
        return out

    def _box(self, box: dict[str, Any], classes: dict[str, str]) -> dict[str, Any]:
        """In pixels; W&B has parts of the image's size where it does not say so."""
        at = box["position"]
        if "middle" in at:
            (x, y), half_width, half_height = at["middle"], at["width"] / 2, at["height"] / 2
            corners = [x - half_width, y - half_height, x + half_width, y + half_height]
        else:
            corners = [at["minX"], at["minY"], at["maxX"], at["maxY"]]
        if box.get("domain") != "pixel":
            if self._size is None:
                raise ValueError("the size of the image is not known")
            corners = [corner * side for corner, side in zip(corners, self._size * 2, strict=True)]
        corners = [float(corner) for corner in corners]
        if not all(map(math.isfinite, corners)) or corners[0] > corners[2] or corners[1] > corners[3]:
            raise ValueError("no box")
        number = str(box.get("class_id", ""))
        label = box.get("box_caption") or classes.get(number) or number
        out: dict[str, Any] = {"box": corners, "label": _label(label) or None}
        scores = box.get("scores")
        numbers = list(scores.values()) if isinstance(scores, dict) else []
        if len(numbers) == 1 and isinstance(numbers[0], (int, float)) and math.isfinite(numbers[0]):
            out["score"] = float(numbers[0])
        else:  # a box has one score; which of several is unknown
            for _ in numbers:
                self._leave_out("scores of boxes")
        return out

    def _masks(self, groups: list[tuple[str, dict[str, Any], Path]]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name, said, file in groups:
            if self._size is None or len(out) == MASKS_MAX:
                break
            if (len(out) + 1) * self._size[0] * self._size[1] > IMAGE_PIXELS_MAX:  # of all masks, as they lie in memory
                break
            try:
                mask = _pixels(file, self._size)
            except NOT_MADE:
                continue
            classes = self._classes("mask", name)
            out[name] = {"mask": mask, "labels": {n: label for n, label in classes.items() if _is_byte(n)}}
            self.carried.add(id(said))
        return out


def _labels(classes: object) -> dict[str, str]:
    entries = classes.items() if isinstance(classes, dict) else ()
    return {str(number): _label(text) for number, text in entries if isinstance(text, str)}


def _label(text: object) -> str:
    return str(text)[:LABEL_CHARS_MAX].encode("utf-8", "replace").decode()


def _is_byte(number: str) -> bool:
    return number.isascii() and number.isdigit() and len(number) < 4 and int(number) < 256


def _pixels(file: Path, size: Any) -> Any:
    """Of a mask, whose values are classes. ValueError: it is none, or of another size than its image."""
    numpy = numpy_for("masks")
    module = pillow("masks")
    try:
        with module.open(file, formats=("PNG",)) as image:
            if image.mode != "L" or image.size != size:
                raise ValueError("no mask")
            return numpy.array(image)
    except Exception as error:  # Pillow raises many kinds of them for a damaged file
        raise ValueError(f"a mask cannot be read: {error}") from None
