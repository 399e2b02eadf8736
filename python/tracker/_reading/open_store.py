# SPDX-License-Identifier: MIT
"""Where a store is, and opening it to read: for runs and artifacts alike."""

from __future__ import annotations

import os
import sys

from tracker import _arguments, _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def store_before_hydra() -> str | None:
    """Hydra changes the working directory per job: the search for the store starts where the program was started."""
    hydra: Any = sys.modules.get("hydra.core.hydra_config")
    if hydra is None or os.environ.get("TRACKER_DIR"):
        return None
    try:
        if not hydra.HydraConfig.initialized():
            return None
        from pathlib import Path

        start = Path(hydra.HydraConfig.get().runtime.cwd)
    except Exception:
        return None
    for folder in (start, *start.parents):
        if (folder / ".tracker").is_dir():
            return str(folder / ".tracker")
    return str(start / ".tracker")


def _path_of(dir: object) -> tuple[str, bool]:
    """The folder and whether somebody named it."""
    named = _arguments.folder("dir", dir)
    try:
        path = _core.Store.resolve(named or store_before_hydra() or "")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"the path of the store is not UTF-8: {error.object!r}; dir= or TRACKER_DIR names another"
        ) from None
    return path, named is not None or bool(os.environ.get("TRACKER_DIR"))


def open_store(dir: object) -> _core.Store:
    """NotFoundError where there is none."""
    return _core.Store.open(_path_of(dir)[0])


def open_if_there(dir: object) -> _core.Store | None:
    """None where there is none yet: NotFoundError only for one that somebody has named."""
    path, named = _path_of(dir)
    try:
        return _core.Store.open(path)
    except _core.NotFoundError:
        if named:
            raise
        return None
