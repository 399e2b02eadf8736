# SPDX-License-Identifier: MIT
"""Values in the memory of a GPU: they are copied to the host behind the kernels that compute them, and logged when they
have arrived. Nobody waits for the device, and no graph is kept.

The values of one call go over in one copy a device and dtype, into pinned memory, and a mark behind them. Later calls,
flush() and a daemon thread look whether the marks of the oldest are there, and log them in the order of their calls,
under the step of their call. To look is to read memory: a call of the driver from another thread, be it whether an
event has come, would end the capture of a CUDA graph by the program. What is on its way is bounded; beyond that a value
is dropped and counted, and so is what has not arrived when the run ends. torch is looked up, never imported. Threads:
any. A forked child begins with nothing.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from collections import deque

from tracker import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Of a process, on their way
WAITING_VALUES_MAX = 8192
# Between two looks of the thread while something is on its way
LOOK_MS = 20
# Between two looks of flush() and finish()
WAIT_LOOK_MS = 1
# Until flush() and finish() ask the driver whether it has failed
WAIT_ASK_MS = 1000
# At the end of a process that called no finish()
EXIT_MS_MAX = 1000


class Copy:
    """One copy on its way. arrive: called with the host's tensor. drop: called with why there will be none."""

    __slots__ = ("arrive", "core", "done", "drop", "event", "host", "mark", "sources", "values")

    def __init__(
        self, core: _core.RunCore, sources: Any, values: int, arrive: Callable[[Any], None], drop: Callable[[str], None]
    ) -> None:
        self.core, self.sources, self.values, self.arrive, self.drop = core, sources, values, arrive, drop
        self.host: Any = None
        self.mark: Any = None  # 0 until all of `host` has arrived
        self.event: Any = None
        self.done = False  # logged or dropped

    def start(self, torch: Any, values: Any) -> None:
        """`values` and what it was made of are held until they have been read: their memory may be another stream's."""
        with torch.cuda.device(values.device):
            self.host = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
            self.mark = torch.zeros(1, dtype=torch.uint8, pin_memory=True)
            # Of this call alone: one of an earlier call may still be in the making on another stream.
            one = torch.ones(1, dtype=torch.uint8, device=values.device)
            self.host.copy_(values, non_blocking=True)
            self.mark.copy_(one, non_blocking=True)
            self.event = torch.cuda.Event()
            self.event.record()
        self.sources = (self.sources, values, one)

    def has_arrived(self) -> bool:
        return bool(self.mark.item())

    def has_failed(self) -> str:
        """Asks the driver; "" where it knows of no failure."""
        try:
            self.event.query()
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:300]
        return ""


