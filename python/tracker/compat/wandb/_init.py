# SPDX-License-Identifier: MIT
"""wandb.init()."""

from __future__ import annotations

import atexit
import os

import tracker
from tracker.compat import _report, _upload
from tracker.compat._accepted import accept
from tracker.compat.wandb import _config, _resume, _server, _state
from tracker.compat.wandb._run import Run, RunDisabled
from tracker.compat.wandb._settings import Settings, resolve
from tracker.compat.wandb._values import SEPARATOR
from tracker.compat.wandb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Positional arguments of scripts from before 2024: init(job_type, dir, config, project, entity, ...)
OLD_ORDER = ("job_type", "dir", "config", "project", "entity", "reinit", "tags", "group", "name", "notes")
NEW_ORDER = (
    *("entity", "project", "dir", "id", "name", "notes", "tags", "config", "config_exclude_keys"),
    *("config_include_keys", "allow_val_change", "group", "job_type", "mode", "force", "reinit", "resume"),
    *("resume_from", "fork_from", "save_code", "tensorboard", "sync_tensorboard", "monitor_gym", "settings"),
)
NOT_RECORDED = ("fork_from", "tensorboard", "sync_tensorboard")
_hooked = False


def by_name(given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Positional arguments under their names. The old order is known by a config in third place, or by a text alone:
    old scripts begin init("train"), and no script gives an entity alone by position."""
    alone = len(given) == 1 and "job_type" not in named
    is_old = alone or (len(given) > 2 and not isinstance(given[2], (str, os.PathLike, type(None))))
    order: tuple[str, ...] = OLD_ORDER if is_old else NEW_ORDER
    if len(given) > len(order):
        raise TypeError(f"init() takes at most {len(order)} positional arguments, got {len(given)}")
    placed = dict(zip(order, given, strict=False))
    if twice := placed.keys() & named.keys():
        raise TypeError(f"init() got several values for {sorted(twice)[0]!r}")
    return {**placed, **named}


def _signature(
    entity: str | None = None,
    project: str | None = None,
    dir: str | os.PathLike[str] | None = None,
    id: str | None = None,
    name: str | None = None,
    notes: str | None = None,
    tags: Any = None,
    config: Any = None,
    config_exclude_keys: list[str] | None = None,
    config_include_keys: list[str] | None = None,
    allow_val_change: bool | None = None,
    group: str | None = None,
    job_type: str | None = None,
    mode: str | None = None,
    force: bool | None = None,
    reinit: bool | str | None = None,
    resume: bool | str | None = None,
    resume_from: str | None = None,
    fork_from: str | None = None,
    save_code: bool | None = None,
    tensorboard: bool | None = None,
    sync_tensorboard: bool | None = None,
    monitor_gym: bool | None = None,
    settings: Settings | dict[str, Any] | None = None,
    anonymous: Any = None,
    **unknown: Any,
) -> Run:
    """Opens a run, which is the current one; a second call returns the live run, but for reinit=.

    An argument beats settings=, which beats WANDB_* variables. Arguments that the original has had, or never had, are
    ignored. mode: "online" sends the run to a tracker server where one is known (wandb.login, TRACKER_HOST), else it is
    local; "offline", "disabled". dir, WANDB_DIR: the store is <dir>/.tracker, unless TRACKER_DIR names one.
    UsageError for resume="must" without the run and for an unknown mode; TypeError, ValueError for a config that is
    none; else as tracker.init().
    """
    raise NotImplementedError


def init(*given: Any, **named: Any) -> Run:
    arguments = by_name(given, named)
    chosen, settings = resolve(arguments)
    live: Run | None = _state.recorded_here()
    reinit = chosen["reinit"]
    if live is not None and reinit != "create_new":
        if reinit in (True, "finish_previous"):
            live.finish()
        else:
            if arguments.get("config") is not None:
                live.config.setdefaults(arguments["config"])
            return live
    for name in NOT_RECORDED:
        if arguments.get(name):
            accept("wandb", f"init({name}=)")
    run = _opened(chosen, settings, _config_of(arguments))
    run._config._allow_val_change = bool(chosen["allow_val_change"])
    run._sets_globals = reinit != "create_new"
    return run


init.__wrapped__ = _signature  # type: ignore[attr-defined]  # what inspect.signature() shows
init.__doc__ = _signature.__doc__


def _config_of(arguments: dict[str, Any]) -> dict[str, Any]:
    config = _config.clean(_config.mapping_of(arguments.get("config")))
    include, exclude = arguments.get("config_include_keys"), arguments.get("config_exclude_keys")
    defaults: dict[str, Any] = {}
    is_file = isinstance(arguments.get("config"), (str, os.PathLike))
    if not is_file and os.path.exists(_config.DEFAULTS_FILE):  # noqa: PTH110 (pathlib costs a third of the import)
        try:
            defaults = _config.clean(_config.yaml_file(_config.DEFAULTS_FILE))
        except (ImportError, OSError, ValueError) as error:
            _state.say(f"wandb: {error}; its values are not in the config")
    chosen = {key: value for key, value in config.items() if not include or key in include}
    return {**defaults, **{key: value for key, value in chosen.items() if not exclude or key not in exclude}}


def _store(chosen: dict[str, Any]) -> str | None:
    if os.environ.get("TRACKER_DIR") or not chosen["dir"]:
        return None
    return os.path.join(os.fspath(chosen["dir"]), ".tracker")  # noqa: PTH118


def _mode(chosen: dict[str, Any]) -> str | None:
    """For tracker.init(): None leaves it to TRACKER_MODE."""
    mode: str | None = chosen["mode"]
    if mode in ("offline", "disabled") or (mode is None and os.environ.get("TRACKER_MODE")):
        return mode
    return "local" if _upload.known_host() is None else "online"


def _opened(chosen: dict[str, Any], settings: Settings, config: dict[str, Any]) -> Run:
    global _hooked
    _state.silent = bool(settings.silent)
    chosen["store"] = _store(chosen)
    quiet = _state.silent or _state.is_true(os.environ.get("WANDB_SILENT"))
    mode = _mode(chosen)
    labels = {name: _text(chosen[name]) for name in ("project", "name", "notes", "group", "job_type")}
    further: dict[str, Any] = {} if mode == "disabled" else _resume.options(chosen)
    if settings.x_disable_stats:
        further["system_interval"] = 0
    if settings.console == "off":
        further["console"] = "off"
    if chosen["save_code"]:
        further["capture"] = ["source"]
    try:
        made = tracker.init(
            **labels,  # type: ignore[arg-type]
            **further,
            config=config,
            tags=chosen["tags"],
            mode=mode,  # type: ignore[arg-type]
            dir=chosen["store"],
            quiet=quiet,
            duplicate_policy="last",
        )
    except tracker.NotFoundError as error:
        raise UsageError(str(error)) from error
    _report.opened(made)
    if mode == "local":
        _state.say_once(_server.NO_SERVER)
    run = _wrapped(made, settings, config)
    if chosen["resume"] in (True, "auto"):
        _resume.remember(run, chosen["dir"])
    _state.live.append(run)
    if not _hooked:  # after tracker's own hook, and so called before it
        _hooked = True
        atexit.register(_at_exit)
    return run


def _text(value: object) -> str | None:
    return None if value is None or value == "" else str(value)


def _wrapped(made: tracker.Run, settings: Settings, config: dict[str, Any]) -> Run:
    from tracker.compat.wandb.util import generate_id

    disabled = made._core.mode == "disabled"
    settings.update(
        mode=made._core.mode,
        run_mode="run" if made._core.mode == "online" else "offline-run",
        root_dir=settings.root_dir or ".",
        run_id=made.id if made.id and not disabled else settings.run_id or generate_id(),
        project="dummy" if disabled else made.project,
    )
    run = (RunDisabled if disabled else Run)(made, settings, str(settings.run_id))
    run._config._items.update({**made.config.as_dict(), **config})
    run._config._run = made
    if not disabled:
        made._core.set_attribute("wandb", {"separator": SEPARATOR})
        if run.entity:
            made._core.set_attribute("entity", run.entity)
    return run


def _at_exit() -> None:
    """Rows that wait are written before the process ends its runs."""
    for run in tuple(_state.live):
        try:
            run._before_end()
        except Exception as error:  # the other runs, and the exit code, do not depend on it
            _state.say(f"wandb: the last row of {run.path} could not be written: {error}")
