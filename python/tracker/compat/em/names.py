# SPDX-License-Identifier: MIT
"""Names, times and places as t9k's em gives them, and what of them tracker takes."""

from __future__ import annotations

import os
import re
import time

from tracker import _arguments

STRATEGIES = ("skip", "error", "new", "replace")
SUFFIX = re.compile(r"_\d{6}_\d{6}_[0-9a-z]{6}$")
SUFFIX_CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
TYPES = {
    "training": "train",
    "validate": "val",
    "validation": "val",
    **dict.fromkeys(("testing", "eval", "evaluate", "evaluation"), "test"),
}


def alternative_name(name: str) -> str:
    """`name`, the local time and six characters, which no other run or artifact has."""
    characters = "".join(SUFFIX_CHARACTERS[byte % len(SUFFIX_CHARACTERS)] for byte in os.urandom(6))
    return f"{name}_{time.strftime('%y%m%d_%H%M%S')}_{characters}"


def timestamp(seconds: float) -> str:
    """ISO 8601 in UTC, with milliseconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds * 1000) % 1000:03d}Z"


def checked_strategy(strategy: object) -> str:
    if strategy is None:
        return "new"
    if strategy not in STRATEGIES:
        raise ValueError(f"conflict_strategy must be one of {', '.join(STRATEGIES)}, got {strategy!r}")
    return str(strategy)


def checked_labels(labels: object) -> list[str]:
    """TypeError for anything but a sequence of str."""
    return _arguments.tag_list(labels)


def project_of(folder: object) -> str | None:
    """The project that a folder of em is; None for em's default, so that TRACKER_PROJECT counts there."""
    if folder is None or folder == "default":
        return None
    if not isinstance(folder, str):
        raise TypeError(f"folder must be a str, got {type(folder).__name__}")
    return folder.strip("/") or None


def store_folder() -> str | None:
    """Where runs are recorded: TRACKER_DIR, else EM_RUN_PARENT_DIR, else the default store (None)."""
    return None if os.environ.get("TRACKER_DIR") else os.environ.get("EM_RUN_PARENT_DIR") or None
