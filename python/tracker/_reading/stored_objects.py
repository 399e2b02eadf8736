# SPDX-License-Identifier: MIT
"""StoredRun and StoredArtifact: a run names the versions that it made and used, a version the runs that did, so both
are here."""

from __future__ import annotations

import datetime
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, overload

from tracker import _arguments, _core, _open_runs
from tracker._reading import open_store, row_selection
from tracker._reading.own_copy import OwnCopy
from tracker._reading.run_reader import RunReader


class ArtifactFile(NamedTuple):
    """A file or a reference of an artifact."""

    name: str  # its path in the artifact
    size: int  # bytes; of a reference as its maker said, 0 where unknown
    digest: str  # SHA-256, 64 hex digits; "" of a reference
    uri: str  # of a reference; else ""
    checksum: str  # of a reference, as its maker gave it


class ArtifactUse(NamedTuple):
    """That a run made a version of an artifact, or used it."""

    name: str  # "project/name:v3", as it is called in this store; "project/name@9f86d081ab12" where it is not in it
    type: str
    digest: str
    aliases: tuple[str, ...]  # as they were then
    use_as: str
    time: float  # seconds since 1970
    store_path: str

    def artifact(self) -> StoredArtifact:
        """The version with this digest. NotFoundError where it was deleted, or the run was copied without it."""
        called = re.sub(r"[:@][^/:@]*$", "", self.name)
        return StoredArtifact(_core.find_artifact(_core.Store.open(self.store_path), f"{called}@{self.digest}", ""))


class RefusedArtifact(NamedTuple):
    """An artifact that a run logged, or used by its files, and that was not stored."""

    name: str  # "project/name"
    type: str
    use: str  # "output" or "input"
    use_as: str
    reason: str  # one line
    time: float  # seconds since 1970
    number: int | None = None  # the how manyeth of its name that the process logged; None: not known
    aliases: tuple[str, ...] = ()  # that it was to have


class Reading(OwnCopy):
    """What a stored version answers. Private: the base of Artifact and StoredArtifact."""

    def _version(self) -> _core.StoredVersion:
        raise NotImplementedError

    def download(self, root: str | os.PathLike[str] | None = None, *, path_prefix: str = "") -> str:
        """Writes the files below `root` and returns that folder; None: a folder in the store, the same each time.

        Each file is checked against its digest and appears whole, in the place of what was there; what is there
        already is left. References are not fetched. path_prefix: only files whose names begin with it; NotFoundError
        where none does. CorruptError names a damaged file, StoreError a folder that cannot be written. LimitError:
        without `root`, where the run's max_disk has no room for them in the store; nothing was written. Threads: any,
        without the GIL.
        """
        folder = _arguments.folder("root", root) or ""
        prefix = _arguments.utf8("path_prefix", path_prefix)
        if prefix and not any(entry.name.startswith(prefix) for entry in self.files()):
            raise _core.NotFoundError(f"{self!r} has no file whose name begins with {prefix!r}")
        written: str = self._version().download(folder, prefix, "")[0]
        return str(Path(written).absolute())

    def verify(self, *, deep: bool = True) -> None:
        """Holds the version against its files; deep: every byte is read. CorruptError names what is damaged."""
        findings, path, what = self._version().verify(deep)
        if findings:
            more = f" (and {findings - 1} more)" if findings > 1 else ""
            raise _core.CorruptError(f"{path}: {what}{more}")

    def files(self) -> list[ArtifactFile]:
        """What the version holds, by name. Cost: reads its manifest."""
        return [ArtifactFile(*entry) for entry in self._version().entries()]

    def _entry(self, name: str) -> ArtifactFile | None:
        found = self._version().entry(_arguments.utf8("name", name))
        return None if found is None else ArtifactFile(*found)

    def get_entry(self, name: str) -> ArtifactFile:
        """One file or reference. NotFoundError with close names. Cost: the first call reads the manifest, further ones
        of the same object a few entries of it."""
        found = self._entry(name) if isinstance(name, str) else None
        if found is not None:
            return found
        import difflib

        close = difflib.get_close_matches(str(name), [entry.name for entry in self.files()], n=3)
        raise _core.NotFoundError(
            f"{self!r} has no file {name!r}" + (f"; did you mean {', '.join(close)}?" if close else "")
        )

    def get_path(self, name: str) -> Path:
        """The one file, downloaded into the store's folder. NotFoundError with close names. Cost: as get_entry(), and
        the bytes of the file."""
        entry = self.get_entry(name)
        if entry.uri:
            raise ValueError(f"{name!r} is a reference to {entry.uri}: it is not in the store")
        folder = self._version().download("", "", entry.name)[0]
        return Path(folder, entry.name).absolute()

    def logged_by(self) -> list[StoredRun]:
        """The runs that made this version. A RuntimeWarning names what could not be read. Cost: a read of every run of
        the store."""
        return self._runs(outputs=True)

    def used_by(self) -> list[StoredRun]:
        """The runs that used this version. A RuntimeWarning names what could not be read. Cost: a read of every run of
        the store."""
        return self._runs(outputs=False)

    def _runs(self, outputs: bool) -> list[StoredRun]:
        version = self._version()
        _open_runs.flush_all(version.store_path)
        store = _core.Store.open(version.store_path)
        edges, problems = version.edges(outputs)
        for line in problems:
            warnings.warn(f"tracker: {line}", RuntimeWarning, stacklevel=3)
        uids = dict.fromkeys(edge["run_uid"] for edge in edges)
        return [StoredRun(store.find(uid)) for uid in uids]


