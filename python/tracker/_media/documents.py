# SPDX-License-Identifier: MIT
"""Html, Text, Markdown and figures of Plotly: texts, inline up to 64 KiB, files beyond. Known secrets are redacted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker._media.medium import INLINE_BYTES_MAX, Media, caption_of

if TYPE_CHECKING:
    from tracker._media.encode_queue import Files

# Limit: bytes of a text, a page, a table's document, a figure's JSON. Beyond it: counted as rejected.
DOCUMENT_BYTES_MAX = 16 * 1024 * 1024


class Document(Media):
    """A text of one kind."""

    __slots__ = ()

    def _set_text(self, kind: str, text: str, extension: str, said: dict[str, Any]) -> None:
        try:
            data = text.encode()
        except UnicodeEncodeError:
            self._remark("characters that are no Unicode become ?")
            data = text.encode("utf-8", "replace")
            text = data.decode()
        if len(data) > DOCUMENT_BYTES_MAX:
            raise ValueError(f"{kind} of {len(data):,} bytes; at most {DOCUMENT_BYTES_MAX:,}")
        if len(data) <= INLINE_BYTES_MAX:
            self._set_small({"kind": kind, "text": text, "ext": extension, "bytes": len(data), **said})
        else:
            self._set_large(DocumentEncoder(kind, extension, said), data)

    def _withheld(self) -> Document:
        out: Document = Document.__new__(type(self))
        encoder = self._encoder
        if not isinstance(encoder, DocumentEncoder):
            return self
        out._set_small({"kind": encoder.kind, "text": "", "ext": encoder.document, "bytes": 0, **encoder.said})
        return out


class DocumentEncoder:
    def __init__(self, kind: str, extension: str, said: dict[str, Any]) -> None:
        self.kind, self.document, self.said = kind, extension, said

    def __call__(self, parts: Sequence[memoryview], files: Files) -> dict[str, Any]:
        return {"kind": self.kind, **files.add_document(parts[0], self.document), **self.said}


def _text_of(data: object, what: str) -> str:
    """A str as it is, a path as the text of its file."""
    if isinstance(data, str):
        return str.__str__(data)
    if not isinstance(data, os.PathLike):
        raise TypeError(f"{what} must be a str or a path, got {type(data).__name__}")
    path = Path(data)
    if not path.is_file():
        raise ValueError(f"{what}: {path} is no regular file")
    with path.open("rb") as file:
        data_read = file.read(DOCUMENT_BYTES_MAX + 1)
    if len(data_read) > DOCUMENT_BYTES_MAX:
        raise ValueError(f"{what}: {path} has more than {DOCUMENT_BYTES_MAX:,} bytes")
    try:
        return data_read.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{what}: {path} is no UTF-8: {error.reason} at byte {error.start:,}") from None


class Html(Document):
    """A page: its text, or a pathlib.Path to it. Readers must show it in a sandbox: it may hold scripts."""

    __slots__ = ()
    kind = "html"

    def __init__(self, data: str | os.PathLike[str], caption: str | None = None) -> None:
        with self._refusing():
            self._set_text("html", _text_of(data, "html"), "html", dict(caption_of(caption, self)))


class Text(Document):
    """A text with a caption; run.log({"key": "a str"}) logs one without."""

    __slots__ = ()
    kind = "text"

    def __init__(self, data: str | os.PathLike[str], caption: str | None = None) -> None:
        with self._refusing():
            self._set_text("text", _text_of(data, "text"), "txt", dict(caption_of(caption, self)))


class Markdown(Document):
    """A text in Markdown."""

    __slots__ = ()
    kind = "markdown"

    def __init__(self, data: str | os.PathLike[str], caption: str | None = None) -> None:
        with self._refusing():
            self._set_text("markdown", _text_of(data, "markdown"), "md", dict(caption_of(caption, self)))


class Plotly(Document):
    """A figure of Plotly, as its JSON; log() takes the figure itself too."""

    __slots__ = ()
    kind = "plotly"

    def __init__(self, figure: Any, caption: str | None = None) -> None:
        with self._refusing():
            if not hasattr(figure, "to_json"):
                raise TypeError(f"a figure of plotly is expected, got {type(figure).__name__}")
            self._set_text("plotly", str(figure.to_json()), "json", dict(caption_of(caption, self)))
