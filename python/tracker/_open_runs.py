# SPDX-License-Identifier: MIT
"""The runs that this process has open, which of them is the current one, and how a process ends.

The current run belongs to a context (contextvars): init() sets it. A verb takes the live run of its context that was
set last, else that of the main thread's context, else the newest live run of the process. The main thread's context is
kept in _main, because other threads cannot read it, and a cell of a notebook may not see what an earlier cell has set.
It is the context in which the main thread called init() while _main or that context had no live run; a copy of it (a
task, copy_context().run) is another context.

At the end of the process the handlers of atexit that were registered after the first init() come before ours, which
empties the queues of values; what those before it log then is stored in the call (exiting).

The exit code is never changed: sys.excepthook is chained, an uncaught exception gives its last line to the run, and
the core's exit handler ends what was not finished. threading.excepthook is left alone: a dead thread ends no run.
"""

from __future__ import annotations

import atexit
import itertools
import os
import sys
from _thread import get_ident
from contextvars import ContextVar

from tracker import _multiprocessing_parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextvars import Token
    from types import TracebackType
    from typing import Any, Protocol

    from tracker import _core

    class OpenRun(Protocol):
        """What the modules below _recording use of a Run."""

        _cell: object
        _pid: int
        _recorded: bool
        _slot: Slot

        @property
        def _core(self) -> _core.RunCore: ...
        @property
        def id(self) -> str | Any: ...
        @property
        def uid(self) -> str: ...
        @property
        def project(self) -> str: ...
        def log(self, data: Mapping[str, Any], step: int | None = None) -> None: ...
        def flush(self, timeout: float = 10.0) -> bool: ...
        def _finish(self, state: str, exit_code: int, reason: str, budget: float = 10.0) -> None: ...


EXIT_CODE_SIGINT = 130
FLUSH_S_MAX = 10.0

_live: list[OpenRun] = []
# Runs that this process remembers having begun; a reader of another one looks again whenever one is forgotten.
BEGUN_MAX = 4096
_begun: dict[str, int] = {}  # by uid, the newest last: which begin of this process it was
_begins = itertools.count(1)
_forgotten = 0  # the newest begin that is not remembered
_hooked = False
exiting = False  # our exit handler has begun
_seen_last: BaseException | None = None  # sys.last_value before our first run


class Slot:
    """A run of a context. `run` is None once it has ended, so that no context keeps an ended run in memory."""

    __slots__ = ("run",)

    def __init__(self, run: OpenRun | None) -> None:
        self.run = run


NO_RUN = Slot(None)
_EMPTY: tuple[Slot, ...] = (NO_RUN,)
# The runs that were set in this context or in the one that it is a copy of, the newest last. The first is NO_RUN.
_here: ContextVar[tuple[Slot, ...]] = ContextVar("tracker_runs", default=_EMPTY)
# Written by the main thread: _here of its context. Its token can be reset in that context alone, not in a copy.
_main = _EMPTY
_mark: ContextVar[None] = ContextVar("tracker_main")
_main_token: Token[None] | None = None
_inherited: OpenRun | None = None  # in a forked child: the run that was current where the process forked
_said = False  # that a verb took a run of another context while several were live


def _top(slots: tuple[Slot, ...]) -> OpenRun | None:
    run = slots[-1].run
    if run is None and len(slots) > 1:
        run = next((slot.run for slot in reversed(slots) if slot.run is not None), None)
    return run


def _alive(slots: tuple[Slot, ...]) -> tuple[Slot, ...]:
    return (NO_RUN, *(slot for slot in slots if slot.run is not None))


def _on_main_thread() -> bool:
    main_thread = getattr(sys.modules.get("threading"), "main_thread", None)
    return main_thread is None or main_thread().ident == get_ident()


def _is_main_context() -> bool:
    """Whether _main is of this context. It uses up the token: the caller sets the next one."""
    try:
        if _main_token is not None:
            _mark.reset(_main_token)
            return True
    except (ValueError, RuntimeError):  # the token is of another context; Ctrl-C came before the next one was set
        pass
    return False


def _set(slots: tuple[Slot, ...], becomes_main: bool) -> None:
    """Sets the runs of this context. `becomes_main`: on the main thread it is the main context from now on."""
    global _main, _main_token
    if _on_main_thread() and (becomes_main or _is_main_context()):
        _main, _main_token = slots, _mark.set(None)
    _here.set(slots)


def enter(run: OpenRun) -> None:
    """The run is the current one of this context, if it is live."""
    here, slot = _here.get(), run._slot
    if slot.run is not None and here[-1] is not slot:
        slots = (*(each for each in _alive(here) if each is not slot), slot)
        _set(slots, becomes_main=_top(here) is None or _top(_main) is None)


def leave(run: OpenRun) -> None:
    """What was current in this context before enter() is so again."""
    here = _here.get()
    if run._slot is not NO_RUN and run._slot in here:
        _set(here[: here.index(run._slot)], becomes_main=False)


def _elsewhere() -> OpenRun | None:
    """The run of a context without one."""
    run = _top(_main)
    if run is None:
        pid = os.getpid()
        run = next((each for each in reversed(tuple(_live)) if each._pid == pid), _inherited)
    return run


def current() -> OpenRun | None:
    """The run that a verb takes, or None. In a forked child without one of its own: the inherited one, which does
    nothing there."""
    run = _top(_here.get())
    return _elsewhere() if run is None else run