class AliasMove(NamedTuple):
    """One change of what an alias names, with the versions before and after it; None: it named none."""

    alias: str
    before: str | None
    after: str | None
    time: float  # seconds since 1970, UTC
    run: str | None  # uid of the run that moved it; None: a command did


class StoredArtifact(Reading):
    """A version of an artifact in a store. It does not change: call tracker.artifact() again to see new aliases."""

    def __init__(self, version: _core.StoredVersion) -> None:
        self._stored = version

    def _version(self) -> _core.StoredVersion:
        return self._stored

    def __reduce__(self) -> tuple[Any, ...]:
        return artifact_of_pickle, (self._stored.store_path, f"{self.name}@{self._stored.digest}", self.project)

    @property
    def project(self) -> str:
        return self._stored.project

    @property
    def name(self) -> str:
        return self._stored.name

    @property
    def type(self) -> str:
        return self._stored.type

    @property
    def version(self) -> str:
        """ "v0", "v1", ..."""
        return f"v{self._stored.number}"

    @property
    def qualified_name(self) -> str:
        """ "project/name:v3"."""
        return f"{self.project}/{self.name}:{self.version}"

    @property
    def digest(self) -> str:
        """Of the content, 64 hex digits: two versions with the same digest hold the same."""
        return self._stored.digest

    @property
    def aliases(self) -> tuple[str, ...]:
        return tuple(self._stored.aliases)

    @property
    def alias_history(self) -> list[AliasMove]:
        """How the aliases of this artifact came and went, of all its versions, oldest first. "latest" moves by itself
        and is not among them."""

        def version(number: int | None) -> str | None:
            return None if number is None else f"v{number}"

        return [
            AliasMove(alias, version(before), version(after), time, run or None)
            for alias, before, after, time, run in self._stored.moves
        ]

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(self._stored.tags)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return self._stored.bytes

    @property
    def file_count(self) -> int:
        return self._stored.files + self._stored.references

    @property
    def created(self) -> datetime.datetime:
        """In UTC."""
        return row_selection.utc(self._stored.created)

    @property
    def expires(self) -> float | None:
        """When its time to live ends; None: never."""
        return self._stored.expires

    @property
    def description(self) -> str:
        return self._stored.description

    @property
    def metadata(self) -> dict[str, Any]:
        found: dict[str, Any] = self._stored.metadata
        return found

    def wait(self, timeout: float | None = None) -> StoredArtifact:
        """It is stored."""
        return self

    def __repr__(self) -> str:
        return f"<tracker.StoredArtifact {self.qualified_name}>"


