# SPDX-License-Identifier: MIT
"""The run of a process: the hot calls come from _core.Run, everything else is here."""

from __future__ import annotations

import os
import sys
import time

from tracker import _core, _open_runs
from tracker._arguments import seconds
from tracker._console import stream_wrappers
from tracker._recording.config_summary import Config, Summary

TYPE_CHECKING = False  # typing costs a third of the import of this package
if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import timedelta
    from types import TracebackType
    from typing import Any, Self

    from tracker._artifacts.artifact import Artifact
    from tracker._reading.stored_objects import ArtifactUse, StoredArtifact
    from tracker._recording.status import RunStatus

INT64_MIN = -(2**63)


def _import_status() -> None:
    """No signal handler runs meanwhile: one that calls status() would find half of the module."""
    import signal

    held = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        import tracker._recording.status  # noqa: F401
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


class Run(_core.Run):
    """A run that this process records; made by tracker.init().

    Threads: any may call anything. After fork() it is inert in the child (attach() is the way to record there).
    As a context manager it ends with the block: failed with the last line of the traceback when an exception leaves it,
    interrupted on KeyboardInterrupt; the exception goes on. Within the block it is the current run of its context, and
    after it the run that was current before is so again. A run that is not finished ends with the process.
    """

    __slots__ = (
        "__weakref__",
        "_cell",
        "_config",
        "_labels",
        "_pid",
        "_plainer",
        "_recorded",
        "_slot",
        "_summary",
        "_watched",
    )

    _pid: int
    _recorded: bool
    _labels: dict[str, object]
    _plainer: dict[str, int]  # media logged in a plainer form, by name
    _cell: object  # of the notebook that opened it
    _watched: list[Any]  # what watch() has hooked
    _slot: _open_runs.Slot  # of the contexts in which it was set

    def __init__(self, core: _core.RunCore) -> None:
        self._pid = os.getpid()
        self._recorded = core.recording
        self._labels = {}
        self._plainer = {}
        self._cell = None
        self._watched = []
        self._slot = _open_runs.NO_RUN
        self._config = Config(core)
        self._summary = Summary(self)

    # --- facts ------------------------------------------------------------------------------------------------

    @property
    def id(self) -> str | Any:
        """The label, unique in its project. None where nothing is recorded (mode="disabled", a gated rank) and neither
        init(id=) nor TRACKER_RUN_ID has named it, and while a rank waits for the run of rank 0."""
        return self._core.id or None

    @property
    def uid(self) -> str:
        """32 hex digits, made once for ever; "" while this rank waits for the run of rank 0, and where it is gated."""
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
        """The page of the server's console that shows the run; None unless mode="online" and a server is known."""
        return self._core.url or None

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
        """Of the distributed job; 1 without one, 0 where only the rank is known."""
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
        from tracker._arguments import tag_list
        from tracker._plain_values import plain

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
        from tracker._plain_values import plain

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
        from tracker._arguments import summary_kinds, text, utf8

        step_metric, goal = text("step_metric", step_metric), text("goal", goal)
        if not isinstance(name, str):
            raise TypeError(f"name must be a str, got {type(name).__name__}")
        self._core.define_metric(utf8("name", name), step_metric or "", summary_kinds(summary), goal or "")

    def log_artifact(
        self,
        artifact: Artifact | str | os.PathLike[str],
        name: str | None = None,
        type: str | None = None,
        aliases: Iterable[str] | None = None,
        *,
        tags: Iterable[str] | None = None,
        ttl: float | timedelta | None = None,
        copy: bool | None = None,
    ) -> Artifact:
        """Stores an Artifact, or the file or folder at a path, as a version of this content; the run made it.

        The content is that of the call, in which at most 64 MiB are copied; a larger file is held open and read on a
        thread of the run, and refused where it is written over before that. copy=True copies it in the call, copy=False
        copies nothing (Artifact says more). The artifact's wait() says when it is stored.
        Content that a version of that name has already is that version. aliases: names that move to this version
        ("latest" moves by itself). ttl: seconds or a timedelta after which `tracker gc` may remove it; without one it
        stays. Of all that log this content the one who wants it longest counts, before and after.

        Raises at once for a path or a label that is wrong. What comes later fails the artifact and never the run: a
        file that changes or vanishes before it is read, a disk that refuses, a queue that stays full (64 artifacts or
        100,000 files) for 2 s; said on stderr, counted in status(), raised by wait(). Where nothing is recorded
        (mode="disabled", a gated rank, a forked child) nothing is stored.
        """
        from tracker._artifacts.log_artifact import log

        return log(self, artifact, name, type, aliases, tags, ttl, copy=copy)

    def use_artifact(
        self,
        artifact: str | os.PathLike[str] | Artifact | StoredArtifact,
        type: str | None = None,
        use_as: str | None = None,
    ) -> Artifact | StoredArtifact:
        """A version that this run reads, which is recorded; download() gives its files. Works on every rank.

        "name", "name:latest", "name:v3", "name@digest", each with "project/" in front or not. A folder (a Path, or a
        str that begins with "/", "./", "../" or "~") or an Artifact is stored as log_artifact() does, and the run used
        it. What this process has just logged under that name is waited for: TimeoutError after 10 s; where it is
        refused the older version is given, which is said on stderr. Raises NotFoundError with close names, ValueError
        for another type than `type`.
        """
        from tracker._artifacts.log_artifact import use

        return use(self, artifact, type, use_as)

    mark_output = log_artifact
    mark_input = use_artifact

    @property
    def outputs(self) -> list[ArtifactUse]:
        """The versions that the run has made so far. What waits to be stored is not among them. Cost: a commit."""
        return self._uses("output")

    @property
    def inputs(self) -> list[ArtifactUse]:
        """The versions that the run has used so far. Cost: a commit."""
        return self._uses("input")

    def _uses(self, use: str) -> list[ArtifactUse]:
        from tracker._reading.stored_objects import uses

        if not self.uid or not self._recorded:
            return []
        _open_runs.flush_own(self.uid)
        try:
            return uses(_core.Store.open(self._core.store_path).find(self.uid), use)
        except (_core.TrackerError, ValueError):
            return []  # nothing stored yet: the disk refuses

    def alert(self, title: str, text: str = "", level: str = "info") -> None:
        """Reports something to people while the run goes on; stored with the time and the run's largest step.

        level: "info", "warn" ("warning") or "error" ("critical"), in capital letters too, or an enum with such a value.
        A title above 256 bytes and a text above 16 KiB are cut, which the alert says. Above 60 a minute or 1,000 of
        this process alerts are dropped, counted (status().alerts_dropped) and said once; strict raises then. TypeError,
        ValueError say what was expected. A rank that records nothing does nothing. Threads: any.
        """
        from tracker._plain_values import plain

        level = getattr(level, "value", level)
        for what, given in (("title", title), ("text", text), ("level", level)):
            if not isinstance(given, str):
                raise TypeError(f"{what} must be a str, got {type(given).__name__}")
        level = {"warning": "warn", "critical": "error"}.get(level.lower(), level.lower())
        if level not in ("info", "warn", "error"):
            raise ValueError(f"level must be 'info', 'warn' or 'error', got {level[:80]!r}")
        self._core.alert(str(plain(title)), str(plain(text)), level)

    def should_stop(self) -> bool:
        """Whether `tracker stop` has asked this attempt of the run to stop: leave the loop and finish.

        Nothing stops by itself. True about a second after it was asked, on a network file system when its client looks
        again; False again when it is taken back, and in a forked child. Threads: any. Cost: some 0.1 us; the first call
        starts a thread that reads one file a second, and waits for its first read, 100 ms at most, without the GIL:
        so it sees what was asked before.
        """
        return self._core.should_stop()

    @property
    def stop_reason(self) -> str | None:
        """Why, by whom and when the run was asked to stop, in one line; None where it was not."""
        return self._core.stop_reason()

    def mark_preempting(self) -> None:
        """The machine is about to take the process away: however it ends, the run is "preempted" then.

        For who hears of it otherwise than by SIGTERM (init(on_sigterm="mark")), or in a handler of their own. What is
        logged from then on is recorded as before, and a further attempt (resume) is a state of its own. Does nothing
        after the end (strict raises), in a forked child and on a rank that records nothing. Threads: any, and a
        handler of Python's signal module.
        """
        self._core.mark_preempting()

    def watch(
        self,
        model: Any,
        log: str | None = "gradients",
        log_freq: int = 1000,
        *,
        prefix: str = "",
        histograms: bool = False,
    ) -> None:
        """Logs norm, mean, std, min and max of a PyTorch model's gradients, parameters or both ("all") as metrics
        "gradients/<parameter>/norm" and so on, at each log_freq-th backward pass.

        histograms=True: "gradients/<parameter>/histogram" too, of the first 100 parameters.
        They go with the run's largest step by then. log=None watches nothing. TypeError and ValueError say what was
        expected; a model that is watched is not watched again. Costs nothing between; see docs/watch.md. Removed by
        unwatch() and finish().
        """
        from tracker._recording import watch

        watch.watch(self, model, log, log_freq, prefix, histograms)

    def unwatch(self, model: Any = None) -> None:
        """Ends watch() of the model, or of all."""
        if self._watched:
            from tracker._recording import watch

            watch.unwatch(self, model)

    def flush(self, timeout: float = 10.0) -> bool:
        """Waits until all that this process logged before is committed and fsynced ("durable"), media included and what
        is on its way from a device.

        False when that did not happen within `timeout` seconds, nothing is lost by it, and when something was logged
        after finish() and so dropped. Ctrl-C, and what any signal's handler raises, ends the wait within 0.1 s, and
        nothing is lost by that either. Threads: any, without the GIL.
        """
        deadline = time.monotonic() + seconds("timeout", timeout)
        arrived = True
        for queue in _open_runs.queues() if self._pid == os.getpid() else ():
            arrived = queue.wait(self._core, max(0.0, deadline - time.monotonic())) and arrived
        return self._core.flush(max(0.0, deadline - time.monotonic())) and arrived

    def status(self, *, series: bool = False) -> RunStatus:
        """Where the points are, what an accepted point survives right now, and what the tracker costs.

        series=True adds the account of each metric, all of one moment; it then costs a pass over what waits to be
        stored and one over the metrics.
        """
        if "tracker._recording.status" not in sys.modules:
            _import_status()
        from tracker._recording.status import Cost, RunStatus, SeriesStatus

        now = self._core.status()
        now["cost"] = Cost(**now["cost"])
        if series:
            now["series"] = {name: SeriesStatus(*counts) for name, counts in self._core.series_status().items()}
        device_values = sys.modules.get("tracker._recording.device_values")
        on_device = device_values.waiting(self._core) if device_values is not None else 0
        return RunStatus(
            values_rounded=self._values_rounded,
            media_plainer=sum(self._plainer.values()),
            values_on_device=on_device,
            **now,
        )

    def finish(self, exit_code: int | None = None, timeout: float = 10.0) -> None:
        """Ends the run: finished, or failed when exit_code is not 0. The second call does nothing.

        Values on their way from a device, media that are not encoded yet and artifacts that are not stored yet have
        `timeout` seconds each. Media that are left then are stored raw, as arrays of kind "array", within 0.25 s; all
        else is given up, counted and, of artifacts, named on stderr. Then the run is committed and the store made plain
        files, at most 2 s. With mode="online" what the server lacks then is sent for at most `timeout` seconds more,
        not at all where the server cannot be reached; the rest stays for `tracker sync`. What is logged afterwards is
        dropped, counted and said once. In a forked child it does nothing. strict: StoreError where the disk refuses.
        """
        budget = seconds("timeout", timeout)
        if exit_code is not None and (isinstance(exit_code, bool) or not isinstance(exit_code, int)):
            raise TypeError(f"exit_code must be an int or None, got {type(exit_code).__name__}")
        self._finish("failed" if exit_code else "finished", exit_code or 0, "", budget)

    def _finish(self, state: str, exit_code: int, reason: str, budget: float = 10.0) -> None:
        """`budget`: seconds that media and artifacts have; below 0: at the end of the process, a part of its 2 s."""
        if self._pid != os.getpid():
            return
        self.unwatch()
        try:
            for queue in _open_runs.queues() if not self._core.finished else ():
                queue.end(self._core, budget if budget >= 0 else queue.EXIT_MS_MAX / 1000)
            if "tracker._console.fd_capture" in sys.modules:
                from tracker._console import fd_capture

                fd_capture.remove(self._core)
            self._core.finish(state, exit_code, reason, budget)
        finally:
            stream_wrappers.remove(self._core)
            _open_runs.remove(self)

    def upload(self, folder: str | None = None, make_folder: bool = False) -> bool:
        """Sends what is stored of the run to the server, in any mode and after finish() too; True: all of it is there.

        Waits while bytes flow and gives up after 30 s without progress, with one line on stderr that names `tracker
        sync`; so where no server is known. The server is that of init(), else of TRACKER_HOST or tracker.login().
        folder: the project on the server, default the run's own. NotFoundError where the server has no such project,
        unless make_folder. Nothing local is changed.
        """
        from tracker._arguments import flag, label

        return self._core.upload(label("folder", folder) or "", flag("make_folder", make_folder))

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
        _open_runs.add(self)
        return self

    def __enter__(self) -> Self:
        _open_runs.enter(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._finish("finished", 0, "")
            else:
                self._finish_with(error)
        finally:
            _open_runs.leave(self)

    def _finish_with(self, error: BaseException) -> None:
        try:
            self._finish(*_open_runs.end_of(error))
        except Exception as own:  # the caller's exception is the one that counts
            print(f"tracker: the run {self.project}/{self.id} could not be ended: {own}", file=sys.stderr)

    def _repr_html_(self) -> str:
        """As readers of the run see it; one line where nothing of it is stored."""
        from tracker._reading import notebook_page
        from tracker._reading.stored_objects import StoredRun

        try:
            if self._core.recording or self._recorded:
                return notebook_page.stored_run(StoredRun(_core.Store.open(self._core.store_path).find(self.uid)))
        except (_core.TrackerError, ValueError):  # nothing is stored yet, or the disk refuses
            pass
        return notebook_page.nothing_stored(self.project, self.id, self._core.recording)

    def __repr__(self) -> str:
        what = "" if self._core.recording else ", not recording"
        return f"<tracker.Run {self.project}/{self.id}{what}>"
