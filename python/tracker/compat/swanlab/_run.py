# SPDX-License-Identifier: MIT
"""Run of SwanLab, recorded by a run of tracker, and the current one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any

import tracker
from tracker import _open_runs
from tracker._recording.module_verbs import current_run
from tracker.compat._accepted import Inert, accept
from tracker.compat._report import report
from tracker.compat.swanlab import _names as names
from tracker.compat.swanlab._config import Config

_runs: list[Run] = []  # those that live, of this drop-in


class Run:
    """What swanlab.init() returns. Threads: any may log."""

    def __init__(self, run: tracker.Run) -> None:
        self._run = run
        self._ended = False
        self.config = Config(run.config.as_dict(), run.config.update)

    def log(self, data: Any, step: int | None = None, print_to_console: bool = False) -> None:
        """Logs numbers, texts and media. Of a key that is logged twice at a step readers see the first value; without a
        step it is the largest one so far plus 1. RuntimeError after finish()."""
        if self._ended or self._run._core.finished:
            raise RuntimeError("swanlab.log: the run has ended; call swanlab.init() first")
        if not isinstance(data, Mapping):
            report(f"swanlab.log: data must be a dict, got {type(data).__name__}; nothing was logged")
            return
        if step is not None and not hasattr(step, "__index__"):
            report(f"swanlab.log: step must be an int, got {type(step).__name__}; nothing was logged")
            return
        if print_to_console:
            print(data)
        values = {str(key): value for key, value in data.items() if not isinstance(value, Inert)}
        self._run.log(values, step)

    def log_scalar(self, *, key: str, value: Any, step: int | None = None) -> None:
        self.log({key: value}, step)

    def log_text(self, *, key: str, data: Any, caption: Any = None, step: int | None = None) -> None:
        from tracker.compat.swanlab._media import listed, text

        self.log({key: listed(text, data, caption)}, step)

    def log_image(
        self,
        *,
        key: str,
        data: Any,
        mode: Any = None,
        caption: Any = None,
        file_type: Any = None,
        size: Any = None,
        step: int | None = None,
    ) -> None:
        from tracker.compat.swanlab._media import image, listed

        self.log({key: listed(image, data, caption, mode=mode, file_type=file_type, size=size)}, step)

    def finish(self, state: str = "success", error: str | None = None, async_log_timeout: int | None = None) -> None:
        """Ends the run: "success", "crashed" with the error, or "aborted". The second call reports one line."""
        if self._ended or self._run._core.finished:
            report("swanlab.finish: the run has ended already")
            return
        if state not in names.STATES:
            report(f"swanlab.finish: state must be one of {', '.join(names.STATES)}, got {state!r}; it is success now")
        ended_as, exit_code = names.STATES.get(state, names.STATES["success"])
        lines = (error or "").strip().splitlines() if exit_code else []
        self._ended = True
        if self in _runs:
            _runs.remove(self)
        self._run._finish(ended_as, exit_code, lines[-1] if lines else "")

    @property
    def id(self) -> str:
        return self._run.id

    @property
    def mode(self) -> str:
        """online, local, offline or disabled."""
        return self._run._core.mode

    @property
    def name(self) -> str:
        return self._run.name

    @property
    def dir(self) -> Path:
        """The folder of the run in the store."""
        return Path(self._run.dir)

    @property
    def path(self) -> str:
        """What tracker.open_run() takes."""
        return f"{self._run.project}/{self._run.id}"

    @property
    def url(self) -> str | None:
        return self._run.url

    @property
    def alive(self) -> bool:
        return not self._ended and not self._run._core.finished

    @property
    def public(self) -> SimpleNamespace:
        """What scripts for earlier versions read: run_id, run_dir, project_name, cloud.exp_url, cloud.project_url."""
        cloud = SimpleNamespace(available=self.url is not None, exp_url=self.url, project_url=self.get_project_url())
        return SimpleNamespace(run_id=self.id, run_dir=self._run.dir, project_name=self._run.project, cloud=cloud)

    def get_url(self) -> str | None:
        return self.url

    def get_project_url(self) -> str | None:
        return None

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.alive:
            state, _, reason = ("finished", 0, "") if error is None else _open_runs.end_of(error)
            self.finish({"finished": "success", "interrupted": "aborted"}.get(state, "crashed"), reason)

    def __getattr__(self, name: str) -> Any:
        if name in names.RUN:
            return accept("swanlab", f"Run.{name}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<tracker.compat.swanlab.Run {self.path}>"


def add(run: tracker.Run) -> Run:
    """The Run of a run of tracker that has none."""
    out = Run(run)
    _runs[:] = [*(other for other in _runs if other.alive), out]
    return out


def current() -> Run:
    """The current run. RuntimeError without one."""
    run = current_run()
    if run is None:
        raise RuntimeError("there is no run; call swanlab.init() first")
    return next((known for known in reversed(_runs) if known._run is run), None) or add(run)


class ModuleConfig(Config):
    """swanlab.config: the config of the current run. Without a run it collects entries for each run to come."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["_before"] = self.__dict__.pop("_values")

    @property
    def _values(self) -> dict[str, Any]:  # type: ignore[override]
        target = self._target()
        return self._before if target is None else target._values

    def _record(self, changed: dict[str, Any]) -> None:
        target = self._target()
        if target is not None:
            target._record(changed)

    def _target(self) -> Config | None:
        return None if current_run() is None else current().config

    def _pending(self) -> dict[str, Any]:
        """What was set without a run."""
        return dict(self._before)
