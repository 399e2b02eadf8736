# SPDX-License-Identifier: MIT
"""Boxes and masks of an image. What cannot be shown of them is left out, which is a remark."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tracker._media import image_array as _array
from tracker._media.class_labels import LABEL_CHARS_MAX, label_of, name_of, names_of_ids
from tracker._media.medium import clean_text

# Of an image
# Limit: boxes of an image. Beyond it: reported; the image is kept without the others.
BOXES_MAX = 1000
# Limit: masks of an image. Beyond it: reported; the image is kept without the others.
MASKS_MAX = 16
# Of a mask, whose pixels are bytes
# Limit: ids of a mask. Beyond it: reported; the image is kept without the others.
MASK_IDS_MAX = 256


class Overlay(NamedTuple):
    name: str
    pixels: Any  # bytes of height × width
    size: tuple[int, int]  # width, height
    said: dict[str, Any]  # labels: names by what is in the pixels; ids: of those, where they are others


def check_overlays(boxes: Any, masks: Any) -> None:
    """What is wrong with the arguments, whatever the data: a container, a key."""
    groups = boxes.values() if isinstance(boxes, Mapping) else () if boxes is None else (boxes,)
    for group in groups:
        if isinstance(group, (str, bytes)) or not isinstance(group, Iterable):
            raise TypeError("boxes must be a list of boxes, or a dict of names to such lists")
        for box in group if isinstance(group, (list, tuple)) else ():
            if isinstance(box, Mapping) and (unknown := set(box) - {"box", "label", "score"}):
                raise ValueError(f"a box has box, label and score, not {sorted(map(str, unknown))}")
    if masks is not None and not isinstance(masks, Mapping):
        raise TypeError(f"masks must be a dict of names to arrays, got {type(masks).__name__}")
    for name, given in (masks or {}).items():
        if isinstance(given, Mapping) and (unknown := set(given) - {"mask", "labels"}):
            raise ValueError(f"the mask {name!r} has mask and labels, not {sorted(map(str, unknown))}")


def boxes_of(boxes: Any, names: dict[str, str], remark: _array.Remark) -> dict[str, list[dict[str, Any]]]:
    if boxes is None:
        return {}
    groups = boxes if isinstance(boxes, Mapping) else {"boxes": boxes}
    out: dict[str, list[dict[str, Any]]] = {}
    count = 0
    for name, group in groups.items():
        taken = out[clean_text(str(name), LABEL_CHARS_MAX)] = []
        for box in group:
            if count >= BOXES_MAX:
                remark(f"an image has at most {BOXES_MAX:,} boxes; the others are left out")
                break
            try:
                taken.append(_box(box, names))
                count += 1
            except (TypeError, ValueError, OverflowError) as error:
                remark(f"a box is left out: {error}")
    return out


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    return number


def _box(box: object, names: dict[str, str]) -> dict[str, Any]:
    if not isinstance(box, Mapping):
        box = {"box": box}
    given = box.get("box")
    corners = list(given) if isinstance(given, Iterable) else []
    if len(corners) != 4:
        raise ValueError(f"a box is (x0, y0, x1, y1) in pixels, got {len(corners)} numbers")
    x0, y0, x1, y1 = (_number(value, "a corner of a box") for value in corners)
    if x1 < x0 or y1 < y0:
        raise ValueError(f"a box is (x0, y0, x1, y1) with x0 <= x1 and y0 <= y1, got {(x0, y0, x1, y1)}")
    out: dict[str, Any] = {"box": [x0, y0, x1, y1]}
    if box.get("label") is not None:
        label = str(label_of(box["label"]))
        out["label"] = names.get(label) or name_of(label)
    if box.get("score") is not None:
        out["score"] = _number(box["score"], "the score of a box")
    return out


def masks_of(masks: Mapping[Any, Any] | None, names: dict[str, str], remark: _array.Remark) -> list[Overlay]:
    out: list[Overlay] = []
    for name, given in (masks or {}).items():
        if len(out) >= MASKS_MAX:
            remark(f"an image has at most {MASKS_MAX} masks; the others are left out")
            break
        shown = clean_text(str(name), LABEL_CHARS_MAX)
        try:
            out.append(_mask(shown, given, names))
        except (TypeError, ValueError, OverflowError) as error:
            remark(f"the mask {shown!r} is left out: {error}")
    return out


def _mask(name: str, given: Any, names: dict[str, str]) -> Overlay:
    if isinstance(given, Mapping):
        names = names | names_of_ids(given.get("labels"))
        given = given.get("mask")
    if given is None:
        raise ValueError("expected an array of (height, width)")
    np = _array.numpy_for("masks")
    array = _array.as_array(given, "a mask")
    for axis in (0, -1):  # of one channel
        if array.ndim == 3 and array.shape[axis] == 1:
            array = array.reshape(array.shape[1:] if axis == 0 else array.shape[:-1])
    if array.ndim != 2:
        raise ValueError(f"a mask takes ids of (height, width), got shape {array.shape}")
    if array.dtype.kind == "f" and not (np.isfinite(array).all() and (array == np.trunc(array)).all()):
        raise ValueError("a mask takes ids, which are ints; its floats are not whole")
    said: dict[str, Any] = {}
    if array.dtype.kind != "b" and (array.min() < 0 or array.max() > 255):
        ids, places = np.unique(array, return_inverse=True)
        if len(ids) > MASK_IDS_MAX:
            raise ValueError(f"a mask has at most {MASK_IDS_MAX} ids, got {len(ids):,}")
        said["ids"] = [int(each) for each in ids]
        said["labels"] = {str(i): names.get(str(each)) or str(each) for i, each in enumerate(said["ids"])}
        array = places.reshape(array.shape)
    elif names:
        said["labels"] = {id: text for id, text in names.items() if id.isdigit() and int(id) <= 255}
    return Overlay(name, np.array(array, np.uint8, order="C"), (array.shape[1], array.shape[0]), said)
