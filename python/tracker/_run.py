# SPDX-License-Identifier: MIT
"""The run of a process: the hot calls come from _core.Run, everything else is here."""

from __future__ import annotations

import os

from tracker import _core, _current
from tracker._mappings import Config, Summary

TYPE_CHECKING = False  # typing costs a third of the import of this package
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import Self

    from tracker._status import RunStatus

INT64_MIN = -(2**63)


def seconds(name: str, value: float) -> float:
    """A timeout argument. TypeError or ValueError says what was expected."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number of seconds, got {type(value).__name__}")
    if not value >= 0:
        raise ValueError(f"{name} must be 0 or more seconds, got {value}")
    return float(value)


class Run(_core.Run):
    """A run that this process records; made by tracker.init().

    Threads: any may call anything. After fork() it is inert in the child (attach() is the way to record there).
    As a context manager it ends with the block: failed with the last line of the traceback when an exception leaves it,
    interrupted on KeyboardInterrupt; the exception goes on. A run that nobody finishes ends with the process.
    """

    __slots__ = ("__weakref__", "_config", "_labels", "_pid", "_recorded", "_summary")

    _pid: int
    _recorded: bool
    _labels: dict[str, object]

    def __init__(self, core: _core.RunCore) -> None:
        self._pid = os.getpid()
        self._recorded = core.recording
        self._labels = {}
        self._config = Config(core)
        self._summary = Summary(self)

    # --- facts ------------------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The label, unique in its project; "" where mode="disabled"."""
        return self._core.id

    @property
    def uid(self) -> str:
        """32 hex digits, made once for ever."""
        return self._core.uid

    @property
    def name(self) -> str:
        """The display name; may be set."""
        return self._core.name

    @name.setter
    def name(self, value: str) -> None:
        self._set_label("name", value)

    @property
    def project(self) -> str:
        return self._core.project

    @property
    def dir(self) -> str:
        """The run's folder; a real one on gated ranks too."""
        return self._core.dir

    @property
    def url(self) -> str | None:
        """Where a server shows the run; None in local mode."""
        return None

    @property
    def step(self) -> int:
        """The largest step logged so far, -1 before the first: log(step=None) takes the one after it."""
        step = self._core.step
        return -1 if step == INT64_MIN else step

    @property
    def rank(self) -> int:
        """The rank in its job, 0 where there is none, -1 where only a local or a node rank is known."""
        return self._core.rank

    @property
    def world_size(self) -> int:
        return self._core.world_size

    @property
    def attempt(self) -> int:
        """1 for the first process of a run, one more for each resume or elastic restart; ranks of a launch share it."""
        return self._core.attempt

    @property
    def notes(self) -> str | None:
        value = self._labels.get("notes")
        return value if isinstance(value, str) else None

    @notes.setter
    def notes(self, value: str) -> None:
        self._set_label("notes", value)

    @property
    def tags(self) -> tuple[str, ...]:
        value = self._labels.get("tags", ())
        return value if isinstance(value, tuple) else ()

    @tags.setter
    def tags(self, value: Iterable[str]) -> None:
        from tracker._options import tag_list
        from tracker._plain import plain

        tags = tag_list(value)
        self._core.set_attribute("tags", plain(tags))
        self._labels["tags"] = tuple(tags)

    @property
    def config(self) -> Config:
        """A mutable mapping; what is set in it is recorded."""
        return self._config

    @property
    def summary(self) -> Summary:
        """A mutable mapping: the last value of each metric by itself, an explicit one wins and stays."""
        return self._summary

    def _set_label(self, key: str, value: str) -> None:
        if not isinstance(value, str):
            raise TypeError(f"{key} must be a str, got {type(value).__name__}")
        from tracker._plain import plain

        self._core.set_attribute(key, plain(value))
        self._labels[key] = value

    # --- verbs ------------------------------------------------------------------------------------------------

    def define_metric(
        self,
        name: str,
        *,
        step_metric: str | None = None,
        summary: str | Iterable[str] | None = None,
        goal: str | None = None,
    ) -> None:
        """Says what a metric means, or all whose names match a pattern: "*" any characters, "?" one byte.

        step_metric: the default x of readers. summary: which value stands for it, "last", "min", "max", "mean" or
        "best" (the min or max, as goal says); of a list the first one under the metric's name, and each as "name.min".
        min, max and mean are over finite values. goal: "minimize" or "maximize". A metric's own definition beats
        patterns, of which the last counts; a summary that was set beats both. ValueError says what was expected.
        """
        from tracker._options import summary_kinds, text

        step_metric, goal = text("step_metric", step_metric), text("goal", goal)
        if not isinstance(name, str):
            raise TypeError(f"name must be a str, got {type(name).__name__}")
        self._core.define_metric(str.__str__(name), step_metric or "", summary_kinds(summary), goal or "")

    def flush(self, timeout: float = 10.0) -> bool:
        """Waits until all that this process logged before is committed and fsynced ("durable").

        False when that did not happen within `timeout` seconds, nothing is lost by it, and when something was logged
        after finish() and so dropped. Threads: any, without the GIL.
        """
        return self._core.flush(seconds("timeout", timeout))

    def status(self) -> RunStatus:
        """Where the points are, and what an accepted point survives right now."""
        from tracker._status import RunStatus

        return RunStatus(values_rounded=self._values_rounded, **self._core.status())

    def finish(self, exit_code: int | None = None, timeout: float = 10.0) -> None:
        """Ends the run: finished, or failed when exit_code is not 0. The second call does nothing.

        Commits and makes the store plain files, at most 2 s; `timeout` bounds what a network adds. What is logged
        afterwards is dropped, counted and said once. In a forked child it does nothing. strict: StoreError where the
        disk refuses.
        """
        seconds("timeout", timeout)
        if exit_code is not None and (isinstance(exit_code, bool) or not isinstance(exit_code, int)):
            raise TypeError(f"exit_code must be an int or None, got {type(exit_code).__name__}")
        self._finish("failed" if exit_code else "finished", exit_code or 0, "")

    def _finish(self, state: str, exit_code: int, reason: str) -> None:
        if self._pid != os.getpid():
            return
        try:
            self._core.finish(state, exit_code, reason)
        finally:
            _current.remove(self)

    def attach(self) -> Run:
        """In a forked child: from now on this run records here too, as a writer of its own; it is the current run.

        Returns the run itself; what was taken from it before the fork (metrics, config) records here as well. Call it
        before other threads of the child use the run. What the parent logs stays the parent's, and each ends its own
        part. Raises RuntimeError in the process that opened the run and for a run that recorded nothing there, with
        strict also StoreError. Cost: that of init().
        """
        if self._pid == os.getpid():
            raise RuntimeError("attach() is for a forked child; this process records the run already")
        if not self._recorded:
            raise RuntimeError("attach(): the parent process does not record this run")
        self._attach()
        self._pid = os.getpid()
        _current.add(self)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._finish("finished", 0, "")
        else:
            self._finish(*_current.end_of(error))

    def __repr__(self) -> str:
        what = "" if self._core.recording else ", not recording"
        return f"<tracker.Run {self.project}/{self.id}{what}>"