def find(verb: str) -> OpenRun | None:
    """current() for a verb of the module. One line on stderr, once a process, if that is a run of another context and
    several are live."""
    here = _here.get()
    if here is not _EMPTY:
        run = _top(here)
        if here[-1].run is None:
            _here.set(_EMPTY if run is None else _alive(here))  # the next call takes the short way
        if run is not None:
            return run
    run = _main[-1].run
    if run is None:
        run = _elsewhere()
    if not _said and run is not None and len(_live) > 1:
        _say_elsewhere(verb, run)
    return run


def _say_elsewhere(verb: str, run: OpenRun) -> None:
    global _said
    pid = os.getpid()
    live = sum(each._pid == pid for each in tuple(_live))
    if live < 2 or _said:
        return
    _said = True
    where = f"{verb} was called in a thread or task without a run of its own, and {live} runs are live"
    say(f"{where}: it takes {run.project}/{run.id}; call init() there or use that run's methods (said once)")


def say_of(run: OpenRun, line: str) -> None:
    """say() about a run: the line begins with its name, because several runs may be live."""
    say(f"{run.project}/{run.id}: {line}" if run.id else line)


def say(line: str) -> None:
    """One line on stderr, where there is one."""
    try:
        if sys.stderr is not None:  # print(file=None) writes to stdout
            print(f"tracker: {line}", file=sys.stderr)
    except Exception:  # stderr is closed or replaced: the caller goes on
        pass


class NoRunError(RuntimeError, AttributeError):
    """There is no run. An AttributeError too: hasattr(tracker, "config") is False then, and help(tracker) works."""


def require(verb: str) -> OpenRun:
    run = find(verb)
    if run is None:
        raise NoRunError(f"{verb}: there is no run; call tracker.init() first")
    return run


def live_runs() -> tuple[OpenRun, ...]:
    return tuple(_live)


def records() -> bool:
    """Whether this process has had a run, or is the child of one that has: then the store's catalog is left alone."""
    return _hooked or _multiprocessing_parent.is_above()


def log(data: Mapping[str, Any], step: int | None = None) -> None:
    """tracker.log(): Run.log() of the current run. Raises RuntimeError when there is none."""
    here = _here.get()
    run = here[-1].run
    if run is None:
        # The run of a worker thread is most often the only one of the process.
        run = _main[-1].run if here is _EMPTY and len(_live) == 1 else None
        if run is None:
            run = require("tracker.log")
    run.log(data, step)


def queues() -> list[Any]:
    """Where values wait before they are logged: on a device, or to be encoded. Only what was imported, with the first
    of them; what comes from a device may go on to the other."""
    names = ("tracker._recording.device_values", "tracker._media.encode_queue")
    return [sys.modules[name] for name in names if name in sys.modules]


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


def add(run: OpenRun) -> None:
    """The run is live, and the current one of this context."""
    global _forgotten, _inherited
    _install_hooks()
    if run in _live:  # an inherited one that records in this forked child from now on
        _live.remove(run)
    run._slot = Slot(run)
    _live.append(run)
    enter(run)
    if _inherited is run:
        _inherited = None
    _begun.pop(run.uid, None)
    _begun[run.uid] = next(_begins)
    while len(_begun) > BEGUN_MAX:  # other threads may begin runs, too
        _forgotten = max(_forgotten, _begun.pop(next(iter(tuple(_begun)), ""), 0))
    if run._recorded:
        _multiprocessing_parent.mark()


def remove(run: OpenRun) -> None:
    global _main, _main_token
    pid = os.getpid()
    run._slot.run = None
    if _top(_main) is None and _on_main_thread():
        _main, _main_token = _EMPTY, None  # the token keeps its context in memory
    if run in _live:
        _live.remove(run)
    others = any(other._pid == pid and other._recorded for other in _live)
    if not others:
        _multiprocessing_parent.unmark()


def _after_fork() -> None:
    """In a forked child: no run of a context is live."""
    global _main, _main_token, _inherited
    run = _top(_here.get())
    if run is None:
        run = _top(_main)
    _inherited = _live[-1] if run is None and _live else run
    for each in _live:
        each._slot.run = None
    _main, _main_token = _EMPTY, None


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
            # An interrupt's end holds whatever the exit code is: only one that was not handled counts (_at_exit).
            if not _interactive() and not isinstance(error, KeyboardInterrupt):
                _note(error)
        finally:
            previous(kind, error, trace)

    sys.excepthook = excepthook
    atexit.register(_at_exit)
    os.register_at_fork(after_in_child=_after_fork)


def _at_exit() -> None:
    """Empties the queues of values. Notes the exception that the interpreter has kept as the one that ends it, also
    where a hook that replaced ours has not called it. After Ctrl-C it ends the runs, for the process dies by SIGINT
    then. Otherwise the core does, which gets the exit code."""
    global exiting
    exiting = True
    last = getattr(sys, "last_value", None)
    ended_by = None if last is _seen_last or _interactive() else last
    if ended_by is not None:
        _note(ended_by)
    for queue in queues():
        queue.end_at_exit()
    if not isinstance(ended_by, KeyboardInterrupt):
        return
    pid = os.getpid()
    for run in live_runs():
        if run._pid == pid and run._core.ends_with_process:
            run._finish(*end_of(ended_by), -1.0)
