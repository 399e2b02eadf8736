# SPDX-License-Identifier: MIT
"""Media of Trackio: in a row an object with `_type`, and the file that it names in `media/` beside the database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tracker._media.histograms_curves import Histogram
from tracker._media.medium import Media, sound
from tracker.exchange.media import MAKERS, NOT_MADE, caption_of
from tracker.exchange.plain_files import file_below
from tracker.exchange.tables import table_of_objects

FILES = {
    "trackio.image": MAKERS["image"],
    "trackio.audio": MAKERS["audio"],
    "trackio.video": MAKERS["video"],
    "trackio.html": MAKERS["html"],
}


def media_of(value: dict[str, Any], folder: Path, leave_out: Callable[[str], None]) -> Iterator[Media]:
    """What is made of an object with `_type`: one, or none. leave_out hears what has no place here, and why."""
    name = value.get("_type")
    kind = f"values of type {str(name)[:40]}"
    caption = caption_of(value.get("caption"))
    try:
        if isinstance(name, str) and name in FILES:
            file = file_below(folder, value.get("file_path"))
            if file is None:
                leave_out(f"{kind} without their file")
                return
            made = FILES[name](file, caption)
        elif name == "trackio.table":
            made = table_of_objects(value["_value"], lambda of: leave_out(f"values of type {of[:40]}"), caption)
        elif name == "trackio.histogram":
            made = sound(Histogram(counts=value["values"], edges=value["bins"], caption=caption))
        elif name == "trackio.markdown":
            made = MAKERS["markdown"](value["_value"].encode("utf-8", "replace"), caption)
        else:
            leave_out(kind)
            return
    except NOT_MADE:
        leave_out(kind)
        return
    yield made
