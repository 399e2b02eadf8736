# SPDX-License-Identifier: MIT
"""Media of W&B: in the history an object with `_type`, and the file that it names in `files/` beside the run's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tracker._media.histograms_curves import HISTOGRAM_BINS_MAX, Histogram
from tracker._media.image import Image
from tracker._media.medium import Media, sound
from tracker._media.table import Table
from tracker.exchange.media import MAKERS, NOT_MADE, caption_of, first_ones, read_json
from tracker.exchange.plain_files import file_below
from tracker.exchange.tables import table_of_rows
from tracker.exchange.wandb_overlays import Overlays

# By its type under which key a list has its entries, and what type one of them has.
LISTS = {
    "images/separated": ("filenames", "image-file"),
    "audio": ("audio", "audio-file"),
    "videos": ("videos", "video-file"),
    "html": ("html", "html-file"),
}
FILES = {
    "image-file": "image",
    "audio-file": "audio",
    "video-file": "video",
    "html-file": "html",
    "table-file": "table",
}
OVERLAYS = ("boxes", "masks", "all_boxes", "all_masks")  # of images, each a file of its own


def is_list(value: dict[str, Any]) -> bool:
    kind = value.get("_type")
    return isinstance(kind, str) and kind in LISTS


def media_of(
    value: dict[str, Any],
    folder: Path,
    leave_out: Callable[[str], None],
    name: str = "",
    names: dict[str, Any] | None = None,
) -> Iterator[Media | None]:
    """What is made of an object with `_type`; several of a list, in which None keeps the place of what cannot be
    made, so that a file which comes later gets that. leave_out hears what has no place here, and why.
    `name`: under which it was logged. `names`: of classes, the config's part `_wandb`."""
    kind = f"values of type {str(value.get('_type'))[:40]}"
    overlays = Overlays(value, folder, name, names or {}, leave_out)
    for place, (entry, path, caption) in enumerate(first_ones(_entries(value), lambda: leave_out(kind))):
        file = file_below(folder, path)
        if entry != "histogram" and (entry not in FILES or file is None):
            leave_out(kind if entry not in FILES else f"{kind} without their file")
            yield None
            continue
        try:
            if file is None:
                made: Media = _histogram(value)
            elif entry == "table-file":
                made = _table(file, caption, leave_out)
            elif entry == "image-file":
                made = _image(file, caption, overlays, place)
            else:
                made = MAKERS[FILES[entry]](file, caption)
        except NOT_MADE:
            leave_out(kind)
            yield None
        else:
            yield made
    for what in OVERLAYS:
        for overlay in _objects(value.get(what)):
            if id(overlay) not in overlays.carried:
                leave_out(f"values of type {str(overlay.get('_type', what))[:40]}")


def _image(file: Path, caption: str | None, overlays: Overlays, place: int) -> Image:
    image = sound(Image(file, caption))  # of what is no image the overlays are counted too
    found = overlays.of(place)
    return sound(Image(file, caption, **found)) if found else image


def _entries(value: dict[str, Any]) -> Iterator[tuple[str, object, str | None]]:
    """(type, path, caption)"""
    kind = value.get("_type")
    if not isinstance(kind, str) or kind not in LISTS:
        yield str(kind), value.get("path"), caption_of(value.get("caption"))
        return
    key, entry = LISTS[kind]
    listed, captions = value.get(key), value.get("captions")
    for index, part in enumerate(listed if isinstance(listed, list) else [None]):
        caption = captions[index] if isinstance(captions, list) and index < len(captions) else None
        if isinstance(part, dict):
            yield entry, part.get("path"), caption_of(part.get("caption", caption))
        else:
            yield entry, part, caption_of(caption)


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
    return sound(Histogram(counts=value["values"], edges=edges))


def _table(path: Path, caption: str | None, leave_out: Callable[[str], None]) -> Table:
    document = read_json(path)
    return table_of_rows(
        document["columns"], document["data"], lambda kind: leave_out(f"values of type {kind[:40]}"), caption
    )
