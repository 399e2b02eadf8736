# SPDX-License-Identifier: MIT
"""Artifact of em: files are copied when they are added, and become a version of the store when a run marks them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time
from pathlib import Path, PurePosixPath
from typing import Any

import tracker
from tracker.compat import _upload
from tracker.compat._report import gated, report
from tracker.compat.em.names import alternative_name, checked_labels, checked_strategy, timestamp

PARENT = Path(".em", "artifacts")
ABOUT = ".em.json"  # in the local folder: what load_artifact() reads
TYPE = "artifact"


def _inside(path: str | None, default: str) -> str:
    """The path in the artifact of what is called `default` outside; a path that ends with "/" is a folder for it."""
    inside = default if path is None else path + default if path.endswith("/") else path
    parts = PurePosixPath(inside).parts
    if not parts or inside.startswith("/") or ".." in parts:
        raise ValueError(f"obj_path must be a path within the artifact, got {path!r}")
    return str(PurePosixPath(*parts))


def _is_store(folder: Path) -> bool:
    return (folder / "store.json").is_file() and (folder / "runs").is_dir()


class Artifact:
    """Files, folders and references under a name; made by em.create_artifact() and em.load_artifact().

    Their copies are below EM_ARTIFACT_PARENT_DIR, or ".em/artifacts": there they stay while no run has marked the
    artifact. Without that variable the copies of a stored artifact are removed when its run is finished. A rank that
    records nothing copies nothing. Threads: one at a time.
    """

    def __init__(self, metadata: dict[str, Any], objects: Any = None) -> None:
        self._kept = bool(os.environ.get("EM_ARTIFACT_PARENT_DIR"))
        self._references: dict[str, str] = {}
        self._made: tracker.Artifact | tracker.StoredArtifact | None = None
        self._run: tracker.Run | None = None  # the last one that marked it
        self._changed = False
        self.remote: list[dict[str, str]] = []
        self.parse_from_dict({**metadata, "objects": objects or metadata.get("objects", ())})

    def parse_from_dict(self, data: dict[str, Any]) -> None:
        """Takes over what to_dict() has returned. Files are found in the local folder."""
        self.name: str = str(data["name"])
        self.labels = checked_labels(data.get("labels"))
        self.description = str(data.get("description") or "")
        self.created_timestamp = str(data.get("created_timestamp") or timestamp(time.time()))
        self.alternative_name = str(data.get("alternative_name") or alternative_name(self.name))
        parent = os.environ.get("EM_ARTIFACT_PARENT_DIR") or PARENT
        called = self.alternative_name.replace("/", "-")
        self.local = str(data.get("local") or Path(parent, called).absolute())
        self._references = {each["path"]: each["uri"] for each in data.get("objects") or () if each.get("uri")}

    def to_dict(self) -> dict[str, Any]:
        return {**self._about(), "objects": self.objects, "remote": list(self.remote), "local": self.local}

    def _about(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "labels": list(self.labels),
            "description": self.description,
            "created_timestamp": self.created_timestamp,
            "alternative_name": self.alternative_name,
        }

    def _listed_references(self) -> list[dict[str, str]]:
        return [{"path": path, "uri": uri} for path, uri in self._references.items()]

    @property
    def objects(self) -> list[dict[str, str]]:
        """Each file with its path, and each reference with its path and URI."""
        folder = Path(self.local)
        if folder.is_dir():
            found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
            files = sorted(path for path in found if path != ABOUT)
        else:
            files = [] if self._made is None else [each.name for each in self._made.files() if not each.uri]
        return [*({"path": path} for path in files), *self._listed_references()]

    def add_file(self, file_path: str | os.PathLike[str], obj_path: str | None = None) -> None:
        """Copies a file. FileNotFoundError, IsADirectoryError; ValueError for an obj_path outside of the artifact."""
        source = Path(file_path)
        target = self._target(_inside(obj_path, source.name))
        if target is not None:
            shutil.copy2(source, target)

    def add_dir(self, dir_path: str | os.PathLike[str], obj_path: str | None = None) -> None:
        """Copies all files of a folder, without stores of tracker and the copies of artifacts below it."""
        source = Path(dir_path).absolute()
        target = self._target(_inside(obj_path, source.resolve().name))
        if target is None:
            return
        copies = Path(self.local).parent.resolve()

        def left_out(folder: str, names: list[str]) -> list[str]:
            below = {name: Path(folder, name) for name in names}
            return [name for name, path in below.items() if _is_store(path) or path.resolve() == copies]

        shutil.copytree(source, target, ignore=left_out, dirs_exist_ok=True)

    def add_reference(self, uri: str, obj_path: str | None = None) -> None:
        """Adds a URI. Nothing is read or fetched."""
        path = _inside(obj_path, uri.rstrip("/").rpartition("/")[2])
        if self._target(path) is not None:
            self._references[path] = uri
            self._write_about()

    def _target(self, path: str) -> Path | None:
        """Where the object is to be written; None on a rank that records nothing."""
        if gated():
            return None
        if isinstance(self._made, tracker.Artifact) and self._made.state == "pending":
            with contextlib.suppress(tracker.TrackerError):  # a refused artifact was reported and may be changed
                self._made.wait()
        self._restore()
        self._changed = True
        target = Path(self.local, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        self._write_about()
        return target

    def _restore(self) -> None:
        """Brings the files of a stored artifact back whose copies were removed."""
        if self._made is not None and not Path(self.local).is_dir():
            self._made.download(self.local)

    def _write_about(self) -> None:
        """Writes what load_artifact() needs beside the files."""
        Path(self.local, ABOUT).write_text(json.dumps({**self._about(), "objects": self._listed_references()}))

    def _mark(self, run: tracker.Run, is_input: bool) -> None:
        """Makes it an output or an input of the run."""
        self._run = run
        if not run._recorded:
            return
        if self._made is not None and not self._changed and is_input:
            run.use_artifact(self._made)
            return
        self._restore()
        made = tracker.Artifact(re.sub("[/:@]", "-", self.name), TYPE, self.description, {"labels": self.labels})
        if Path(self.local).is_dir():
            made.add_dir(self.local)
            with contextlib.suppress(tracker.NotFoundError):
                made.remove(ABOUT)
        for path, uri in self._references.items():
            made.add_reference(uri, path)
        if is_input:
            run.use_artifact(made)
        else:
            run.log_artifact(made, aliases=[re.sub("[/:@]", "-", self.alternative_name)], tags=self.labels)
        self._made, self._changed = made, False

    def _release(self) -> None:
        """Removes the copies once the store has the files, unless the person has chosen a folder for them."""
        stored = isinstance(self._made, tracker.Artifact) and self._made.state == "stored"
        if self._kept or self._changed or not stored:
            return
        shutil.rmtree(self.local, ignore_errors=True)
        for folder in (Path(self.local).parent, Path(self.local).parent.parent):
            with contextlib.suppress(OSError):  # it holds something else
                folder.rmdir()

    def upload(self, folder: str = "default", make_folder: bool = False, conflict_strategy: str = "new") -> None:
        """Sends it with the run that it is an input or an output of."""
        strategy = checked_strategy(conflict_strategy)
        if self._run is not None:
            _upload.upload(self._run, folder or "default", bool(make_folder), strategy)
        else:
            report(f"the artifact {self.name} is in {self.local}: only artifacts that a run has marked are sent")

    def __repr__(self) -> str:
        return f"<tracker.compat.em.Artifact {self.alternative_name}>"
