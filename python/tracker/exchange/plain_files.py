# SPDX-License-Identifier: MIT
"""What of a source is read: regular files and folders. A link may lead anywhere, a pipe is waited for without end."""

from __future__ import annotations

import os
import stat
from pathlib import Path

RUN_FILES_MAX = 100 * 1000


def _mode(path: str | Path) -> int:
    try:
        return os.lstat(path).st_mode
    except (OSError, ValueError):
        return 0


def is_plain(path: str | Path) -> bool:
    """A regular file, and no link to one."""
    return stat.S_ISREG(_mode(path))


def is_folder(path: str | Path) -> bool:
    """A folder, and no link to one."""
    return stat.S_ISDIR(_mode(path))


def run_files(source: str, suffix: str) -> list[str]:
    """The files below `source` whose names end so, or itself. Links are not followed: W&B's `latest-run` is one."""
    if not Path(source).is_dir():
        if not Path(source).is_file():  # a pipe would be waited for
            raise ValueError(f"{source} is no regular file")
        return [source]
    found: list[str] = []
    for folder, folders, names in os.walk(source):
        folders.sort()
        found += [path for name in sorted(names) if name.endswith(suffix) and is_plain(path := str(Path(folder, name)))]
        if len(found) > RUN_FILES_MAX:
            raise ValueError(f"{source} holds more than {RUN_FILES_MAX:,} run files; import its folders one by one")
    return found
