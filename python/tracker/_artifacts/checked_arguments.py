# SPDX-License-Identifier: MIT
"""Arguments of Artifact and log_artifact(); TypeError and ValueError say what was expected."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

from tracker import _arguments


def path_argument(what: str, value: object) -> str:
    path = _arguments.folder(what, value)
    if path is None:
        raise TypeError(f"{what} must be a path, got None")
    clean = _arguments.utf8(what, path)
    return str(Path(clean).expanduser()) if clean.startswith("~/") else clean


def name_in_artifact(name: object) -> str:
    if name is None:
        return ""
    return _arguments.utf8("name", os.fspath(name) if isinstance(name, os.PathLike) else text_argument("name", name))


def text_argument(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, got {type(value).__name__}")
    return _arguments.utf8(what, value)


def time_to_live(ttl: object) -> int | None:
    if ttl is None:
        return None
    if isinstance(ttl, timedelta):
        ttl = ttl.total_seconds()
    if isinstance(ttl, bool) or not isinstance(ttl, (int, float)):
        raise TypeError(f"ttl must be seconds or a timedelta, got {type(ttl).__name__}")
    if not 0 < ttl < 2**53:
        raise ValueError(f"ttl must be more than 0 seconds, got {ttl}")
    return max(1, int(ttl))


def copy_choice(copy: object) -> bool | None:
    if copy is not None and not isinstance(copy, bool):
        raise TypeError(f"copy must be True, False or None, got {type(copy).__name__}")
    return copy


def labels_argument(what: str, value: object) -> list[str]:
    if isinstance(value, str):
        raise TypeError(f"{what} must be a list of str; did you mean [{value!r}]?")
    if value is None:
        return []
    if not isinstance(value, Iterable):
        raise TypeError(f"{what} must be a list of str, got {type(value).__name__}")
    return [text_argument(f"one of {what}", each) for each in value]
