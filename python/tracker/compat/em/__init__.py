# SPDX-License-Identifier: MIT
"""The interface of t9k's experiment management, recorded by tracker: from tracker.compat import em

A folder is a project, labels are tags, hparams the config, and log(type, metrics) the metrics "<type>/<name>".
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import tracker
from tracker import _core
from tracker.compat import _config_file, _upload
from tracker.compat._accepted import accept
from tracker.compat._report import report
from tracker.compat.em import names
from tracker.compat.em.artifact import ABOUT, Artifact
from tracker.compat.em.containers import Params
from tracker.compat.em.run import ALTERNATIVE_NAME, Run, of_stored

__all__ = [
    "Artifact",
    "Params",
    "Run",
    "create_artifact",
    "create_run",
    "load_artifact",
    "load_run",
    "login",
    "logout",
    "upload",
]


def create_run(
    config_path: str | None = None,
    name: str = "default",
    hparams: dict[str, Any] | None = None,
    labels: list[str] | tuple[str, ...] | None = None,
    description: str = "",
    auto_upload: bool = False,
    folder: str = "default",
    make_folder: bool = False,
    conflict_strategy: str = "new",
) -> Run:
    """Begins a run, which becomes tracker's current one. Values of the file at config_path win over arguments.

    folder: the project. auto_upload: as tracker.init(mode="online"). conflict_strategy counts where auto_upload is set:
    "error" is a RuntimeError where the project has a run of that name, "skip" sends nothing then.
    """
    given: dict[str, Any] = {
        "name": name,
        "hparams": hparams,
        "labels": labels,
        "description": description,
        "auto_upload": auto_upload,
        "folder": folder,
        "make_folder": make_folder,
        "conflict_strategy": conflict_strategy,
    }
    if config_path is not None:
        given.update(_config_file.read(config_path))
        for unknown in sorted(given.keys() - _RUN_OPTIONS):
            accept("em", f"create_run({unknown}=)")
    run = Run({key: given[key] for key in ("name", "labels", "description")}, given["hparams"])
    run._project = names.project_of(given["folder"])
    strategy = names.checked_strategy(given["conflict_strategy"])
    run._online = bool(given["auto_upload"])
    if run._online and strategy in ("error", "skip") and _has_run(run):
        if strategy == "error":
            raise RuntimeError(f"the project has a run {run.name!r} already (conflict_strategy='error')")
        report(f"em: the project has a run {run.name!r} already, so this one stays local (conflict_strategy='skip')")
        run._online = False
    run._live()
    return run


_RUN_OPTIONS = frozenset(
    ("name", "hparams", "labels", "description", "auto_upload", "folder", "make_folder", "conflict_strategy")
)


def _has_run(run: Run) -> bool:
    project = run._project or os.environ.get("TRACKER_PROJECT") or "default"
    try:
        return any(other.name == run.name for other in tracker.runs(project, dir=run._store))
    except tracker.NotFoundError:  # the store is not made yet
        return False


def load_run(
    path: str,
    auto_upload: bool = False,
    folder: str = "default",
    make_folder: bool = False,
    conflict_strategy: str = "new",
) -> Run:
    """A run of the store: by its folder (run.local), its alternative name, or a name that tracker.open_run() takes.

    RuntimeError where there is none. The other arguments are checked; upload() sends the run.
    """
    names.checked_strategy(conflict_strategy)
    found = _stored_run(os.fspath(path))
    if found is None:
        raise RuntimeError(f"there is no run {path!r}: neither a folder of a run nor a run of the store")
    return of_stored(found)


def _stored_run(path: str) -> tracker.StoredRun | None:
    store = names.store_folder()
    try:
        if Path(path).is_dir():
            folder = _core.RunFolder.of(str(Path(path).absolute()))
            return tracker.open_run(folder.uid, dir=str(Path(folder.path).parents[2]))
    except (tracker.TrackerError, ValueError):  # a folder of something else
        pass
    called = path.rstrip("/").rpartition("/")[2]
    try:
        if names.SUFFIX.search(called):
            for stored in tracker.runs(dir=store):
                if stored._view().attribute(ALTERNATIVE_NAME) == called:
                    return stored
        return tracker.open_run(path.strip("/"), dir=store)
    except (tracker.NotFoundError, ValueError):  # no store, no such run, or several
        return None


def create_artifact(name: str, labels: list[str] | tuple[str, ...] | None = None, description: str = "") -> Artifact:
    """An artifact to add files to, and to mark as an output or an input of a run."""
    return Artifact({"name": name, "labels": labels, "description": description})


def load_artifact(path: str) -> Artifact:
    """An artifact: by its local folder, its alternative name, or a name that tracker.artifact() takes.

    RuntimeError where there is none.
    """
    about = Path(path, ABOUT)
    if about.is_file():
        loaded = Artifact({**_config_file.read(about), "local": str(Path(path).absolute())})
        loaded._kept = True  # its folder is one that the person has named
        return loaded
    found = _stored_artifact(os.fspath(path))
    if found is None:
        raise RuntimeError(f"there is no artifact {path!r}: neither a folder of one nor an artifact of the store")
    called = next((alias for alias in found.aliases if names.SUFFIX.search(alias)), None)
    metadata = {"name": found.name, "labels": list(found.tags), "description": found.description}
    loaded = Artifact(
        {**metadata, "alternative_name": called, "created_timestamp": names.timestamp(found.created.timestamp())}
    )
    loaded._references = {each.name: each.uri for each in found.files() if each.uri}
    loaded._made = found
    return loaded


def _stored_artifact(path: str) -> tracker.StoredArtifact | None:
    store = names.store_folder()
    called = path.rstrip("/").rpartition("/")[2]
    try:
        if names.SUFFIX.search(called):
            for stored in tracker.artifacts(dir=store):
                if called in stored.aliases:
                    return stored
        return tracker.artifact(path.strip("/"), dir=store)
    except (tracker.NotFoundError, ValueError):
        return None


def login(ais_host: str | None = None, api_key: str | None = None, timeout: int | None = None) -> None:
    """Names the tracker server that runs are sent to: api_key is a token of it, default TRACKER_HOST and TRACKER_TOKEN.
    Without one it reports one line. No other host is contacted."""
    _upload.login("em", ais_host, api_key)


def logout() -> None:
    """Does nothing: no server is known."""


def upload(path: str, folder: str = "default", make_folder: bool = False, conflict_strategy: str = "new") -> None:
    """Sends the run or the artifact of a folder, or all that lie in it. RuntimeError where there is none."""
    within = sorted(str(each) for each in Path(path).iterdir() if each.is_dir()) if Path(path).is_dir() else []
    found: list[Run | Artifact] = [each for each in [_at(path)] if each] or [each for each in map(_at, within) if each]
    if not found:
        raise RuntimeError(f"there is no run and no artifact at {path!r}")
    for each in found:
        each.upload(folder, make_folder, conflict_strategy)


def _at(path: str) -> Run | Artifact | None:
    if Path(path, ABOUT).is_file():
        return load_artifact(path)
    stored = _stored_run(path)
    return None if stored is None else of_stored(stored)


def __getattr__(name: str) -> Any:
    if name in ("keras", "lightning"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
