# SPDX-License-Identifier: MIT
"""What of a source is read: regular files and folders. A link may lead anywhere, a pipe is waited for without end."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

# Limit: run files of W&B or SwanLab below a source. Beyond it: an error.
RUN_FILES_MAX = 100 * 1000
# Of folders within each other.
# Limit: nesting of folders among the files of an MLflow run. Beyond it: files below are counted, the first folder is
# named.
MLFLOW_DEPTH_MAX = 16


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


def below(folder: Path, name: object) -> Path | None:
    """Where a source says something lies in its folder: through folders alone. None: it leads elsewhere."""
    parts = name.split("/") if isinstance(name, str) else []
    if not parts or any(part in ("", ".", "..") or "\0" in part for part in parts):
        return None
    for part in parts:
        if not is_folder(folder):
            return None
        folder /= part
    return folder


def file_below(folder: Path, name: object) -> Path | None:
    """A file that a source names, in its folder and through no link. None: there is none."""
    path = below(folder, name)
    return path if path is not None and is_plain(path) else None


def folder_below(folder: Path, name: object) -> Path | None:
    path = below(folder, name)
    return path if path is not None and is_folder(path) else None


class Skipped:
    """What files_below() passes over."""

    def __init__(self) -> None:
        self.links = 0
        self.others = 0  # pipes, sockets, devices; files in more than MLFLOW_DEPTH_MAX folders
        self.too_deep: list[str] = []  # folders in MLFLOW_DEPTH_MAX others
        self.unread: list[str] = []  # a line for each folder that cannot be read

    def entries_of(self, folder: Path) -> list[os.DirEntry[str]]:
        """Sorted; none of what is gone by now."""
        try:
            return sorted(os.scandir(folder), key=lambda one: one.name)
        except FileNotFoundError:
            return []
        except OSError as error:
            self.unread.append(f"{visible(str(folder))} cannot be read: {error.strerror}")
            return []

    def count_below(self, folder: Path) -> None:
        waiting = [folder]
        while waiting:
            for entry in self.entries_of(waiting.pop()):
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
                else:
                    self.others += 1


def visible(path: str) -> str:
    """A path as far as a text can have it."""
    return path.encode("utf-8", "replace").decode()


def files_below(folder: Path, skipped: Skipped, depth: int = 0) -> Iterator[tuple[str, Path]]:
    """(name with slashes, path) of the plain files, sorted."""
    if not is_folder(folder):
        skipped.links += folder.is_symlink()
        return
    for entry in skipped.entries_of(folder):
        if entry.is_file(follow_symlinks=False):
            yield entry.name, Path(entry.path)
        elif entry.is_symlink():
            skipped.links += 1
        elif not entry.is_dir(follow_symlinks=False):
            skipped.others += 1
        elif depth >= MLFLOW_DEPTH_MAX:
            skipped.too_deep.append(visible(entry.path))
            skipped.count_below(Path(entry.path))
        else:
            for name, path in files_below(Path(entry.path), skipped, depth + 1):
                yield f"{entry.name}/{name}", path


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
