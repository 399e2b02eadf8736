# SPDX-License-Identifier: MIT
"""Run.log_artifact() and Run.use_artifact()."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tracker import _arguments, _core
from tracker._artifacts.artifact import Artifact
from tracker._artifacts.checked_arguments import (
    copy_choice,
    labels_argument,
    path_argument,
    text_argument,
    time_to_live,
)
from tracker._plain_values import plain
from tracker._reading.stored_objects import StoredArtifact

if TYPE_CHECKING:
    from tracker._open_runs import OpenRun


def _type_of(run: OpenRun, name: str) -> str | None:
    """The type of an artifact that is there already: all its versions have it."""
    try:
        return _core.find_artifact(_core.Store.open(run._core.store_path), name, run.project).type
    except (_core.TrackerError, ValueError):
        return None


def _made_from(
    run: OpenRun, path: str, name: str | None, type: str | None, otherwise: str | None, copy: bool | None
) -> Artifact:
    folder = Path(path).is_dir()
    called = Path(path).absolute().name if name is None else name
    out = Artifact(called, type or _type_of(run, called) or otherwise or ("folder" if folder else "file"))
    core = run._core
    if core.recording and run._pid == os.getpid():
        out._draft.hold(core.store_path, core.max_disk == 0)
    if folder:
        out._draft.add_folder(path, "", copy)
    else:
        out._draft.add_file(path, "", copy)
    return out


def log(
    run: OpenRun,
    given: object,
    name: str | None,
    type: str | None,
    aliases: Iterable[str] | None,
    tags: Iterable[str] | None,
    ttl: object,
    use_as: str | None = None,
    is_input: bool = False,
    copy: bool | None = None,
) -> Artifact:
    labels, tag_list, ttl_s = labels_argument("aliases", aliases), labels_argument("tags", tags), time_to_live(ttl)
    if isinstance(given, Artifact):
        if name is not None or type is not None:
            raise TypeError("an Artifact has its name and type; name= and type= are for a path")
        if copy is not None:
            raise TypeError("an Artifact has its files already; copy= is for a path, and of add_file() and add_dir()")
        artifact = given
    elif isinstance(given, (str, os.PathLike)):
        chosen = _arguments.label("name", name), _arguments.label("type", type)
        artifact = _made_from(
            run, path_argument("path", given), *chosen, "dataset" if is_input else None, copy_choice(copy)
        )
    else:
        raise TypeError(f"expected an Artifact or a path, got {given.__class__.__name__}")
    if artifact._staging and artifact._logged is not None and not artifact._refused():
        raise ValueError(f"the artifact {artifact.name!r} has files of new_file() and was logged already")
    artifact._draft.set(artifact.description, plain(artifact.metadata))
    part = "" if use_as is None else text_argument("use_as", use_as)
    written = artifact._staging, artifact._held
    logged = _core.log_artifact(run._core, artifact._draft, labels, tag_list, ttl_s, is_input, part, *written)
    artifact._store_path = run._core.store_path
    artifact._logged = logged
    artifact._stored = None
    artifact._draft.release_held()  # the run's thread has it
    if artifact._cleanup is not None and logged.state != "not recorded":
        artifact._cleanup.detach()  # the run's thread removes them
    return artifact


def use(run: OpenRun, given: object, type: str | None, use_as: str | None) -> Artifact | StoredArtifact:
    part = "" if use_as is None else text_argument("use_as", use_as)
    if isinstance(given, StoredArtifact):
        given = given.qualified_name
    if isinstance(given, Artifact):
        if given._logged is not None and given.state != "not recorded":
            given = given.wait().qualified_name
        else:
            return log(run, given, None, None, None, None, None, part, is_input=True)
    is_name = isinstance(given, str) and not given.startswith(("/", "./", "../", "~"))
    if isinstance(given, (str, os.PathLike)) and not is_name:
        return log(run, given, None, type, None, None, None, part, is_input=True)
    if not isinstance(given, str):
        raise TypeError(f"expected the name of an artifact, an Artifact or a path, got {given.__class__.__name__}")
    try:
        found = StoredArtifact(_core.use_artifact(run._core, _arguments.utf8("name", given), part))
    except _core.NotFoundError as error:
        if not os.path.exists(given):  # noqa: PTH110 (Path.exists() raises for a name that no file may have)
            raise
        raise _core.NotFoundError(
            f"{error}; a str names an artifact: for the {'folder' if Path(given).is_dir() else 'file'} of that name "
            f"here use_artifact(Path({given!r}))"
        ) from None
    if type is not None and found.type != type:
        raise ValueError(f"{found.qualified_name} is of type {found.type!r}, not {type!r}")
    return found