class ArtifactList(Sequence[StoredArtifact]):
    """Versions of artifacts by project and name, the newest of each first. It does not change."""

    def __init__(self, artifacts: Sequence[StoredArtifact]) -> None:
        self._artifacts = tuple(artifacts)

    def __len__(self) -> int:
        return len(self._artifacts)

    @overload
    def __getitem__(self, index: int) -> StoredArtifact: ...
    @overload
    def __getitem__(self, index: slice) -> ArtifactList: ...
    def __getitem__(self, index: int | slice) -> StoredArtifact | ArtifactList:
        return ArtifactList(self._artifacts[index]) if isinstance(index, slice) else self._artifacts[index]

    def __iter__(self) -> Iterator[StoredArtifact]:
        return iter(self._artifacts)

    def __repr__(self) -> str:
        shown = ", ".join(artifact.qualified_name for artifact in self._artifacts[:5])
        return f"<tracker.ArtifactList of {len(self)}: {shown}{', ...' if len(self) > 5 else ''}>"


def find(name: str, project: str | None, dir: object) -> StoredArtifact:
    if not isinstance(name, str):
        raise TypeError(f"artifact(name): name must be a str such as 'project/name:latest', got {type(name).__name__}")
    store = open_store.open_store(dir)
    chosen = _arguments.label("project", project) or os.environ.get("TRACKER_PROJECT") or "default"
    return StoredArtifact(_core.find_artifact(store, _arguments.utf8("name", name), chosen))


def list_all(project: str | None, type: str | None, dir: object) -> ArtifactList:
    chosen, kind = _arguments.label("project", project), _arguments.label("type", type)
    store = open_store.open_if_there(dir)
    if store is None:
        return ArtifactList(())
    versions, problems = _core.list_artifacts(store, chosen or "")
    for line in problems:
        warnings.warn(f"tracker: {line}", RuntimeWarning, stacklevel=3)
    return ArtifactList([StoredArtifact(version) for version in versions if kind in (None, version.type)])


class StoredRun(RunReader):
    """A run to read. While it is live every read sees what has been committed by then; in the process that
    writes it, all that was logged before. One seen finished stays as it was seen until refresh(), or until this process
    resumes it. A copy is the run itself, a pickle another reader of its folder. Threads: any, one at a time reads.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return run_of_pickle, (self._folder.path, self._in_store)

    @property
    def outputs(self) -> list[ArtifactUse]:
        """The versions of artifacts that the run made, in that order."""
        _open_runs.flush_own(self._folder.uid)
        return uses(self._folder, "output")

    @property
    def inputs(self) -> list[ArtifactUse]:
        """The versions of artifacts that the run used, in that order."""
        _open_runs.flush_own(self._folder.uid)
        return uses(self._folder, "input")

    @property
    def artifacts_refused(self) -> list[RefusedArtifact]:
        """The artifacts that were not stored, each time with its reason, in order; also of names stored later."""
        _open_runs.flush_own(self._folder.uid)
        return [RefusedArtifact(*each) for each in _core.refused_by_run(self._folder)]


def uses(folder: _core.RunFolder, use: str) -> list[ArtifactUse]:
    """What a run made ("output") or used ("input"), in the order first said."""
    store_path = str(Path(folder.path).parent.parent.parent)  # <store>/runs/<project>/<id>
    return [
        ArtifactUse(
            edge["version_name"],
            edge["type"],
            edge["digest"],
            tuple(edge["aliases"]),
            edge["use_as"],
            edge["time"],
            store_path,
        )
        for edge in _core.edges_of_run(folder)
        if edge["use"] == use
    ]


def run_of_pickle(path: str, in_store: bool) -> StoredRun:
    return StoredRun(_core.RunFolder.of(path), in_store)


def artifact_of_pickle(store: str, name: str, project: str) -> StoredArtifact:
    return StoredArtifact(_core.find_artifact(_core.Store.open(store), name, project))
