# SPDX-License-Identifier: MIT
"""What a wandb.Artifact says of itself and of its files. What is asked of a version waits until it is stored."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import tracker
from tracker.compat.wandb._table import from_json

WAIT_S = 30.0  # for a version that is asked for right after it was logged
TABLE_END = ".table.json"


class Entry:
    """A file, or a reference to something elsewhere."""

    def __init__(self, artifact: Version, file: tracker.ArtifactFile) -> None:
        self._artifact, self._file = artifact, file

    @property
    def name(self) -> str:
        return self._file.name

    @property
    def path(self) -> str:
        return self._file.name

    @property
    def size(self) -> int:
        return self._file.size

    @property
    def digest(self) -> str:
        """SHA-256 in hex digits, once the artifact is stored; of a reference its checksum."""
        return self._file.digest or self._file.checksum

    @property
    def ref(self) -> str | None:
        return self._file.uri or None

    def ref_target(self) -> str:
        if not self._file.uri:
            raise ValueError("Only reference entries support ref_target().")
        return self._file.uri

    def ref_url(self) -> str:
        return f"wandb-artifact://{self._artifact.qualified_name}/{self.name}"

    @property
    def local_path(self) -> str:
        """Where the store has it."""
        return str(self._artifact._version.get_path(self.name))

    def download(self, root: str | os.PathLike[str] | None = None, skip_cache: bool | None = None) -> str:
        """Writes this file below `root` and returns its path."""
        folder = self._artifact.download(root, path_prefix=self.name)
        return str(Path(folder) / self.name)


class Manifest:
    def __init__(self, entries: dict[str, Entry]) -> None:
        self.entries = entries

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[dict[str, str | int]]:
        for entry in self.entries.values():
            yield {"path": entry.path, "size": entry.size}


class Version:
    """Base of Artifact."""

    _made: tracker.Artifact | tracker.StoredArtifact
    _entity: str
    _project: str
    _name: str  # without its version
    _aliases: list[str]
    _tags: list[str]
    _ttl: Any
    _metadata: dict[str, Any]

    @property
    def _draft(self) -> tracker.Artifact:
        if not isinstance(self._made, tracker.Artifact):
            raise ValueError(f"the artifact {self._name!r} is stored and does not change; make a new one")
        return self._made

    @property
    def _version(self) -> tracker.Artifact | tracker.StoredArtifact:
        """Stored, where it was logged and is recorded."""
        made = self._made
        if isinstance(made, tracker.Artifact) and made.state == "pending":
            try:
                made.wait(WAIT_S)
            except (tracker.TrackerError, TimeoutError):  # said on stderr; it stays a draft
                pass
        return made

    @property
    def version(self) -> str | None:
        return self._version.version

    @property
    def name(self) -> str:
        """With its version, once it was logged."""
        version = self.version
        return f"{self._name}:{version}" if version else self._name

    @property
    def project(self) -> str:
        return self._project

    @property
    def entity(self) -> str:
        return self._entity

    @property
    def qualified_name(self) -> str:
        return "/".join(filter(None, (self.entity, self.project, self.name)))

    source_name = name
    source_qualified_name = qualified_name

    @property
    def collection(self) -> str:
        return self._name

    @property
    def type(self) -> str:
        return self._made.type

    @property
    def digest(self) -> str | None:
        return self._version.digest

    @property
    def id(self) -> str | None:
        return self.digest

    @property
    def size(self) -> int:
        return self._made.size

    @property
    def file_count(self) -> int:
        return self._made.file_count

    @property
    def state(self) -> str:
        return "COMMITTED" if self.version else "PENDING"

    @property
    def description(self) -> str | None:
        return self._made.description or None

    @description.setter
    def description(self, value: str | None) -> None:
        self._draft.description = value or ""

    @property
    def metadata(self) -> dict[str, Any]:
        return self._metadata

    @metadata.setter
    def metadata(self, value: dict[str, Any]) -> None:
        self._metadata = dict(value)

    @property
    def aliases(self) -> list[str]:
        """A list that may be changed before save()."""
        return self._aliases

    @aliases.setter
    def aliases(self, value: list[str]) -> None:
        self._aliases = list(value)

    @property
    def tags(self) -> list[str]:
        return self._tags

    @tags.setter
    def tags(self, value: list[str]) -> None:
        self._tags = list(value)

    @property
    def ttl(self) -> Any:
        return self._ttl

    @ttl.setter
    def ttl(self, value: Any) -> None:
        """A timedelta or seconds, counted from the moment it is logged."""
        self._ttl = value

    @property
    def created_at(self) -> str | None:
        made = self._version
        made = made._found() or made if isinstance(made, tracker.Artifact) else made
        created = getattr(made, "created", None)
        return None if created is None else created.isoformat()

    updated_at = created_at

    @property
    def url(self) -> str | None:
        return None

    def is_draft(self) -> bool:
        return self.version is None

    # --- reading ----------------------------------------------------------------------------------------------------

    @property
    def manifest(self) -> Manifest:
        return Manifest({entry.name: Entry(self, entry) for entry in self._version.files()})

    def _entry(self, name: str) -> Entry:
        return Entry(self, self._version.get_entry(name))

    def get_entry(self, name: str) -> Entry:
        """KeyError where there is none."""
        try:
            return self._entry(name)
        except tracker.NotFoundError as error:
            raise KeyError(f"Path not contained in artifact: {name}") from error

    get_path = get_entry

    def get(self, name: str) -> Any:
        """The Table that add() took; None where there is none of that name."""
        inside = name if name.endswith(TABLE_END) else f"{name}{TABLE_END}"
        try:
            return from_json(Path(self._version.get_path(inside)).read_text(encoding="utf-8"))
        except (tracker.NotFoundError, tracker.ClosedError, ValueError):
            return None

    def files(self, names: list[str] | None = None, per_page: int = 50) -> list[Entry]:
        return [entry for entry in self.manifest.entries.values() if names is None or entry.name in names]

    def _folder(self) -> str:
        parent = os.environ.get("WANDB_ARTIFACT_DIR") or "artifacts"
        return str(Path(parent).absolute() / self.name)

    def download(
        self,
        root: str | os.PathLike[str] | None = None,
        allow_missing_references: bool = False,
        skip_cache: bool | None = None,
        path_prefix: str | None = None,
        multipart: bool | None = None,
    ) -> str:
        """Writes the files below `root`, by default ./artifacts/<name>:<version>, and returns that folder."""
        return self._version.download(root if root is not None else self._folder(), path_prefix=path_prefix or "")

    def checkout(self, root: str | None = None) -> str:
        return self.download(root)

    def file(self, root: str | None = None) -> str:
        """The path of the only file. ValueError where there are several."""
        names = list(self.manifest.entries)
        if len(names) != 1:
            raise ValueError(f"the artifact {self.name!r} has {len(names)} files: file() is for one")
        return str(Path(self.download(root)) / names[0])

    def verify(self, root: str | None = None) -> None:
        self._version.verify()

    def wait(self, timeout: float | None = None) -> Self:
        self._made.wait(timeout)
        return self

    def finalize(self) -> None:
        """Nothing is to be done."""
