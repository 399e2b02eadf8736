# SPDX-License-Identifier: MIT
"""The interface of wandb, recorded by tracker: import tracker.compat.wandb as wandb.

docs/compat-wandb.md says what is recorded and what differs. Runs are read with tracker.open_run().
"""

from __future__ import annotations

import os

from tracker.compat._accepted import accept as _accept
from tracker.compat.wandb import _names, _state, errors, util
from tracker.compat.wandb._init import init
from tracker.compat.wandb._run import AlertLevel, Run
from tracker.compat.wandb._run import current_run as _current_run
from tracker.compat.wandb._server import login
from tracker.compat.wandb._settings import Settings
from tracker.compat.wandb.errors import CommError, Error, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tracker.compat.wandb import sdk as sdk
    from tracker.compat.wandb._artifact import Artifact as Artifact
    from tracker.compat.wandb._config import Config as Config
    from tracker.compat.wandb._image import Image as Image
    from tracker.compat.wandb._media import Audio as Audio
    from tracker.compat.wandb._media import Histogram as Histogram
    from tracker.compat.wandb._media import Html as Html
    from tracker.compat.wandb._media import Plotly as Plotly
    from tracker.compat.wandb._media import Video as Video
    from tracker.compat.wandb._metric import Metric
    from tracker.compat.wandb._summary import Summary
    from tracker.compat.wandb._table import Table as Table

    run: Run | None
    config: Config
    summary: Summary

__version__ = "0.28.3"  # of the interface that this module has

__all__ = [
    "AlertLevel",
    "Artifact",
    "Audio",
    "CommError",
    "Error",
    "Histogram",
    "Html",
    "Image",
    "Plotly",
    "Run",
    "Settings",
    "Table",
    "UsageError",
    "Video",
    "alert",
    "config",
    "define_metric",
    "errors",
    "finish",
    "init",
    "join",
    "log",
    "log_artifact",
    "login",
    "mark_preempting",
    "restore",
    "run",
    "save",
    "summary",
    "use_artifact",
    "util",
    "watch",
]

# Imported when they are asked for.
_LATER = {
    "Artifact": "_artifact",
    **dict.fromkeys(("Config", "sdk", "wandb_run"), "sdk"),
    "Image": "_image",
    "Table": "_table",
    **dict.fromkeys(("Audio", "Histogram", "Html", "Plotly", "Video"), "_media"),
}


def log(data: dict[str, Any], step: int | None = None, commit: bool | None = None, sync: bool | None = None) -> None:
    """Run.log() of the current run. Error before init()."""
    _current_run("wandb.log()").log(data, step, commit)


def finish(exit_code: int | None = None, quiet: bool | None = None) -> None:
    """Run.finish() of the current run; does nothing when there is none."""
    current = _state.current()
    if current is not None:
        current.finish(exit_code, quiet)


def join(exit_code: int | None = None) -> None:
    """finish() under its old name."""
    finish(exit_code)


def define_metric(
    name: str,
    step_metric: str | Metric | None = None,
    step_sync: bool | None = None,
    hidden: bool | None = None,
    summary: str | None = None,
    goal: str | None = None,
    overwrite: bool | None = None,
) -> Metric:
    """Run.define_metric() of the current run. Error before init()."""
    current = _current_run("wandb.define_metric()")
    return current.define_metric(name, step_metric, step_sync, hidden, summary, goal, overwrite)


def log_artifact(
    artifact_or_path: Artifact | str | os.PathLike[str],
    name: str | None = None,
    type: str | None = None,
    aliases: list[str] | str | None = None,
    tags: list[str] | None = None,
) -> Artifact:
    """Run.log_artifact() of the current run. Error before init()."""
    return _current_run("wandb.log_artifact()").log_artifact(artifact_or_path, name, type, aliases, tags)


def use_artifact(
    artifact_or_name: Artifact | str,
    type: str | None = None,
    aliases: list[str] | None = None,
    use_as: str | None = None,
) -> Artifact:
    """Run.use_artifact() of the current run. Error before init()."""
    return _current_run("wandb.use_artifact()").use_artifact(artifact_or_name, type, aliases, use_as)


def save(
    glob_str: str | os.PathLike[str] | None = None,
    base_path: str | None = None,
    policy: str = "live",
    glob: bool = True,
) -> bool | list[str]:
    """Run.save() of the current run. Error before init()."""
    return _current_run("wandb.save()").save(glob_str, base_path, policy, glob)


def restore(name: str, run_path: str | None = None, replace: bool = False, root: str | None = None) -> Any | None:
    """Run.restore() of the current run. Error before init()."""
    return _current_run("wandb.restore()").restore(name, run_path, replace, root)


def watch(
    models: object,
    criterion: object = None,
    log: str | None = "gradients",
    log_freq: int = 1000,
    idx: int | None = None,
    log_graph: bool = False,
) -> None:
    """Accepted: gradients are not recorded. Error before init()."""
    _current_run("wandb.watch()").watch(models, criterion, log, log_freq, idx, log_graph)


def alert(title: str, text: str = "", level: str | None = None, wait_duration: object | None = None) -> None:
    """Run.alert() of the current run. Error before init()."""
    _current_run("wandb.alert()").alert(title, text, level, wait_duration)


def mark_preempting() -> None:
    """Run.mark_preempting() of the current run. Error before init()."""
    _current_run("wandb.mark_preempting()").mark_preempting()


def __getattr__(name: str) -> Any:
    if name == "run":
        return _state.current()
    if name in ("config", "summary"):
        current = _state.current()
        if current is None:
            return _state.CONFIG if name == "config" else _state.SUMMARY
        return getattr(current, name)
    if name in _LATER:
        import importlib

        module = importlib.import_module(f"tracker.compat.wandb.{_LATER[name]}")
        found = module if name == _LATER[name] else getattr(module, name)
        globals()[name] = found
        return found
    if name in _names.MODULE:
        return _accept("wandb", name)
    raise AttributeError(f"module 'tracker.compat.wandb' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
