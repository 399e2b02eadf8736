# SPDX-License-Identifier: MIT
"""Archives of fixtures, which this project has packed itself."""

from __future__ import annotations

import tarfile
from pathlib import Path


def unpack_tar(archive: Path, to: Path) -> None:
    """All of it below `to`. Debian 12's Python 3.11.2 has no filters yet."""
    with tarfile.open(archive) as packed:
        if hasattr(tarfile, "data_filter"):
            packed.extractall(to, filter="data")
        else:
            packed.extractall(to)
