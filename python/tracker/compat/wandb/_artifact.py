# SPDX-License-Identifier: MIT
"""wandb.Artifact: a version in the making, or one that is stored, with the verbs of the original."""

from __future__ import annotations

import os
from pathlib import Path

import tracker
from tracker.compat._accepted import Inert, accept
from tracker.compat.wandb import _state
from tracker.compat.wandb._names import ARTIFACT
from tracker.compat.wandb._table import Table
from tracker.compat.wandb._version import TABLE_END, Entry, Version
from tracker.compat.wandb.errors import CommError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import IO, Any

    Run = Any  # wandb's, of _run.py, which is above this module


class Artifact(Version):
    """Files under a name and a type."""

    def __init__(
        self,
        name: str,
        type: str,
        description: str | None = None,
        metadata: dict[str, Any] | None = None,
        incremental: bool = False,
        use_as: str | None = None,
        storage_region: str | None = None,
    ) -> None:
        self._made = tracker.Artifact(name, type, description, metadata)
        self._entity = ""
        self._project = ""
        self._name = name
        self._aliases = []
        self._tags = []
        self._ttl = None
        self._metadata = dict(metadata or {})

    # --- making it --------------------------------------------------------------------------------------------------

    def add_file(
        self,
        local_path: str | os.PathLike[str],
        name: str | None = None,
        is_tmp: bool = False,
        skip_cache: bool = False,
        policy: str = "mutable",
        overwrite: bool = False,
    ) -> Entry:
        inside = name or Path(local_path).name
        if overwrite and self._has(inside):
            self._draft.remove(inside)
        if not Path(local_path).is_file():
            raise ValueError(f"Path is not a file: {os.fspath(local_path)!r}")
        self._draft.add_file(local_path, inside)
        return self._entry(inside)

    def add_dir(
        self,
        local_path: str | os.PathLike[str],
        name: str | None = None,
        skip_cache: bool = False,
        policy: str = "mutable",
        merge: bool = False,
    ) -> None:
        if not Path(local_path).is_dir():
            raise ValueError(f"Path is not a directory: {os.fspath(local_path)!r}")
        self._draft.add_dir(local_path, name)

    def add_reference(
        self, uri: Any, name: str | None = None, checksum: bool = True, max_objects: int | None = None
    ) -> list[Entry]:
        """Nothing is read or fetched."""
        text = str(getattr(uri, "ref_url", lambda: uri)())
        inside = name or text.rstrip("/").rpartition("/")[2]
        self._draft.add_reference(text, inside)
        return [self._entry(inside)]

    def add(self, obj: Any, name: str, overwrite: bool = False) -> Entry | Inert:
        """A Table, which get(name) gives back. Other objects are accepted and not stored."""
        if not isinstance(obj, Table):
            return accept("wandb", f"Artifact.add({type(obj).__name__})")
        inside = name if name.endswith(TABLE_END) else f"{name}{TABLE_END}"
        if overwrite and self._has(inside):
            self._draft.remove(inside)
        with self._draft.new_file(inside) as file:
            file.write(obj._json())
        return self._entry(inside)

    def new_file(self, name: str, mode: str = "x", encoding: str | None = None) -> AbstractContextManager[IO[Any]]:
        return self._draft.new_file(name, mode, encoding)

    def remove(self, item: Any) -> None:
        self._draft.remove(str(getattr(item, "name", item)))

    def _has(self, name: str) -> bool:
        return any(entry.name == name for entry in self._draft.files())

    def save(self, project: str | None = None, settings: object = None) -> None:
        """Logs it with the current run. After that: its aliases, tags, description and metadata again."""
        if isinstance(self._made, tracker.Artifact):
            log(_state.require("Artifact.save()"), self, None, None, None, None)
        else:
            accept("wandb", "Artifact.save() of a stored version")

    def __getattr__(self, name: str) -> Inert:
        if name in ARTIFACT:
            return accept("wandb", f"Artifact.{name}")
        raise AttributeError(f"a wandb.Artifact has no {name!r}")

    def __repr__(self) -> str:
        return f"<wandb.Artifact {self._name}>"


def log(
    run: Run, given: Any, name: str | None, type: str | None, aliases: list[str] | str | None, tags: list[str] | None
) -> Artifact:
    if isinstance(given, Artifact):
        artifact = given
    else:
        path = Path(given)
        artifact = Artifact(name or f"run-{run.id}-{path.name}".replace("/", "-"), type or "unspecified")
        if path.is_dir():
            artifact.add_dir(path)
        else:
            artifact.add_file(path)
    if not isinstance(artifact._made, tracker.Artifact):
        accept("wandb", "log_artifact() of a stored version")
        return artifact
    wanted = [aliases] if isinstance(aliases, str) else list(aliases or ())
    artifact._aliases = list(dict.fromkeys([*artifact._aliases, *wanted, "latest"]))
    artifact._tags = list(dict.fromkeys([*artifact._tags, *(tags or ())]))
    artifact._project, artifact._entity = run.project, run.entity
    artifact._made.metadata = artifact._metadata
    own = [alias for alias in artifact._aliases if alias != "latest"]  # that one moves by itself
    run._run.log_artifact(artifact._made, aliases=own, tags=artifact._tags, ttl=artifact._ttl)
    return artifact


def use(run: Run, given: Any, type: str | None, use_as: str | None) -> Artifact:
    if isinstance(given, Artifact):
        run._run.use_artifact(given._made, use_as=use_as)
        given._project, given._entity = given._project or run.project, given._entity or run.entity
        return given
    text = str(given).removeprefix("wandb-artifact://")
    if text.count("/") == 2:  # entity/project/name: the entity is a label alone
        text = text.partition("/")[2]
    try:
        found = run._run.use_artifact(text, type, use_as)
    except tracker.NotFoundError as error:
        raise CommError(str(error)) from error
    return stored(found, run.entity)


def stored(found: Any, entity: str) -> Artifact:
    out = Artifact.__new__(Artifact)
    out._made = found
    out._entity, out._project, out._name = entity, found.project, found.name
    out._aliases, out._tags, out._ttl = list(found.aliases), list(found.tags), None
    out._metadata = dict(found.metadata)
    return out
