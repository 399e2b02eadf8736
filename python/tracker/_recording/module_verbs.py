# SPDX-License-Identifier: MIT
"""The verbs of the module, tracker.finish() and so on, which act on the current run; log() is in _open_runs.py."""

from __future__ import annotations

from tracker import _open_runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from datetime import timedelta
    from typing import Any

    from tracker._artifacts.artifact import Artifact
    from tracker._reading.stored_objects import StoredArtifact
    from tracker._recording.run import Run


def current_run() -> Run | None:
    """The run that a verb takes, or None."""
    run: Any = _open_runs.current()
    return run  # type: ignore[no-any-return]


def _require(verb: str) -> Run:
    run: Any = _open_runs.require(verb)
    return run  # type: ignore[no-any-return]


def define_metric(
    name: str,
    *,
    step_metric: str | None = None,
    summary: str | Iterable[str] | None = None,
    goal: str | None = None,
) -> None:
    """Run.define_metric() of the current run. Raises RuntimeError when there is none."""
    run = _require("tracker.define_metric")
    run.define_metric(name, step_metric=step_metric, summary=summary, goal=goal)


def log_artifact(
    artifact: Artifact | str | os.PathLike[str],
    name: str | None = None,
    type: str | None = None,
    aliases: Iterable[str] | None = None,
    *,
    tags: Iterable[str] | None = None,
    ttl: float | timedelta | None = None,
    copy: bool | None = None,
) -> Artifact:
    """Run.log_artifact() of the current run. Raises RuntimeError when there is none."""
    run = _require("tracker.log_artifact")
    return run.log_artifact(artifact, name, type, aliases, tags=tags, ttl=ttl, copy=copy)


def use_artifact(
    artifact: str | os.PathLike[str] | Artifact | StoredArtifact, type: str | None = None, use_as: str | None = None
) -> Artifact | StoredArtifact:
    """Run.use_artifact() of the current run. Raises RuntimeError when there is none."""
    return _require("tracker.use_artifact").use_artifact(artifact, type, use_as)


def flush(timeout: float = 10.0) -> bool:
    """Run.flush() of the current run. Raises RuntimeError when there is none."""
    return _require("tracker.flush").flush(timeout)


def finish(exit_code: int | None = None, timeout: float = 10.0) -> None:
    """Run.finish() of the current run; does nothing when there is none."""
    run: Any = _open_runs.find("tracker.finish")
    if run is not None:
        run.finish(exit_code, timeout)
