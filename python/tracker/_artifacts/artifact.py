# SPDX-License-Identifier: MIT
"""Artifact: files, folders and references that a run will log, or has logged."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from tracker import _arguments, _core, _open_runs
from tracker._artifacts.checked_arguments import copy_choice, name_in_artifact, path_argument, text_argument
from tracker._reading.stored_objects import ArtifactFile, Reading, StoredArtifact, artifact_of_pickle

WAIT_SLICE_S = 0.2  # between two checks for Ctrl-C
STAGING = "staging"
# Errors of a disk, and of a place that is no folder.
DISK_ERRORS = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EIO,
        errno.EROFS,
        errno.EACCES,
        errno.EPERM,
        errno.ENOTDIR,
        errno.ENOENT,
    }
)


def _remove_staging(folder: str, pid: int) -> None:
    """Not in a forked child: what is there is its parent's."""
    if os.getpid() == pid:
        shutil.rmtree(folder, True)


class Artifact(Reading):
    """Files, folders and references that a run will log under a name: a model, a data set.

    A file has the content that it has when it is added: it is cloned in the call where the disk can, else copied as
    long as the new files of the artifact have at most 64 MiB together, else held open and read on a thread of the run
    after run.log_artifact(). One that is held open may be renamed or removed; where it is written over before it is
    read, the artifact is refused and the run goes on. copy=True copies files of any size, copy=False none. Not held are
    files beyond the first 1,000, a folder of more, and what is beyond 256 open files in the process: such a file must
    stay in its place until it is stored. Threads: one at a time, but wait() and what a stored version answers.
    """

    def __init__(
        self, name: str, type: str, description: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """ValueError for a name or a type that is empty, over 256 bytes or holds "/", ":" or "@"."""
        self._draft = _core.ArtifactDraft(text_argument("name", name), text_argument("type", type))
        self.description = "" if description is None else text_argument("description", description)
        if metadata is not None and not isinstance(metadata, Mapping):
            raise TypeError(f"metadata must be a dict, got {metadata.__class__.__name__}")
        self.metadata: dict[str, Any] = dict(metadata or {})
        self._logged: _core.LoggedArtifact | None = None
        self._stored: _core.StoredVersion | None = None  # once it is asked for, for it keeps an index of the manifest
        self._store_path = ""
        self._staging = ""
        self._held: _core.NameLease | None = None
        self._cleanup: weakref.finalize[Any, Artifact] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._logged is None:
            raise TypeError(f"the artifact {self.name!r} cannot be pickled before a run has logged it")
        self.wait()
        version = self._version()
        return artifact_of_pickle, (version.store_path, f"{version.name}@{version.digest}", version.project)

    # --- making it ------------------------------------------------------------------------------------------------

    def add_file(
        self,
        path: str | os.PathLike[str],
        name: str | os.PathLike[str] | None = None,
        *,
        copy: bool | None = None,
    ) -> None:
        """Adds a file, called `name` in the artifact (None: as it is called; "folder/" puts it there).

        copy: whether its content is copied in this call; None: as the class says. A file that somebody has open for
        writing is held open, and so is each where there is no store yet.
        NotFoundError, ValueError for a folder, a device, a pipe, a loop of links; StoreError where the name is taken.
        """
        self._holding().add_file(path_argument("path", path), name_in_artifact(name), copy_choice(copy))

    def add_dir(
        self,
        path: str | os.PathLike[str],
        name: str | os.PathLike[str] | None = None,
        *,
        copy: bool | None = None,
    ) -> None:
        """Adds all files below a folder, at the top of the artifact or below `name`; all of them or none.

        Links within the folder count as what they lead to; one that leads out of it is a ValueError. A store below the
        folder is left out, which is said when the artifact is logged; for a folder that is a store it is a ValueError.
        """
        self._holding().add_folder(path_argument("path", path), name_in_artifact(name), copy_choice(copy))

    def add_reference(
        self, uri: str, name: str | None = None, checksum: str | None = None, *, size: int | None = None
    ) -> None:
        """Adds something that stays where it is, such as "s3://bucket/data.tar": nothing is read or fetched."""
        given = "" if checksum is None else text_argument("checksum", checksum)
        self._changing().add_reference(
            text_argument("uri", uri), name_in_artifact(name), given, _arguments.number("size", size) or 0
        )

    @contextlib.contextmanager
    def new_file(self, name: str, mode: str = "w", encoding: str | None = None) -> Iterator[IO[Any]]:
        """A new file of the artifact, to be written within the block; it is added when the block ends well.

        It is written into a folder of the store and removed from there once the artifact is stored; where there is
        no store yet, into one for temporary files. StoreError where a disk refuses it: nothing of it was added.
        ValueError for the name of a folder ("dir/").
        """
        draft = self._changing()
        if mode not in ("w", "wb", "x", "xb"):
            raise ValueError(f'mode must be "w" or "wb", got {mode!r}')
        inside = name_in_artifact(name)
        if inside.endswith("/"):
            raise ValueError(f"new_file() writes one file: {inside!r} is the name of a folder")
        if draft.contains(inside):
            raise _core.StoreError(f'"{inside}" is in the artifact already: remove() it first')
        # What the name may be the core says before anything is written; on the disk the file has a number.
        draft.add_reference("file:", inside, "", 0)
        draft.remove(inside)
        path = None
        try:
            handle, path = tempfile.mkstemp(dir=self._stage(), prefix="file-")
            text = None if "b" in mode else encoding or "utf-8"
            with open(handle, mode.replace("x", "w"), encoding=text) as file:
                yield file
            draft.add_file(path, inside, False)
        except BaseException as failure:
            if path is not None:
                with contextlib.suppress(OSError):
                    Path(path).unlink()
            # A write says no file; an error that names one is of the caller's own files.
            ours = path is None or (isinstance(failure, OSError) and failure.filename is None)
            if ours and isinstance(failure, OSError) and failure.errno in DISK_ERRORS:
                where = self._staging or "a folder of its own"
                raise _core.StoreError(
                    f'"{inside}" of the artifact {self.name!r} could not be written to {where}: {failure.strerror}; '
                    "it was not added, what was added before is kept"
                ) from failure
            raise

    def remove(self, name: str) -> None:
        """Takes a file or reference out again; "folder/" all below it. NotFoundError."""
        self._changing().remove(name_in_artifact(name))

    def _changing(self) -> _core.ArtifactDraft:
        if self._logged is not None and not self._refused():
            raise ValueError(f"the artifact {self.name!r} was logged and does not change any more; make a new one")
        return self._draft

    def _holding(self) -> _core.ArtifactDraft:
        """The draft, which holds what is added; not where this process records nothing."""
        draft = self._changing()
        store = self._store()
        if store is not None:
            run = _open_runs.current()
            draft.hold(store, run is None or run._core.max_disk == 0)
        return draft

    def _store(self) -> str | None:
        """Where it will be stored; "" where there is no store yet, None where nothing is recorded."""
        run = _open_runs.current()
        if run is not None:
            return run._core.store_path if run._core.recording and run._pid == os.getpid() else None
        store = _core.Store.resolve("")
        # Before init() no store is made: there may never be one, or it is to be another one.
        return store if Path(store, "store.json").exists() else ""

    def _refused(self) -> bool:
        """It was logged and is not stored: it may be changed and logged again."""
        return self._logged is not None and self._logged.state == "failed"

    def _stage(self) -> str:
        if not self._staging:
            store = self._store()
            folder = Path(store, STAGING) if store else None
            if folder is not None:
                _core.make_store_folder(str(folder))
            self._staging = tempfile.mkdtemp(dir=folder, prefix="artifact-")
            if folder is not None:
                self._held = _core.NameLease(str(folder), Path(self._staging).name)
            self._cleanup = weakref.finalize(self, _remove_staging, self._staging, os.getpid())
            self._cleanup.atexit = True
        return self._staging

    # --- what it is -----------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._draft.name

    @property
    def type(self) -> str:
        return self._draft.type

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return self._draft.bytes

    @property
    def file_count(self) -> int:
        return self._draft.files

    @property
    def state(self) -> str:
        """ "in the making", "pending", "stored", "failed", or "not recorded" (disabled, a gated rank, a fork)."""
        return "in the making" if self._logged is None else self._logged.state

    @property
    def version(self) -> str | None:
        """ "v0", "v1", ... once it is stored; None before and where nothing is recorded. wait() makes sure."""
        stored = self._found()
        return None if stored is None else stored.version

    @property
    def digest(self) -> str | None:
        stored = self._found()
        return None if stored is None else stored.digest

    @property
    def aliases(self) -> tuple[str, ...]:
        """As they were when it was stored; empty before."""
        stored = self._found()
        return () if stored is None else stored.aliases

    @property
    def qualified_name(self) -> str | None:
        stored = self._found()
        return None if stored is None else stored.qualified_name

    def _found(self) -> StoredArtifact | None:
        version = None if self._logged is None else self._logged.version(self._store_path)
        return None if version is None else StoredArtifact(version)

    def wait(self, timeout: float | None = None) -> Artifact:
        """Until it is stored; returns the artifact. Where nothing is recorded it returns at once.

        Raises TimeoutError after `timeout` seconds, and what refused it: StoreError for a file that has changed or a
        disk that refuses, NotFoundError for a file that is gone, LimitError where there is no room.
        """
        if self._logged is None:
            raise ValueError(f"the artifact {self.name!r} was not logged: run.log_artifact() does")
        left = None if timeout is None else _arguments.seconds("timeout", timeout)
        while not self._logged.wait(WAIT_SLICE_S if left is None else min(left, WAIT_SLICE_S)):
            left = None if left is None else left - WAIT_SLICE_S
            if left is not None and left <= 0:
                files, size = self._logged.files_done, self._logged.bytes_done
                raise TimeoutError(
                    f"the artifact {self.name!r} is not stored yet: {files:,} of {self.file_count:,} files, "
                    f"{size:,} of {self.size:,} bytes"
                )
        return self

    def _version(self) -> _core.StoredVersion:
        self.wait()
        assert self._logged is not None
        if self._stored is None:
            self._stored = self._logged.version(self._store_path)
        if self._stored is None:
            raise _core.ClosedError(f"the artifact {self.name!r} is not stored: nothing is recorded in this process")
        return self._stored

    def _is_draft(self) -> bool:
        return self._logged is None or self.state in ("failed", "not recorded")

    def files(self) -> list[ArtifactFile]:
        """What it holds, by name; before it is stored, and where it is not, without digests, and with the sizes that
        the files had when they were added."""
        if self._is_draft():
            return [ArtifactFile(*entry) for entry in self._draft.entries()]
        return super().files()

    def _entry(self, name: str) -> ArtifactFile | None:
        if self._is_draft():
            return next((each for each in self.files() if each.name == name), None)
        return super()._entry(name)

    def __repr__(self) -> str:
        return f"<tracker.Artifact {self.qualified_name or self.name}, {self.state}>"
