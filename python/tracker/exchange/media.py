# SPDX-License-Identifier: MIT
"""Media on their way into a run. They are made as those that log() takes, so they are checked and redacted alike, and
one after the other: a source may name one large file a thousand times."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from tracker import _core
from tracker._media.audio_video import Audio, Video
from tracker._media.documents import DOCUMENT_BYTES_MAX, Html, Markdown, Text
from tracker._media.image import Image
from tracker._media.medium import CAPTION_CHARS_MAX, LIST_VALUES_MAX, Media, sound, withheld
from tracker.exchange.rows import INT64_MAX, INT64_MIN

Entry = TypeVar("Entry")
HASHED_BYTES = 1024 * 1024  # in one piece
# What a medium of a hostile or odd source makes its constructor raise.
NOT_MADE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, OSError, ImportError)


def read_document(given: Path | bytes, errors: str = "replace") -> str:
    """A text; bytes that are no UTF-8 are replaced, or with "strict" are a ValueError. So is one that is too large."""
    if isinstance(given, bytes):
        data = given
    else:
        with given.open("rb") as file:
            data = file.read(DOCUMENT_BYTES_MAX + 1)
    if len(data) > DOCUMENT_BYTES_MAX:
        raise ValueError(f"a document has more than {DOCUMENT_BYTES_MAX:,} bytes")
    return data.decode("utf-8", errors)


def read_json(given: Path | bytes, errors: str = "replace") -> Any:
    return json.loads(read_document(given, errors))


# Of a file or of what is in the source itself.
MAKERS: dict[str, Callable[[Path | bytes, str | None], Media]] = {
    "image": lambda given, caption: sound(Image(given, caption)),
    "audio": lambda given, caption: sound(Audio(given, caption=caption)),
    "video": lambda given, caption: sound(Video(given, caption=caption)),
    "html": lambda given, caption: sound(Html(read_document(given), caption)),
    "text": lambda given, caption: sound(Text(read_document(given), caption)),
    "markdown": lambda given, caption: sound(Markdown(read_document(given), caption)),
}


def caption_of(text: object) -> str | None:
    """What a source says below a medium, as far as there is room for it."""
    return text[:CAPTION_CHARS_MAX].encode("utf-8", "replace").decode() if isinstance(text, str) and text else None


class ImportedFiles:
    """What encoders write to (tracker._media.encode_queue.Files)."""

    raw = False

    def __init__(self, run: _core.RunImport) -> None:
        self._run = run

    def add(self, data: Any, extension: str, head: bytes = b"") -> dict[str, Any]:
        digest, size = self._run.store_media(b"".join((head, data)) if head else data, extension)
        return {"digest": digest, "ext": extension, "bytes": size}

    def add_path(self, path: str, extension: str, size: int, mtime_ns: int) -> dict[str, Any]:
        digest, stored = self._run.store_media_file(path, extension)  # of a run that has ended: no process writes it
        return {"digest": digest, "ext": extension, "bytes": stored}

    def add_document(self, text: Any, extension: str) -> dict[str, Any]:
        return self.add(self._run.redact_document(text, extension), extension)


def first_ones(entries: Iterable[Entry], leave_out: Callable[[], None]) -> Iterator[Entry]:
    """As many of a list as log() takes; the others are only counted."""
    for number, entry in enumerate(entries):
        if number < LIST_VALUES_MAX:
            yield entry
        else:
            leave_out()


def carry_media(
    store: _core.ImportStore,
    run: _core.RunImport,
    source: str,
    name: str,
    made: Iterator[Media | None],
    step: int | None,
    time_us: int,
    is_list: bool,
    by_content: bool = False,
) -> None:
    """Stores what was logged under a name in one call. No room on the disk is a problem of the store. `by_content`:
    the time is not the source's own, and says nothing about what is stored already."""
    if step is None or not INT64_MIN <= step <= INT64_MAX:
        if count := sum(value is not None for value in made):
            run.leave_out("media without a step", count)
        return
    try:
        if by_content:
            _add_unknown(run, name, made, step, time_us)
        else:
            _add_media(run, name, made, step, time_us, is_list)
    except (_core.TrackerError, OSError) as error:
        store.problem(f"{source}: '{name[:80]}' at step {step} cannot be stored: {error}")


def _add_media(
    run: _core.RunImport, name: str, made: Iterable[Media | None], step: int, time_us: int, is_list: bool
) -> None:
    """But for what an earlier import stored; None keeps a place of the list. Errors: those of the disk; nothing of the
    list is stored then."""
    described: list[dict[str, Any]] = []
    for index, value in enumerate(made):
        if value is None or run.media_is_stored(name, step, time_us, index if is_list else 0):
            continue
        value = withheld(name, value)
        said = value._description if value._encoder is None else value._encoder(value._payload, ImportedFiles(run))
        described.append({**(said or {}), **({"index": index} if is_list else {})})
    if described:
        run.media(name, described, step, time_us)


class _UnknownFiles(ImportedFiles):
    """Reads a file before it copies it: most are there when a source is imported again."""

    def __init__(self, run: _core.RunImport, name: str, step: int) -> None:
        super().__init__(run)
        self._name, self._step = name, step

    def add_path(self, path: str, extension: str, size: int, mtime_ns: int) -> dict[str, Any]:
        hash = hashlib.sha256()
        read = 0
        with open(path, "rb") as file:
            while part := file.read(HASHED_BYTES):
                hash.update(part)
                read += len(part)
        said = {"digest": hash.hexdigest(), "ext": extension, "bytes": read}
        if self._run.medium_is_there(self._name, self._step, said):
            return said
        return super().add_path(path, extension, size, mtime_ns)


def _add_unknown(run: _core.RunImport, name: str, made: Iterable[Media | None], step: int, time_us: int) -> None:
    for value in made:
        if value is None:
            continue
        value = withheld(name, value)
        encoder = value._encoder
        said = encoder(value._payload, _UnknownFiles(run, name, step)) if encoder else value._description
        if not run.medium_is_there(name, step, said or {}):
            run.media(name, [said or {}], step, time_us)
