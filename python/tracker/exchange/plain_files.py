# SPDX-License-Identifier: MIT
"""What of a source is read: regular files and folders. A link may lead anywhere, a pipe is waited for without end."""

from __future__ import annotations

import os
import stat
from pathlib import Path


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