class Queue:
    """The copies on their way, oldest first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()  # guards all that follows; a signal's handler may log, so it is an RLock
        self._copies: deque[Copy] = deque()
        self._values = 0
        self._looking = False  # one at a time, so that values are logged in the order of their calls
        self._thread: threading.Thread | None = None
        self._read: list[Copy] = []  # to be freed by who may call the driver

    def put(self, torch: Any, copy: Copy, values: Any) -> str:
        """ "" when it is on its way, else why not."""
        self.look()
        with self._changed:
            self._read.clear()
            if self._values + copy.values > WAITING_VALUES_MAX:
                return f"{WAITING_VALUES_MAX:,} are on their way from the device"
            copy.start(torch, values)
            self._copies.append(copy)
            self._values += copy.values
            self._start()
            self._changed.notify_all()
        return ""

    def look(self) -> None:
        """Logs what has arrived."""
        while (copy := self._take()) is not None:
            try:
                copy.arrive(copy.host)
            except _core.TrackerError:
                pass  # of a strict run; counted there
            except Exception as error:
                copy.drop(f"{type(error).__name__}: {error}"[:300])
            finally:
                with self._changed:
                    copy.done = True
                    self._looking = False
                    self._read.append(copy)

    def _take(self) -> Copy | None:
        with self._changed:
            if self._looking or not self._copies:
                return None
            copy = self._copies[0]
            if not copy.has_arrived():
                return None
            self._remove(copy)
            self._looking = True
            return copy

    def _remove(self, copy: Copy) -> None:
        self._copies.remove(copy)
        self._values -= copy.values

    def _give_up(self, copies: list[Copy], why: str) -> None:
        for copy in copies:
            self._remove(copy)
            copy.done = True
            copy.drop(why)

    def waiting(self, core: _core.RunCore) -> int:
        with self._changed:
            return sum(copy.values for copy in self._copies if copy.core is core)

    def wait(self, core: _core.RunCore | None, seconds: float) -> bool:
        """Until what is on its way now (of one run) is logged or dropped."""
        deadline = time.monotonic() + seconds
        with self._changed:
            mine = [copy for copy in self._copies if core is None or copy.core is core]
        ask = time.monotonic() + WAIT_ASK_MS / 1000
        while self._looking or (mine and not mine[-1].done):  # they leave in order
            self.look()
            now = time.monotonic()
            if now >= deadline:
                return False
            if now >= ask:
                ask = now + WAIT_ASK_MS / 1000
                self._ask(mine)
            time.sleep(WAIT_LOOK_MS / 1000)
        return True

    def _ask(self, copies: list[Copy]) -> None:
        """What is on its way from a device that has failed stays there."""
        with self._changed:
            waiting = [copy for copy in copies if not copy.done and copy in self._copies]
            if waiting and not _is_captured(sys.modules.get("torch")) and (why := waiting[0].has_failed()):
                self._give_up(waiting, why)

    def end(self, core: _core.RunCore | None, seconds: float) -> None:
        """Waits, then drops what is left, counted."""
        if self.wait(core, seconds):
            return
        with self._changed:
            left = [copy for copy in self._copies if core is None or copy.core is core]
            self._give_up(left, "the time of finish() was over before they arrived")

    def _start(self) -> None:
        if self._thread is not None:
            return
        thread = threading.Thread(target=self._work, name="tracker-device", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # a limit on processes: later calls, flush() and finish() look
            return
        self._thread = thread

    def _work(self) -> None:
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # signals are the program's
        except (OSError, ValueError):
            pass
        while True:
            with self._changed:
                while not self._copies:
                    self._changed.wait()
            time.sleep(LOOK_MS / 1000)
            self.look()


_queue = Queue()
_inherited: list[Queue] = []


def log(run: _core.Run, keys: list[str], values: list[Any], types: list[int], step: int) -> Exception | None:
    """Called by log() for what lies on a device. What it returns is raised by a strict run."""
    torch: Any = sys.modules.get("torch")
    core = run._core
    groups: dict[Any, list[int]] = {}  # what one copy takes: of one device and dtype
    for i, value in enumerate(values):
        groups.setdefault((value.device, value.dtype) if hasattr(value, "device") else None, []).append(i)
    if _is_captured(torch):
        return _reject(core, keys, "its value is not computed while a CUDA graph is captured")
    problem: Exception | None = None
    for places in groups.values():
        names = [keys[i] for i in places]

        def drop(why: str, places: list[int] = places) -> None:
            for i in places:
                core.drop_values(keys[i], types[i], 1, why)

        def arrive(host: Any, names: list[str] = names) -> None:
            _core.Run.log(run, dict(zip(names, host, strict=True)), step)

        try:
            with torch.no_grad():
                flat = [values[i].detach().reshape(1) for i in places]
                together = flat[0] if len(flat) == 1 else torch.cat(flat)
            full = _queue.put(torch, Copy(core, flat, len(flat), arrive, drop), together)
        except Exception:  # a tensor that cannot be copied so, a distributed one or not torch's, say
            for i in places:
                problem = _log_waiting(run, keys[i], values[i], step) or problem
            continue
        if full:
            drop(full)
            problem = problem or _core.LimitError(f"'{names[0]}': {full}")
    return problem


def _is_captured(torch: Any) -> bool:
    try:
        return bool(torch.cuda.is_current_stream_capturing())
    except Exception:  # no torch, or none that can tell
        return False


def _log_waiting(run: _core.Run, key: str, value: Any, step: int) -> Exception | None:
    try:
        number = value.detach().item()
    except Exception as error:  # whatever it is, the training shall not meet it
        return _reject(run._core, [key], f"{type(error).__name__}: {error}"[:300])
    try:
        _core.Run.log(run, {key: number}, step)
    except Exception as error:  # of a strict run
        return error
    return None


def _reject(core: _core.RunCore, keys: list[str], why: str) -> Exception:
    for key in keys:
        core.reject_media(key, why)
    return ValueError(f"'{keys[0]}': {why}")


def fetch(core: _core.RunCore, tensor: Any, arrive: Callable[[Any], None], drop: Callable[[str], None]) -> None:
    """One tensor of any shape, without a graph; arrive() is called with its copy on the host."""
    if full := _queue.put(sys.modules["torch"], Copy(core, tensor, 1, arrive, drop), tensor):
        drop(full)


def waiting(core: _core.RunCore) -> int:
    """Values of the run that are on their way."""
    return _queue.waiting(core)


def wait(core: _core.RunCore, seconds: float) -> bool:
    return _queue.wait(core, seconds)


def end(core: _core.RunCore, seconds: float) -> None:
    _queue.end(core, seconds)


def _forget() -> None:
    """In a forked child: what is on its way is the parent's. It is kept, for who frees it asks the driver, which does
    not work there."""
    global _queue
    _inherited.append(_queue)
    _queue = Queue()


def _at_exit() -> None:
    _queue.end(None, EXIT_MS_MAX / 1000)


os.register_at_fork(after_in_child=_forget)
atexit.register(_at_exit)
