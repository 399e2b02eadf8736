# SPDX-License-Identifier: MIT
"""Media of SwanLab: a record names a file each, in `media/<kind>/` of the run's folder, or has its bytes in itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from tracker._media.media_files import sniff
from tracker._media.medium import INLINE_BYTES_MAX, Media
from tracker.exchange import wire
from tracker.exchange.media import MAKERS, NOT_MADE, caption_of, first_ones, read_document
from tracker.exchange.plain_files import file_below

# ColumnType: the folder and what is left out of it. ECharts' options are JSON that may hold JavaScript: kept as a text.
TEXT = 4
CARRIED = {
    2: ("image", "images"),
    3: ("audio", "audio"),
    4: ("text", "texts"),
    5: ("video", "videos"),
    6: ("echarts", "charts"),
    9: ("html", "HTML"),
}
OTHERS = {7: "3D objects", 8: "molecules"}
# MediaItem
FILENAME, CAPTION, PAYLOAD = 1, 4, 5


def text_of(items: list[bytes], folder: Path) -> str | None:
    """The text that log() has without a medium: one of its own, without a caption, that is not too long."""
    if len(items) != 1:
        return None
    try:
        given, caption = _given(items[0], TEXT, folder)
        text = None if given is None or caption is not None else read_document(given)
    except NOT_MADE:
        return None
    return text if text is not None and len(text.encode()) <= INLINE_BYTES_MAX else None


def media_of(kind: int, items: list[bytes], folder: Path, leave_out: Callable[[str], None]) -> Iterator[Media]:
    """What is made of the items of a record; leave_out hears what has no place here."""
    if kind not in CARRIED:
        for _ in items:
            leave_out(OTHERS.get(kind, "media of other kinds"))
        return
    name, left_out = CARRIED[kind]
    for item in first_ones(items, lambda: leave_out(left_out)):
        try:
            given, caption = _given(item, kind, folder)
            made = None if given is None else MAKERS[_maker(name, given)](given, caption)
        except NOT_MADE:
            leave_out(left_out)
            continue
        if made is None:
            leave_out(f"{left_out} without their file")
        else:
            yield made


def _given(item: bytes, kind: int, folder: Path) -> tuple[Path | bytes | None, str | None]:
    """(file or bytes, caption). ValueError: no message."""
    texts = {number: value for number, _, value in wire.fields(item) if isinstance(value, bytes)}
    caption = caption_of(wire.text(texts.get(CAPTION, b"")))
    if payload := texts.get(PAYLOAD):
        return payload, caption
    filename = wire.text(texts.get(FILENAME, b""))
    return file_below(folder, f"media/{CARRIED[kind][0]}/{filename}"), caption


def _maker(name: str, given: Path | bytes) -> str:
    if name == "image":  # SwanLab takes no GIF for an image, and keeps its videos, which are GIFs, among them
        return "video" if sniff(_head(given)) == "gif" else name
    return "text" if name == "echarts" else name


def _head(given: Path | bytes) -> bytes:
    if isinstance(given, bytes):
        return given[:16]
    with given.open("rb") as file:
        return file.read(16)
