# SPDX-License-Identifier: MIT
"""Media of W&B: in the history an object with `_type`, and the file that it names in `files/` beside the run's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tracker._audio_video import Audio, Video
from tracker._documents import DOCUMENT_BYTES_MAX, Html
from tracker._image import Image
from tracker._media import CAPTION_CHARS_MAX, LIST_VALUES_MAX, Media
from tracker._structured import HISTOGRAM_BINS_MAX, Histogram
from tracker._table import Table
from tracker.exchange.media import file_below

# By its type under which key a list has its entries, and what type one of them has.
LISTS = {
    "images/separated": ("filenames", "image-file"),
    "audio": ("audio", "audio-file"),
    "videos": ("videos", "video-file"),
    "html": ("html", "html-file"),
}
OVERLAYS = ("boxes", "masks", "all_boxes", "all_masks")  # of images, each a file of its own
NOT_MADE = (ValueError, TypeError, KeyError, OverflowError, RecursionError, OSError)


def is_list(value: dict[str, Any]) -> bool:
    kind = value.get("_type")
    return isinstance(kind, str) and kind in LISTS


def media_of(value: dict[str, Any], folder: Path, leave_out: Callable[[str], None]) -> list[Media | None]:
    """What is made of an object with `_type`; several of a list, in which None keeps the place of what cannot be made,
    so that a file which comes later gets that. leave_out hears what has no place here, and why."""
    kind = f"values of type {str(value.get('_type'))[:40]}"
    out: list[Media | None] = []
    for entry, path, caption in _entries(value):
        file = file_below(folder, path)
        if entry != "histogram" and (entry not in MAKERS or file is None):
            leave_out(kind if entry not in MAKERS else f"{kind} without their file")
            out.append(None)
            continue
        try:
            out.append(_histogram(value) if file is None else MAKERS[entry](file, caption))
        except NOT_MADE:
            leave_out(kind)
            out.append(None)
    for _ in range(len(out) - LIST_VALUES_MAX):
        if out.pop() is not None:
            leave_out(kind)
    for name in OVERLAYS:
        for overlay in _objects(value.get(name)):
            leave_out(f"values of type {str(overlay.get('_type', name))[:40]}")
    return out


def _entries(value: dict[str, Any]) -> Iterator[tuple[str, object, str | None]]:
    """(type, path, caption)"""
    kind = value.get("_type")
    if not isinstance(kind, str) or kind not in LISTS:
        yield str(kind), value.get("path"), _caption(value.get("caption"))
        return
    key, entry = LISTS[kind]
    listed, captions = value.get(key), value.get("captions")
    for index, part in enumerate(listed if isinstance(listed, list) else [None]):
        caption = captions[index] if isinstance(captions, list) and index < len(captions) else None
        if isinstance(part, dict):
            yield entry, part.get("path"), _caption(part.get("caption", caption))
        else:
            yield entry, part, _caption(caption)


def _caption(text: object) -> str | None:
    return text[:CAPTION_CHARS_MAX] if isinstance(text, str) and text else None


def _objects(value: object) -> Iterator[dict[str, Any]]:
    """Those with `_type` in lists and objects of them."""
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in below:
        if isinstance(one, dict) and "_type" in one:
            yield one
        elif isinstance(one, (dict, list)):
            yield from _objects(one)


def _histogram(value: dict[str, Any]) -> Histogram:
    edges = value.get("bins")
    if edges is None:  # so the server has it
        packed = value["packedBins"]
        if packed["count"] > HISTOGRAM_BINS_MAX:
            raise ValueError("too many bins")
        edges = [packed["min"] + packed["size"] * i for i in range(int(packed["count"]) + 1)]
    return Histogram(counts=value["values"], edges=edges)


def _table(path: Path, caption: str | None) -> Table:
    with path.open("rb") as file:
        data = file.read(DOCUMENT_BYTES_MAX + 1)
    if len(data) > DOCUMENT_BYTES_MAX:
        raise ValueError(f"{path} has more than {DOCUMENT_BYTES_MAX:,} bytes")
    document = json.loads(data)
    return Table(document["data"], [str(name) for name in document["columns"]], caption=caption)


MAKERS: dict[str, Callable[[Path, str | None], Media]] = {
    "image-file": lambda path, caption: Image(path, caption),
    "audio-file": lambda path, caption: Audio(path, caption=caption),
    "video-file": lambda path, caption: Video(path, caption=caption),
    "html-file": Html,
    "table-file": _table,
}
