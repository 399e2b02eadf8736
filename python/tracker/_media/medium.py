# SPDX-License-Identifier: MIT
"""Media: what log() takes beside numbers and texts. This is their base class; log_media.py is the way from log() on.

A medium is checked and copied by its constructor, so that what it was made from may change at once. Small ones become
an event of the run in the call; the others wait for the thread that encodes them (encode_queue.py).
"""

from __future__ import annotations

from typing import Any, TypeVar

from tracker import _core
from tracker._media.encode_queue import Encoder, Payload

# A value up to here is a part of its event
# Limit: bytes of a text or of numbers within an event. Beyond it: stored as a file.
INLINE_BYTES_MAX = 64 * 1024
# Limit: characters of a caption. Beyond it: cut, and reported.
CAPTION_CHARS_MAX = 4096
# Plainer forms that are reported of one value
# Limit: remarks on the plainer form of one value. Beyond it: not kept.
REMARKS_MAX = 8
# Media of one list
# Limit: media of one list. Beyond it: the rest is dropped and counted.
LIST_VALUES_MAX = 1000


Made = TypeVar("Made", bound="Media")


class Media:
    """What all media are; made by its subclasses. Threads: any may hold and log one, also several times.

    A constructor raises for a wrong argument alone. Data that it cannot show make it a medium with a `problem`, which
    log() counts as refused, by name, and a strict run raises; what is shown in a plainer form is said once and counted.
    """

    __slots__ = ("_description", "_encoder", "_error", "_payload", "_remarks")

    _description: dict[str, Any] | None  # of a small one: the whole value of its event
    _encoder: Encoder | None
    _error: Exception | None  # why it cannot be logged
    _payload: Payload
    _remarks: tuple[str, ...]  # what of it is in a plainer form

    def __new__(cls, *_: Any, **__: Any) -> Any:
        made = super().__new__(cls)
        made._error, made._remarks = None, ()
        return made

    @property
    def problem(self) -> str | None:
        """Why log() will refuse it; None where it will not."""
        return None if self._error is None else str(self._error) or type(self._error).__name__

    def _take_from(self, other: Media) -> None:
        self._description, self._encoder, self._payload = other._description, other._encoder, other._payload
        self._error, self._remarks = other._error, other._remarks

    def _remark(self, what: str) -> None:
        if what not in self._remarks and len(self._remarks) < REMARKS_MAX:
            self._remarks = (*self._remarks, what)

    def _refusing(self) -> _Refusing:
        """In a constructor, around what the data of a step may raise."""
        return _Refusing(self)

    def _set_small(self, description: dict[str, Any]) -> None:
        self._description, self._encoder, self._payload = description, None, ()

    def _set_large(self, encoder: Encoder, *parts: Any) -> None:
        """`encoder` holds no part itself: those may wait in a file."""
        self._description, self._encoder = None, encoder
        self._payload = tuple(memoryview(part).cast("B") for part in parts)

    def _withheld(self) -> Media:
        """Of a large text under the name of a secret: what is said of it, for log_media() to redact."""
        return self


class _Refusing:
    """What is raised within becomes the problem of the medium; a missing package and a signal are raised on."""

    __slots__ = ("_medium",)

    def __init__(self, medium: Media) -> None:
        self._medium = medium

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        if not isinstance(error, Exception) or isinstance(error, ImportError):
            return False
        error.__context__ = error.__cause__ = None  # their frames hold the data
        medium = self._medium
        medium._error = error.with_traceback(None)
        medium._description, medium._encoder, medium._payload = None, None, ()
        return True


def sound(medium: Made) -> Made:
    """As it is; raises its problem where it has one."""
    if medium._error is not None:
        raise medium._error
    return medium


def caption_of(caption: object, medium: Media | None = None) -> dict[str, str]:
    """As a str. A longer one is cut, which is a remark of `medium`."""
    if caption is None:
        return {}
    text = str.__str__(caption) if isinstance(caption, str) else str(caption)
    if len(text) > CAPTION_CHARS_MAX and medium is not None:
        medium._remark(f"its caption of {len(text):,} characters is cut at {CAPTION_CHARS_MAX:,}")
    return {"caption": clean_text(text, CAPTION_CHARS_MAX)}


def clean_text(text: str, limit: int) -> str:
    """At most `limit` characters; what is no Unicode becomes "?"."""
    text = str.__str__(text)
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return text.encode("utf-8", "replace").decode()


def short_text(name: str, text: str, limit: int) -> str:
    if len(text) > limit:
        raise ValueError(f"{name} has {len(text):,} characters; at most {limit:,}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} is not valid Unicode") from None
    return str.__str__(text)


def withheld(key: str, value: Media) -> Media:
    """A large text under a `key` that names a secret without the text, whose place "[redacted]" takes as that of a
    small one; anything else as it is."""
    is_text = value._encoder is not None and getattr(value._encoder, "document", "json") != "json"
    return value._withheld() if is_text and _core.is_secret_key(key) else value
