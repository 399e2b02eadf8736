# SPDX-License-Identifier: MIT
"""Which step a call of log() belongs to, and when its row is written: as the original does it.

log(data) writes the row of the current step and goes on to the next one. log(data, commit=False) and log(data, step=n)
add to the row of the step; a later step, a commit, finish() or the end of the process writes it.
"""

from __future__ import annotations

import os
import time
from _thread import RLock

from tracker.compat.wandb._metric import Definitions
from tracker.compat.wandb._state import say
from tracker.compat.wandb._values import SEPARATOR, flat, kept
from tracker.compat.wandb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import tracker


class Rows:
    """The rows of one run. Threads: any."""

    def __init__(self, run: tracker.Run, first_step: int) -> None:
        self._run = run
        self._lock = RLock()
        self._waiting: dict[str, Any] = {}
        self._last: tuple[int, float] | None = None  # step and time of the last row
        self._began = time.time()
        self.step = first_step  # of the next row
        self.late = 0
        self.definitions = Definitions()
        self.deleted: set[str] = set()  # from the summary, until they are logged again

    def after_fork(self) -> None:
        """What waits is the parent's to write, and a lock that another of its threads held is never released here."""
        self._lock = RLock()
        self._waiting = {}

    def log(self, data: Mapping[str, Any], step: int | None, commit: bool | None) -> None:
        row = flat(data)
        if os.getpid() != self._run._pid:
            self._attach()
        with self._lock:
            if step is not None:
                step = int(step)
                if step < self.step:
                    self._log_late(row, step)
                    return
                if step > self.step:
                    self._write()
                    self.step = step
            if commit or (commit is None and step is None):
                self._waiting.update(row)
                self._write()
                self.step += 1
            else:
                self._waiting.update((key, kept(value)) for key, value in row.items())

    def put_beside(self, row: Mapping[str, Any]) -> None:
        """Values that belong to the current step and do not end it."""
        with self._lock:
            self._run.log(flat(row), self.step)

    def flush(self) -> None:
        """Writes the row that waits."""
        with self._lock:
            self._write()
            if self.late:
                self._run._core.set_attribute("wandb", {"separator": SEPARATOR, "late_rows": self.late})

    def _write(self) -> None:
        row, self._waiting = self._waiting, {}
        if not row:
            return
        self.definitions.add_steps(row)
        if self.deleted:
            self.deleted.difference_update(row)
        self._run.log(row, self.step)
        self._last = (self.step, time.time())

    def _log_late(self, row: dict[str, Any], step: int) -> None:
        self.late += 1
        if self.late == 1:
            say(
                f"wandb: WARNING Tried to log to step {step} that is less than the current step {self.step}. Steps "
                "must be monotonically increasing: the original ignores such data, here it is stored at its step. "
                "Said once for each run"
            )
        self._run.log(row, step)

    def _attach(self) -> None:
        """In a forked child the first call joins the run, as a writer of its own."""
        try:
            self._run.attach()
        except RuntimeError:  # a rank that records nothing
            pass

    def own_summary(self) -> dict[str, Any]:
        """What the original adds to the summary."""
        if self._last is None:
            return {}
        step, now = self._last
        return {"_step": step, "_timestamp": now, "_runtime": now - self._began}


def checked(data: object) -> Mapping[str, Any]:
    """The argument of log(). TypeError for anything but a mapping whose keys are str."""
    from collections.abc import Mapping as AnyMapping

    if not isinstance(data, AnyMapping):
        raise TypeError(f"wandb.log must be passed a dictionary, got {type(data).__name__}")
    for key in data:
        if not isinstance(key, str):
            raise TypeError(f"Key values passed to `wandb.log` must be strings, got {key!r}")
    return data


def finished(name: str, run_id: str) -> UsageError:
    return UsageError(f"Run ({run_id}) is finished. The call to `{name}` will be ignored: use an active run.")
