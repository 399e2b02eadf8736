# SPDX-License-Identifier: MIT
"""The runs that this process has open, the module-level verbs on the newest of them, and how a process ends.

The exit code is never changed: sys.excepthook is chained, an uncaught exception gives its last line to the run, and
the core's exit handler ends what nobody has finished. threading.excepthook is left alone: a dead thread ends no run.
"""

from __future__ import annotations

import atexit
import itertools
import os
import sys

from tracker import _parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import timedelta
    from types import TracebackType
    from typing import Any

    from tracker._artifact import Artifact
    from tracker._artifact_read import StoredArtifact
    from tracker._run import Run

EXIT_CODE_SIGINT = 130
FLUSH_S_MAX = 10.0

_live: list[Run] = []
# Runs that this process remembers having begun; a reader of another one looks again whenever one is forgotten.
BEGUN_MAX = 4096
_begun: dict[str, int] = {}  # by uid, the newest last: which begin of this process it was
_begins = itertools.count(1)
_forgotten = 0  # the newest begin that is not remembered
_hooked = False
_seen_last: BaseException | None = None  # sys.last_value before our first run


def newest() -> Run | None:
    """The newest run that has not ended, or None. In a forked child: the inherited one, which is inert."""
    return _live[-1] if _live else None


def require(what: str) -> Run:
    run = newest()
    if run is None:
        raise RuntimeError(f"{what}: there is no run; call tracker.init() first")
    return run


def live_runs() -> tuple[Run, ...]:
    return tuple(_live)


def records() -> bool:
    """Whether this process has had a run, or is the child of one that has: then the store's catalog is left alone."""
    return _hooked or _parent.is_above()


def log(data: Mapping[str, Any], step: int | None = None) -> None:
    """Run.log() of the newest run. Raises RuntimeError when there is none."""
    require("tracker.log").log(data, step)


def define_metric(
    name: str,
    *,
    step_metric: str | None = None,
    summary: str | Iterable[str] | None = None,
    goal: str | None = None,
) -> None:
    """Run.define_metric() of the newest run. Raises RuntimeError when there is none."""
    run = require("tracker.define_metric")
    run.define_metric(name, step_metric=step_metric, summary=summary, goal=goal)


def log_artifact(
    artifact: Artifact | str | os.PathLike[str],
    name: str | None = None,
    type: str | None = None,
    aliases: Iterable[str] | None = None,
    *,
    tags: Iterable[str] | None = None,
    ttl: float | timedelta | None = None,
) -> Artifact:
    """Run.log_artifact() of the newest run. Raises RuntimeError when there is none."""
    return require("tracker.log_artifact").log_artifact(artifact, name, type, aliases, tags=tags, ttl=ttl)


def use_artifact(
    artifact: str | os.PathLike[str] | Artifact | StoredArtifact, type: str | None = None, use_as: str | None = None
) -> Artifact | StoredArtifact:
    """Run.use_artifact() of the newest run. Raises RuntimeError when there is none."""
    return require("tracker.use_artifact").use_artifact(artifact, type, use_as)


def flush(timeout: float = 10.0) -> bool:
    """Run.flush() of the newest run. Raises RuntimeError when there is none."""
    return require("tracker.flush").flush(timeout)


def finish(exit_code: int | None = None, timeout: float = 10.0) -> None:
    """Run.finish() of the newest run; does nothing when there is none."""
    run = newest()
    if run is not None:
        run.finish(exit_code, timeout)


def begun(uid: str) -> int:
    """Another number each time that this process begins, resumes or attaches to the run; where it has not, or is not
    remembered to, that of the newest begin that is not."""
    return _begun.get(uid, _forgotten)


def flush_own(uid: str) -> None:
    """What this process has logged into the run is committed before it is read."""
    for run in live_runs():
        if run.uid == uid and run._pid == os.getpid():
            run.flush(FLUSH_S_MAX)


