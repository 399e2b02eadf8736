# SPDX-License-Identifier: MIT
"""What init() accepts, and the errors that say what was expected."""

from __future__ import annotations

import os
from collections.abc import Iterable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def refuse_unknown(names: Iterable[str], known: list[str]) -> NoReturn:
    """TypeError that names the nearest option."""
    import difflib

    name = next(iter(names))
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else f"; the options are {', '.join(known)}"
    raise TypeError(f"init() got an unexpected keyword argument {name!r}{hint}")


CAPTURES = ("command", "environment", "diff", "source")


def capture(value: object) -> str | None:
    """Of the argument capture what the core takes: "none" or names with commas."""
    if value is None:
        return None
    words = value.replace(",", " ").split() if isinstance(value, str) else value
    if not isinstance(words, Iterable) or isinstance(words, (bytes, bytearray)):
        raise TypeError(f"capture must be a str or a list of str, got {type(value).__name__}")
    names = list(words)
    for name in names:
        if name not in (*CAPTURES, "none"):
            raise ValueError(f'capture must be "none" or some of {", ".join(CAPTURES)}, got {name!r}')
    if "none" in names and len(names) > 1:
        raise ValueError('capture: "none" stands alone')
    return ",".join(names)


def interval(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"system_interval must be a number of seconds, got {type(value).__name__}")
    if value != value:  # NaN, which the core takes for "not given"
        raise ValueError("system_interval must be a number of seconds, got nan")
    return float(value)


def console(console: object, captured: str | None) -> str:
    """How what is printed is recorded, "off" for not at all: the arguments, else TRACKER_CAPTURE."""
    known = ("python", "off", "fd")
    if console is not None and console not in known:
        raise ValueError(f"console must be one of {', '.join(known)}, got {console!r}")
    if isinstance(console, str):
        return console
    return "off" if (captured or os.environ.get("TRACKER_CAPTURE")) == "none" else "python"


def text(name: str, value: object) -> str | None:
    """A str argument that may be None."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {type(value).__name__}")
    return utf8(name, value)


def utf8(name: str, value: str) -> str:
    """The text as a plain str. A path of bytes that are no UTF-8 comes with lone surrogates (os.fsdecode)."""
    try:
        str.encode(value)
    except UnicodeEncodeError:
        raise ValueError(f"{name} is not UTF-8: {ascii(value)[:100]}") from None
    return str.__str__(value)


# The core says what else it expected of a str.
CHOICES = {
    "resume": ("never", "allow", "must"),
    "mode": ("local", "online", "offline", "disabled"),
    "ranks": ("first", "observe", "all"),
    "journal": ("shm", "disk", "memory"),
    "on_full": ("wait", "drop", "block"),
    "on_sigterm": ("mark",),
    "on_exit": ("finish", "leave"),
    "duplicate_policy": ("last", "first"),
}


def label(name: str, value: object) -> str | None:
    """A str that must not be empty: the core takes "" for "not given"."""
    if name in CHOICES and value is not None and not isinstance(value, str):
        expected = " or ".join(f'"{choice}"' for choice in CHOICES[name])
        raise TypeError(f"{name} must be {expected}, got {value!r}"[:300])
    checked = text(name, value)
    if checked == "":
        raise ValueError(f"{name} must not be empty; leave it out for the default")
    return checked


def folder(name: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} must be a path, got {type(value).__name__}")
    path = os.fspath(value)
    if not isinstance(path, str):
        raise TypeError(f"{name} must be a path of text, got {type(path).__name__}")
    if "\0" in path:
        raise ValueError(f"{name} holds a NUL character: {ascii(path)[:100]}")
    return label(name, path)


def flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {type(value).__name__}")
    return value


def number(name: str, value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int, got {type(value).__name__}")
    if not 0 <= value < 2**31:
        raise ValueError(f"{name} must be 0 or more, got {value}")
    return int(value)


def seconds(name: str, value: float) -> float:
    """A timeout argument. TypeError or ValueError says what was expected."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number of seconds, got {type(value).__name__}")
    if not value >= 0:
        raise ValueError(f"{name} must be 0 or more seconds, got {value}")
    return float(value)


def byte_size(name: str, value: object) -> str | None:
    """A number of bytes or a text such as "10GB", which the core reads."""
    if value is None or isinstance(value, str):
        return label(name, value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f'{name} must be an int of bytes or a str such as "10GB", got {type(value).__name__}')
    return str(int(value))


def summary_kinds(value: object) -> list[str]:
    if value is None:
        return []
    kinds: list[str] = []
    for kind in [value] if isinstance(value, str) or not isinstance(value, Iterable) else value:
        if not isinstance(kind, str):
            raise TypeError(f"summary must be a str or a list of str, got {type(kind).__name__}")
        kinds.append(kind)
    return kinds


def tag_list(value: object) -> list[str]:
    if value is None:
        return []
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"tags must be a list of str, got {type(value).__name__}")
    tags = list(value)
    for tag in tags:
        if not isinstance(tag, str):
            raise TypeError(f"tags must be a list of str, got one with {type(tag).__name__}")
    return [utf8("a tag", tag) for tag in tags]
