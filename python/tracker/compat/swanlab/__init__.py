# SPDX-License-Identifier: MIT
"""The interface of SwanLab, recorded by tracker: import tracker.compat.swanlab as swanlab"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tracker
from tracker import _core, _open_runs
from tracker._plain_values import plain_config
from tracker.compat import _config_file, _upload
from tracker.compat._accepted import accept
from tracker.compat._report import opened, report
from tracker.compat.swanlab import _names
from tracker.compat.swanlab._run import ModuleConfig, Run, add, current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tracker.compat.swanlab._media import Image as Image
    from tracker.compat.swanlab._media import Text as Text

    run: Run | None

__version__ = _names.VERSION

config = ModuleConfig()


def init(
    project: str | None = None,
    workspace: str | None = None,
    experiment_name: str | None = None,
    description: str | None = None,
    config: Any = None,
    logdir: str | os.PathLike[str] | None = None,
    mode: str | None = None,
    load: str | os.PathLike[str] | None = None,
    public: bool | None = None,
    *,
    reinit: bool | None = None,
    log_dir: str | os.PathLike[str] | None = None,
    name: str | None = None,
    color: str | None = None,
    job_type: str | None = None,
    group: str | None = None,
    tags: Iterable[str] | None = None,
    id: str | None = None,
    resume: str | bool | None = None,
    parallel: str | None = None,
    settings: Any = None,
    callbacks: Any = None,
    notes: str | None = None,
    **unknown: Any,
) -> Run:
    """Begins a run. Takes the positional form of earlier versions and the keywords of 0.9.7.

    project: default: SWANLAB_PROJECT, TRACKER_PROJECT, the name of the working directory. mode: default: SWANLAB_MODE.
    config: a dict, an object with attributes, or the path of a JSON or YAML file. load: such a file with values for
    arguments that are not given. TRACKER_DIR names the store, without it log_dir or SWANLAB_LOG_DIR does.
    While a run is live it is returned, which one line reports; reinit=True ends it first. ValueError for another mode.
    """
    given: dict[str, Any] = {
        "project": project,
        "workspace": workspace,
        "name": name or experiment_name,
        "description": description or notes,
        "config": config,
        "logdir": log_dir or logdir,
        "mode": mode,
    }
    accepted = {"public": public, "color": color, "parallel": parallel, "settings": settings, "callbacks": callbacks}
    for argument in (*(key for key, value in accepted.items() if value is not None), *unknown):
        accept("swanlab", f"init({argument}=)")
    if has_run():
        if not reinit:
            report("swanlab.init: there is a run already, which goes on; reinit=True begins another one")
            return current()
        current().finish()
    if load is not None:
        loaded = _config_file.read(load)
        loaded.setdefault("name", loaded.get("experiment_name"))
        given = {key: loaded.get(key) if value is None else value for key, value in given.items()}
    options = {"job_type": job_type, "group": group, "tags": tags, "id": id}
    return _begin(given, **options, resume=_names.RESUME.get(resume, resume))


def _begin(given: Mapping[str, Any], **options: Any) -> Run:
    entries = given["config"]
    if isinstance(entries, (str, os.PathLike)):
        entries = _config_file.read(entries)
    chosen = given["mode"] or os.environ.get("SWANLAB_MODE") or ("online" if _upload.known_host() else None)
    if chosen is not None and chosen not in _names.MODES:
        raise ValueError(f"mode must be one of {', '.join(_names.MODES)}, got {chosen!r}")
    project = given["project"] or os.environ.get("SWANLAB_PROJECT")
    if not project and not os.environ.get("TRACKER_PROJECT"):
        project = Path.cwd().name
    run = tracker.init(
        project=project or None,
        name=given["name"] or None,
        config={**config._pending(), **plain_config(entries)},
        notes=given["description"],
        mode=_names.MODES.get(chosen),  # type: ignore[arg-type]
        dir=None if os.environ.get("TRACKER_DIR") else given["logdir"] or os.environ.get("SWANLAB_LOG_DIR") or None,
        duplicate_policy="first",
        **options,
    )
    if given["workspace"]:
        run._core.set_attribute("entity", str(given["workspace"]))
    opened(run)
    return add(run)


def has_run() -> bool:
    """Whether a run is live."""
    return _open_runs.current() is not None


def get_run() -> Run | None:
    """The current run; None without one."""
    return current() if has_run() else None


def log(data: Mapping[str, Any], step: int | None = None, print_to_console: bool = False) -> None:
    """Run.log() of the current run. RuntimeError without one, as after finish()."""
    current().log(data, step, print_to_console)


def log_text(*, key: str, data: Any, caption: Any = None, step: int | None = None) -> None:
    """Logs a text, or a list of them. RuntimeError without a run."""
    current().log_text(key=key, data=data, caption=caption, step=step)


def log_image(
    *,
    key: str,
    data: Any,
    mode: Any = None,
    caption: Any = None,
    file_type: Any = None,
    size: Any = None,
    step: int | None = None,
) -> None:
    """Logs an image, or a list of them. RuntimeError without a run."""
    current().log_image(key=key, data=data, mode=mode, caption=caption, file_type=file_type, size=size, step=step)


def finish(state: str = "success", error: str | None = None, async_log_timeout: int | None = None) -> None:
    """Run.finish() of the current run; without one it reports one line."""
    if has_run():
        current().finish(state, error, async_log_timeout)
    else:
        report("swanlab.finish: the run has ended already, or none was begun")


def login(
    api_key: str | None = None, relogin: bool = False, host: str | None = None, save: Any = False, timeout: int = 10
) -> bool:
    """Whether a tracker server is known from now on: api_key is a token of it, default TRACKER_HOST and TRACKER_TOKEN.
    Without one it reports one line. No other host is contacted."""
    return _upload.login("swanlab", host, api_key)


def sync(run_dir: str | os.PathLike[str], settings: Any = None) -> None:
    """Sends the run of a folder (run.dir). ValueError for a folder of something else."""
    try:
        folder = _core.RunFolder.of(str(Path(run_dir).absolute()))
    except (tracker.TrackerError, ValueError):
        raise ValueError(
            f"{run_dir} is no run of tracker; `tracker import {shlex.quote(str(run_dir))}` reads what SwanLab itself "
            "has recorded"
        ) from None
    _upload.upload(tracker.open_run(folder.uid, dir=str(Path(folder.path).parents[2])), None, True, "new")


def __getattr__(name: str) -> Any:
    if name == "run":
        return get_run()
    if name in ("Image", "Text"):
        from tracker.compat.swanlab import _media

        globals()[name] = getattr(_media, name)
        return globals()[name]
    if name in _names.MODULE:
        return accept("swanlab", name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