def flush_all(store_path: str) -> None:
    """The same for all runs that this process records in a store."""
    for run in live_runs():
        if run._pid == os.getpid() and run._core.store_path == store_path:
            run.flush(FLUSH_S_MAX)


def add(run: Run) -> None:
    global _forgotten
    _install_hooks()
    if run in _live:  # an inherited one that records in this forked child from now on
        _live.remove(run)
    _live.append(run)
    _begun.pop(run.uid, None)
    _begun[run.uid] = next(_begins)
    while len(_begun) > BEGUN_MAX:  # other threads may begin runs, too
        _forgotten = max(_forgotten, _begun.pop(next(iter(tuple(_begun)), ""), 0))
    if run._recorded:
        _parent.mark()


def remove(run: Run) -> None:
    pid = os.getpid()
    if run in _live:
        _live.remove(run)
    others = any(other._pid == pid and other._recorded for other in _live)
    if not others:
        _parent.unmark()


def last_line(error: BaseException) -> str:
    """The last line of the traceback, "ValueError: text"."""
    try:
        import traceback

        lines = "".join(traceback.format_exception_only(type(error), error)).strip().splitlines()
    except Exception:  # of a foreign __str__, or an import without a free descriptor
        return type(error).__name__
    if error.__class__.__module__ != "builtins" and len(lines) == 1:
        return lines[0]
    return next((line for line in lines if line.startswith(type(error).__name__)), lines[-1] if lines else "")


def end_of(error: BaseException) -> tuple[str, int, str]:
    """State, exit code and reason of a run that `error` ended. Raises nothing, whatever the exception is made of: a
    text that is no UTF-8 (a file name of os.fsdecode) is escaped, one that cannot be made is its type's name."""
    try:
        state, code, reason = _end_of(error)
        return state, code, reason.encode(errors="backslashreplace").decode()
    except (
        Exception
    ):  # no descriptor is left to import with, no memory, a foreign __str__: the run has failed all the same
        return "failed", 1, type(error).__name__.encode(errors="backslashreplace").decode()


def _end_of(error: BaseException) -> tuple[str, int, str]:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", EXIT_CODE_SIGINT, "KeyboardInterrupt"
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            code = int(error.code or 0) & 0xFF
            return ("failed" if code else "finished"), code, f"sys.exit({code})" if code else ""
        return "failed", 1, str(error.code).splitlines()[0] if str(error.code) else "sys.exit"
    return "failed", 1, last_line(error)


def _interactive() -> bool:
    """At a prompt an exception ends a statement, not the process."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive)


def _note(error: BaseException) -> None:
    """Says what the runs end with if the exit code is not 0: an exception that the hook is given may be a handled one,
    and the program goes on."""
    end = end_of(error)
    for run in _live:
        if run._pid == os.getpid() and run._core.ends_with_process:
            run._core.set_exit_reason(*end)


def _install_hooks() -> None:
    global _hooked, _seen_last
    if _hooked:
        return
    _hooked = True
    _seen_last = getattr(sys, "last_value", None)
    previous = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        try:
            # An interrupt's end holds whatever the exit code is: only one that nobody has handled counts (_at_exit).
            if not _interactive() and not isinstance(error, KeyboardInterrupt):
                _note(error)
        finally:
            previous(kind, error, trace)

    sys.excepthook = excepthook
    atexit.register(_at_exit)


def _at_exit() -> None:
    """Notes the exception that the interpreter has kept as the one that ends it, also where a hook that replaced ours
    has not called it. After Ctrl-C it ends the runs, for the process dies by SIGINT then. Otherwise the core does,
    which is told the exit code."""
    last = getattr(sys, "last_value", None)
    if last is None or last is _seen_last or _interactive():
        return
    _note(last)
    if not isinstance(last, KeyboardInterrupt):
        return
    pid = os.getpid()
    for run in live_runs():
        if run._pid == pid and run._core.ends_with_process:
            run._finish(*end_of(last), -1.0)
