# SPDX-License-Identifier: MIT
"""wandb.Run: a run of tracker with the verbs and facts of the original."""

from __future__ import annotations

import os
import time

from tracker import _open_runs
from tracker.compat._accepted import Inert, accept
from tracker.compat.wandb import _state
from tracker.compat.wandb._config import Config
from tracker.compat.wandb._facts import Facts
from tracker.compat.wandb._names import RUN
from tracker.compat.wandb._rows import Rows, checked, finished
from tracker.compat.wandb._settings import Settings
from tracker.compat.wandb._summary import Summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, Self

    import tracker
    from tracker.compat.wandb._artifact import Artifact
    from tracker.compat.wandb._files import Files
    from tracker.compat.wandb._metric import Metric


def current_run(what: str) -> Run:
    """The current run. Error without one: `what` comes after wandb.init()."""
    run: Run = _state.require(what)
    return run


class AlertLevel:
    INFO, WARN, ERROR = "INFO", "WARN", "ERROR"


class Run(Facts):
    """Made by wandb.init(). Threads: any. Two are equal where they stand for the same run; a copy is the run itself."""

    def __init__(self, run: tracker.Run, settings: Settings, run_id: str) -> None:
        self._run = run
        self._settings = settings
        self._id = run_id
        self._init_pid = os.getpid()
        self._sets_globals = True
        self._ended = False
        self._start = time.time()
        step = run._core.next_step if run.step >= 0 else 0
        self._starting_step = step
        self._rows = Rows(run, step)
        self._config = Config()
        self._summary = Summary(self)
        self._files_made: Files | None = None
        self._alerts: dict[str, float] = {}  # by title: when it was last sent

    @property
    def dir(self) -> str:
        """A folder for files that belong to the run; they become an artifact of it when it ends."""
        return str(self._files.folder)

    @property
    def _files(self) -> Files:
        if self._files_made is None:
            from tracker.compat.wandb._files import Files

            self._files_made = Files(self._run, str(self._settings.root_dir or "."), self._id)
        return self._files_made

    @property
    def _is_finished(self) -> bool:
        """In a forked child that has not joined the run yet it is inert, which is no end."""
        return self._ended or (self._run._pid == os.getpid() and self._run._core.finished)

    # --- verbs ------------------------------------------------------------------------------------------------------

    def log(
        self,
        data: dict[str, Any],
        step: int | None = None,
        commit: bool | None = None,
        sync: bool | None = None,
    ) -> None:
        """Adds values to the row of a step (_rows.py). TypeError for anything but a dict whose keys are str."""
        values = checked(data)
        if self._is_finished:
            raise finished("log", self._id)
        self._rows.log(values, step, commit)

    def define_metric(
        self,
        name: str,
        step_metric: str | Metric | None = None,
        step_sync: bool | None = None,
        hidden: bool | None = None,
        summary: str | None = None,
        goal: str | None = None,
        overwrite: bool | None = None,
    ) -> Metric:
        """step_metric: the x of readers; with step_sync (default) its last value is added to rows that lack it."""
        return self._rows.definitions.define(self._run, name, step_metric, step_sync, summary, goal)

    def log_artifact(
        self,
        artifact_or_path: Artifact | str | os.PathLike[str],
        name: str | None = None,
        type: str | None = None,
        aliases: list[str] | str | None = None,
        tags: list[str] | None = None,
    ) -> Artifact:
        from tracker.compat.wandb import _artifact

        return _artifact.log(self, artifact_or_path, name, type, aliases, tags)

    def use_artifact(
        self,
        artifact_or_name: Artifact | str,
        type: str | None = None,
        aliases: list[str] | None = None,
        use_as: str | None = None,
    ) -> Artifact:
        """CommError where there is none of that name."""
        from tracker.compat.wandb import _artifact

        return _artifact.use(self, artifact_or_name, type, use_as)

    def save(
        self,
        glob_str: str | os.PathLike[str] | None = None,
        base_path: str | None = None,
        policy: str = "live",
        glob: bool = True,
    ) -> bool | list[str]:
        """Copies files into run.dir. Without an argument, as old scripts call it, it does nothing."""
        return True if glob_str is None else self._files.save(glob_str, base_path, policy)

    def restore(
        self, name: str, run_path: str | None = None, replace: bool = False, root: str | None = None
    ) -> Any | None:
        """A file of this run, opened for reading; None where it has none of that name."""
        path = self._files.restore(name, root, replace)
        return None if path is None else path.open()

    def watch(
        self,
        models: object,
        criterion: object = None,
        log: str | None = "gradients",
        log_freq: int = 1000,
        idx: int | None = None,
        log_graph: bool = False,
    ) -> None:
        """Accepted: gradients are not recorded."""
        accept("wandb", "watch")

    def alert(self, title: str, text: str = "", level: str | None = None, wait_duration: object | None = None) -> None:
        """wait_duration: seconds or a timedelta in which an alert of the same title is not sent again."""
        pause = wait_duration.total_seconds() if hasattr(wait_duration, "total_seconds") else wait_duration
        now = time.monotonic()
        if isinstance(pause, (int, float)) and now - self._alerts.get(title, -float("inf")) < pause:
            return
        self._alerts[title] = now
        self._run.alert(title, text, level or "INFO")

    def mark_preempting(self) -> None:
        self._run.mark_preempting()

    def status(self) -> Any:
        return self._run.status()

    def display(self, height: int = 420, hidden: bool = False) -> bool:
        return False

    def finish(self, exit_code: int | None = None, quiet: bool | None = None) -> None:
        """Writes the row that waits and ends the run: failed where exit_code is not 0. Again: does nothing."""
        self._before_end()
        self._run.finish(exit_code)
        self._forget(exit_code)

    def join(self, exit_code: int | None = None) -> None:
        self.finish(exit_code)

    def _before_end(self) -> None:
        if self._is_finished or self._run._pid != os.getpid():
            return
        self._rows.flush()
        if self._files_made is not None:
            self._files_made.store()

    def _forget(self, exit_code: int | None) -> None:
        self._ended = True
        _state.live[:] = [run for run in _state.live if run is not self]
        if not exit_code and self._init_pid == os.getpid():
            from tracker.compat.wandb import _resume

            _resume.forget(self)

    def _label(self, *given: object, **named: object) -> None:
        """Called by frameworks to name themselves."""

    # --- protocols --------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._before_end()
        self._run.__exit__(kind, error, trace)
        self._forget(None if error is None else 1)

    def __getattr__(self, name: str) -> Inert:
        if name in RUN:
            return accept("wandb", f"Run.{name}")
        raise AttributeError(f"a wandb.Run has no {name!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and (self is other or (self._key() == other._key()))

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, str]:
        return self.project, self._id

    def __deepcopy__(self, memo: object) -> Run:
        return self

    def __copy__(self) -> Run:
        return self

    def __reduce__(self) -> tuple[Callable[..., Run], tuple[str, str, dict[str, Any]]]:
        settings = {name: value for name, value in self._settings if isinstance(value, (str, int, float, tuple))}
        return unpickled, (self.project, self._id, settings)

    def __repr__(self) -> str:
        return f"<wandb.Run {self.path}>"


class RunDisabled(Run):
    """A run that records nothing: each method can be called with any arguments, or none."""

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        if name.startswith("_") or not callable(found) or not hasattr(Run, name):
            return found
        return lambda *given, **named: _leniently(found, *given, **named)


def _leniently(method: Callable[..., Any], *given: Any, **named: Any) -> Any:
    try:
        return method(*given, **named)
    except Exception:  # a missing argument, an artifact that does not exist
        return Inert()


def unpickled(project: str, run_id: str, settings: dict[str, Any]) -> Run:
    """The run of this process, or one inherited by fork, with this id; else one that records nothing."""
    live: list[Run] = _state.live
    for run in reversed(live):
        if run.project == project and run.id == run_id:
            return run
    _state.say_once(f"wandb: the run {project}/{run_id} is recorded by another process; this copy records nothing")
    import tracker

    inert = tracker.init(mode="disabled", quiet=True)
    _open_runs.remove(inert)
    return Run(inert, Settings(**settings), run_id)
