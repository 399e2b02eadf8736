# SPDX-License-Identifier: MIT
"""run.dir and wandb.save(): files of a run. When the run ends they become the artifact "<id>-files"."""

from __future__ import annotations

import os
import shutil
import tempfile
from glob import glob as matches_of
from pathlib import Path

from tracker.compat.wandb._state import say, say_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    import tracker

POLICIES = ("live", "now", "end")


class Files:
    """The folder <dir>/wandb/run-<id>/files of one run. It is made when it is first asked for."""

    def __init__(self, run: tracker.Run, root: str, run_id: str) -> None:
        self._run, self._id = run, run_id.replace("/", "-")
        self._path = Path(root).absolute() / "wandb" / f"run-{self._id}" / "files"
        self._copied_again: dict[Path, Path] = {}  # by place: where a file that may still change comes from

    @property
    def folder(self) -> Path:
        if self._run._core.mode == "disabled" and self._path.parent.name.startswith("run-"):
            self._path = Path(tempfile.mkdtemp(prefix="wandb-disabled-")) / "files"
        try:
            self._path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            moved = Path(tempfile.mkdtemp(prefix="wandb-")) / "files"
            say(f"wandb: {self._path} cannot be made ({error.strerror}); the files of the run are in {moved}")
            self._path = moved
            self._path.mkdir()
        return self._path

    def save(self, pattern: str | os.PathLike[str], base_path: str | None, policy: str) -> list[str]:
        """Copies what matches into the folder, below its path from `base_path`. Returns the copies."""
        if policy not in POLICIES:
            raise ValueError(f"policy must be one of {', '.join(POLICIES)}, got {policy!r}")
        text = os.fspath(pattern)
        if "://" in text:
            say_once(f"wandb.save: {text} is not a local path: it is not copied")
            return []
        base = Path(base_path if base_path is not None else os.path.dirname(text) or ".").absolute()  # noqa: PTH120
        saved = []
        for found in sorted(matches_of(text, recursive=True)):  # noqa: PTH207 (Path.glob refuses absolute patterns)
            source = Path(found).absolute()
            for file in sorted(source.rglob("*")) if source.is_dir() else [source]:
                if file.is_file():
                    saved.append(str(self._copy(file, base, policy)))
        if not saved:
            say(f"wandb.save: no file matches {text}")
        return saved

    def _copy(self, source: Path, base: Path, policy: str) -> Path:
        relative = os.path.relpath(source, base)
        if relative.startswith(".."):
            raise ValueError(f"{source} is not below base_path {base}")
        place = self.folder / relative
        if policy != "now":
            self._copied_again[place] = source
        if not place.exists() or not place.samefile(source):
            place.parent.mkdir(parents=True, exist_ok=True)
            partial = place.with_name(place.name + ".partial")
            shutil.copy2(source, partial)
            partial.replace(place)
        return place

    def restore(self, name: str, root: str | None, replace: bool) -> Path | None:
        """The file of the run by its name, copied below `root` where that is given; None where it has none."""
        source = self._path / name
        if not source.is_file():
            return None
        if root is None:
            return source
        place = Path(root) / name
        if replace or not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place)
        return place

    def store(self) -> None:
        """To be called once, before the run ends: all that is in the folder becomes an artifact."""
        for place, source in self._copied_again.items():
            try:
                if source.exists() and source.stat().st_mtime_ns != place.stat().st_mtime_ns:
                    shutil.copy2(source, place)
            except OSError as error:
                say(f"wandb.save: {source} could not be copied again: {error.strerror}")
        if not self._run._recorded or not self._path.is_dir() or not any(self._path.iterdir()):
            return
        try:
            self._run.log_artifact(self._path, name=f"{self._id}-files", type="files")
        except Exception as error:  # the run ends all the same
            say(f"wandb: the files in {self._path} are not an artifact of the run: {error}")
