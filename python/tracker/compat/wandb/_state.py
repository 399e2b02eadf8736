# SPDX-License-Identifier: MIT
"""The runs that wandb.init() has opened in this process, the current one of them, and lines on stderr."""

from __future__ import annotations

import os

from tracker._recording.module_verbs import current_run
from tracker.compat._report import report
from tracker.compat.wandb.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Never

    Run = Any  # wandb's, of _run.py, which is above this module

TRUE_WORDS = ("1", "true", "yes", "on", "y", "t")
live: list[Run] = []  # oldest first
silent = False  # of the newest run: WANDB_SILENT or settings
_said: set[str] = set()


def is_true(text: str | None) -> bool:
    """What a variable of the environment means."""
    return (text or "").strip().lower() in TRUE_WORDS


def say(line: str) -> None:
    if not silent and not is_true(os.environ.get("WANDB_SILENT")):
        report(line)


def say_once(line: str) -> None:
    if said_once(line):
        say(line)


def said_once(line: str) -> bool:
    """True the first time. Where nothing else follows, the line counts as said."""
    if line in _said:
        return False
    _said.add(line)
    return True


def current() -> Run | None:
    """The wrapper of tracker's current run, else the newest live run that init() has made the current one."""
    runs = [run for run in live if run._sets_globals and not run._is_finished]
    newest = current_run()
    return next((run for run in runs if run._run is newest), runs[-1] if runs else None)


def require(what: str) -> Run:
    run = current()
    if run is None:
        raise Error(f"You must call wandb.init() before {what}")
    return run


def recorded_here() -> Run | None:
    """The current run, unless it is one that this forked child inherited and has not joined: init() opens another
    one then."""
    run = current()
    return run if run is not None and run._run._pid == os.getpid() else None


class BeforeInit:
    """wandb.config and wandb.summary before init(): every use is an Error that says so."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def _refuse(self, key: object) -> Never:
        raise Error(f"You must call wandb.init() before {self._name}.{key}")

    def __getattr__(self, key: str) -> Never:
        if key.startswith("__"):
            raise AttributeError(key)
        self._refuse(key)

    def __setattr__(self, key: str, value: object) -> None:
        self._refuse(key)

    def __getitem__(self, key: object) -> Never:
        self._refuse(key)

    def __setitem__(self, key: object, value: object) -> None:
        self._refuse(key)

    def __repr__(self) -> str:
        return f"<{self._name}: no run yet>"


CONFIG, SUMMARY = BeforeInit("wandb.config"), BeforeInit("wandb.summary")


def _after_fork() -> None:
    """A lock that another thread of the parent held would never be released in the child."""
    for run in live:
        run._rows.after_fork()


os.register_at_fork(after_in_child=_after_fork)
