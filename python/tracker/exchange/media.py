# SPDX-License-Identifier: MIT
"""Media on their way into a run. They are made as those that log() takes, so they are checked and redacted alike."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.exchange.plain_files import is_folder, is_plain

if TYPE_CHECKING:
    from tracker import _core
    from tracker._media import Media


class ImportedFiles:
    """What encoders write to (tracker._media_queue.Files)."""

    def __init__(self, run: _core.RunImport) -> None:
        self._run = run

    def add(self, data: Any, extension: str) -> dict[str, Any]:
        digest, size = self._run.store_media(data, extension)
        return {"digest": digest, "ext": extension, "bytes": size}

    def add_path(self, path: str, extension: str, size: int, mtime_ns: int) -> dict[str, Any]:
        digest, stored = self._run.store_media_file(path, extension)  # of a run that has ended: nobody writes it
        return {"digest": digest, "ext": extension, "bytes": stored}

    def add_document(self, text: Any, extension: str) -> dict[str, Any]:
        return self.add(self._run.redact_document(text, extension == "json"), extension)


def add_media(
    run: _core.RunImport, name: str, values: Iterable[Media | None], step: int, time_us: int, is_list: bool
) -> None:
    """Stores what was logged under a name in one call, but for what an earlier import stored; None keeps a place of the
    list. Errors: those of the disk; nothing of the list is stored then."""
    described: list[dict[str, Any]] = []
    for index, value in enumerate(values):
        if value is None or run.media_is_stored(name, step, time_us, index if is_list else 0):
            continue
        said = value._description if value._encoder is None else value._encoder(value._payload, ImportedFiles(run))
        described.append({**(said or {}), **({"index": index} if is_list else {})})
    if described:
        run.media(name, described, step, time_us)


def file_below(folder: Path, name: object) -> Path | None:
    """A file that a source names, in its folder and through no link. None: there is none."""
    parts = name.split("/") if isinstance(name, str) else []
    if not parts or any(part in ("", ".", "..") or "\0" in part for part in parts):
        return None
    for part in parts:
        if not is_folder(folder):
            return None
        folder /= part
    return folder if is_plain(folder) else None
