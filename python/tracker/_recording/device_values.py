# SPDX-License-Identifier: MIT
"""Values in the memory of a GPU: they are copied to the host after the kernels that compute them, and logged when they
have arrived. No thread waits for the device, and no graph is kept.

The values of one call go over in one copy a device and dtype, into pinned memory, and a mark after them. Later calls,
flush() and a daemon thread look whether the marks of the oldest are there, and log them in the order of their calls,
under the step of their call. To look is to read memory: a call of the driver from another thread, be it whether an
event has come, would end the capture of a CUDA graph by the program. What is on its way is bounded; beyond that a value
is dropped and counted, and so is what has not arrived when the run ends. torch is looked up, never imported. Threads:
any. A forked child begins with nothing.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from queue import Empty, SimpleQueue

from tracker import _core, _open_runs
from tracker._own_thread import own_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

# Of a process, on their way
# Limit: values on a GPU on their way to the host. Beyond it: dropped, counted, reported once; an error with strict.
WAITING_VALUES_MAX = 8192
# Between two looks of the thread while something is on its way
LOOK_MS = 20
# Between two looks of flush() and finish(), and of a call that finds values which have arrived in its way
WAIT_LOOK_MS = 1
# Until flush() and finish() ask the driver whether it has failed
WAIT_ASK_MS = 1000
# At the end of a process that called no finish()
# Limit: ms for values on a GPU at the end of a process without finish(). Beyond it: dropped and counted.
EXIT_MS_MAX = 1000


class Copy:
    """One copy on its way. arrive: called with the host's tensor. drop: called with why there will be none."""

    __slots__ = ("arrive", "before", "core", "done", "drop", "event", "host", "mark", "sources", "values")

    def __init__(
        self, core: _core.RunCore, sources: Any, values: int, arrive: Callable[[Any], None], drop: Callable[[str], None]
    ) -> None:
        self.core, self.sources, self.values, self.arrive, self.drop = core, sources, values, arrive, drop
        self.host: Any = None
        self.mark: Any = None  # 0 until all of `host` has arrived
        self.event: Any = None
        self.before = 0  # values that were ever on their way before these, since nothing was
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
        mark = self.mark
        return mark is None or bool(mark.item())  # None: it is done

    def has_failed(self) -> str:
        """Asks the driver; "" where it knows of no failure."""
        event = self.event
        try:
            if event is not None:
                event.query()
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:300]
        return ""


class Queue:
    """The copies on their way, oldest first."""

    def __init__(self) -> None:
        # Guards what follows. A signal's handler may log, so it is an RLock; and one of C code, which Python enters and
        # leaves without checking signals in between, as it does not with a Condition.
        self._lock = threading.RLock()
        self._copies: deque[Copy] = deque()
        self._worker: threading.Thread | None = None
        self._read: list[Any] = []  # to be freed by who may call the driver
        self._turn = (
            threading.RLock()
        )  # one thread checks at a time, so that values are logged in the order of their calls
        self._busy = False  # the thread that has it is at work: a handler that logs meanwhile leaves it alone
        self._idle = False  # the thread waits for a poke
        self._pokes: SimpleQueue[None] = SimpleQueue()
        self._given_up: SimpleQueue[tuple[list[Copy], str]] = SimpleQueue()

    def put(self, torch: Any, copy: Copy, values: Any, keys: list[Any], places: list[int]) -> str:
        """ "" when it is on its way, else why not. With that the `places` in `keys` become None."""
        self._free()
        if not self._has_room(copy.values):
            return f"{WAITING_VALUES_MAX:,} are on their way from the device"
        copy.start(torch, values)
        with self._lock:
            last = self._copies[-1] if self._copies else None
            copy.before = last.before + last.values if last is not None else 0
            _core.hand_over_device_values(self._copies, copy, keys, places)
        if self._worker is None:
            self._start()
        if self._idle or self._on_their_way() > WAITING_VALUES_MAX // 2:
            self.look_soon()
        return ""

    def _on_their_way(self) -> int:
        """From the first to the last: no number is kept, which a signal could leave behind."""
        with self._lock:
            if not self._copies:
                return 0
            return self._copies[-1].before + self._copies[-1].values - self._copies[0].before

    def _has_room(self, values: int) -> bool:
        """Where the oldest have arrived the thread that logs them is waited for a little, the device never."""
        end = time.monotonic() + LOOK_MS / 1000
        while self._on_their_way() + values > WAITING_VALUES_MAX:
            first = self._first()
            if first is None or not first.has_arrived() or time.monotonic() > end:
                return self._on_their_way() + values <= WAITING_VALUES_MAX
            self.look_soon()
            time.sleep(WAIT_LOOK_MS / 1000)
        return True

    def _first(self) -> Copy | None:
        with self._lock:
            return self._copies[0] if self._copies else None

    def _free(self) -> None:
        """What was read: its memory is the driver's, so no other thread does it."""
        with self._lock:
            read, self._read = self._read, []
        read.clear()

    def _free_unless_captured(self) -> None:
        if self._read and not _is_captured(sys.modules.get("torch")):
            self._free()

    def look_soon(self) -> None:
        if self._worker is None:
            self._look()
        elif self._pokes.empty():
            self._pokes.put(None)

    def _look(self) -> None:
        """Logs what has arrived, drops what is given up."""
        with self._turn:
            if self._busy:
                return
            self._busy = True
            try:
                while (copy := self._first()) is not None and copy.has_arrived():
                    self._log(copy)
                while not self._given_up.empty():
                    copies, why = self._given_up.get_nowait()
                    self._drop(copies, why)
            finally:
                self._busy = False

    def _log(self, copy: Copy) -> None:
        try:
            copy.arrive(copy.host)
        except _core.TrackerError:
            pass  # of a strict run; counted there
        except BaseException as error:
            copy.drop(f"{type(error).__name__}: {error}"[:300])
            if not isinstance(error, Exception):  # of a signal's handler: no thread of ours could be started
                raise
        finally:
            self._leave(copy)

    def _drop(self, copies: Iterable[Copy], why: str) -> None:
        for copy in copies:
            if not copy.done:
                copy.drop(why)
                self._leave(copy)

    def _leave(self, copy: Copy) -> None:
        with self._lock:
            if copy in self._copies:
                self._copies.remove(copy)
            # Of the tensors nothing stays with this thread.
            self._read.append((copy.sources, copy.host, copy.mark, copy.event))
            copy.sources = copy.host = copy.mark = copy.event = None
            copy.done = True

    def of(self, core: _core.RunCore | None) -> list[Copy]:
        with self._lock:
            return [copy for copy in self._copies if core is None or copy.core is core]

    def wait(self, core: _core.RunCore | None, seconds: float) -> bool:
        """Until what is on its way now (of one run) is logged or dropped."""
        deadline = time.monotonic() + seconds
        mine = deque(self.of(core))
        ask = time.monotonic() + WAIT_ASK_MS / 1000
        while mine:
            self.look_soon()
            while mine and mine[0].done:
                mine.popleft()
            now = time.monotonic()
            if not mine or now >= deadline:
                break
            if now >= ask:
                ask = now + WAIT_ASK_MS / 1000
                self._ask(list(mine))
            time.sleep(WAIT_LOOK_MS / 1000)
        self._free_unless_captured()
        return not mine

    def _ask(self, copies: list[Copy]) -> None:
        """What is on its way from a device that has failed stays there."""
        waiting = [copy for copy in copies if not copy.done]
        if waiting and not _is_captured(sys.modules.get("torch")) and (why := waiting[0].has_failed()):
            self._give_up(waiting, why)

    def end(self, core: _core.RunCore | None, seconds: float) -> None:
        """Waits, then drops what is left, counted."""
        if not self.wait(core, seconds):
            self._give_up(self.of(core), "the time of finish() was over before they arrived")

    def _give_up(self, copies: list[Copy], why: str) -> None:
        self._given_up.put((copies, why))
        end = time.monotonic() + WAIT_ASK_MS / 1000
        self.look_soon()
        while not all(copy.done for copy in copies) and time.monotonic() < end:
            time.sleep(WAIT_LOOK_MS / 1000)
            self.look_soon()
        self._free_unless_captured()

    def _start(self) -> None:
        thread = own_thread("tracker-device", self._work)
        try:
            thread.start()
        except RuntimeError:  # a limit on processes: later calls, flush() and finish() look
            self._look()
            return
        with self._lock:
            self._worker = self._worker or thread

    def _work(self) -> None:
        with self._lock:
            self._worker = self._worker or threading.current_thread()
            if self._worker is not threading.current_thread():  # a signal came in the way of who started the first
                return
        while True:
            self._wait_for_work()
            self._look()

    def _wait_for_work(self) -> None:
        try:
            self._idle = True
            if not self._copies and self._given_up.empty():
                self._pokes.get()
            self._idle = False
            self._pokes.get(timeout=LOOK_MS / 1000)
        except Empty:
            pass


_queue = Queue()
_inherited: list[Queue] = []


def log(run: _core.Run, keys: list[Any], values: list[Any], types: list[int], step: int) -> Exception | None:
    """Called by log() for what lies on a device. What it returns is raised by a strict run. A key becomes None when its
    value is on its way, logged or counted: where Ctrl-C ends this call the core counts the others."""
    torch: Any = sys.modules.get("torch")
    core = run._core
    groups: dict[Any, list[int]] = {}  # what one copy takes: of one device and dtype
    for i, value in enumerate(values):
        groups.setdefault((value.device, value.dtype) if hasattr(value, "device") else None, []).append(i)
    if _is_captured(torch):
        return _reject(core, keys, range(len(keys)), "its value is not computed while a CUDA graph is captured")
    problem: Exception | None = None
    for places in groups.values():
        names = [keys[i] for i in places]

        def drop(why: str, names: list[str] = names, places: list[int] = places) -> None:
            for name, i in zip(names, places, strict=True):
                core.drop_values(name, types[i], 1, why)

        def arrive(host: Any, names: list[str] = names) -> None:
            _core.Run.log(run, dict(zip(names, host, strict=True)), step)

        try:
            with torch.no_grad():
                flat = [values[i].detach().reshape(1) for i in places]
                together = flat[0] if len(flat) == 1 else torch.cat(flat)
            full = _queue.put(torch, Copy(core, flat, len(flat), arrive, drop), together, keys, places)
        except Exception:  # a tensor that cannot be copied so, a distributed one or not torch's, say
            for i in places:
                problem = _log_waiting(run, keys, i, values[i], step) or problem
            continue
        if full:
            core.drop_device_values(keys, types, places, full)
            problem = problem or _core.LimitError(f"'{names[0]}': {full}")
    if _open_runs.exiting:  # no thread would later
        _queue.end(core, EXIT_MS_MAX / 1000)
    return problem


def _is_captured(torch: Any) -> bool:
    try:
        return bool(torch.cuda.is_current_stream_capturing())
    except Exception:  # no torch, or one without that call
        return False


def _log_waiting(run: _core.Run, keys: list[Any], place: int, value: Any, step: int) -> Exception | None:
    try:
        number = value.detach().item()
    except Exception as error:  # whatever it is, the training shall not meet it
        return _reject(run._core, keys, [place], f"{type(error).__name__}: {error}"[:300])
    key, keys[place] = keys[place], None
    try:
        _core.Run.log(run, {key: number}, step)
    except Exception as error:  # of a strict run
        return error
    return None


def _reject(core: _core.RunCore, keys: list[Any], places: Iterable[int], why: str) -> Exception:
    first = ""
    for place in places:
        key, keys[place] = keys[place], None
        first = first or key
        core.reject_media(key, why)
    return ValueError(f"'{first}': {why}")


def fetch(core: _core.RunCore, tensor: Any, arrive: Callable[[Any], None], drop: Callable[[str], None]) -> None:
    """One tensor of any shape, without a graph; arrive() is called with its copy on the host."""
    if full := _queue.put(sys.modules["torch"], Copy(core, tensor, 1, arrive, drop), tensor, [], []):
        drop(full)
    elif _open_runs.exiting:
        _queue.end(core, EXIT_MS_MAX / 1000)


def waiting(core: _core.RunCore) -> int:
    """Values of the run that are on their way."""
    return sum(copy.values for copy in _queue.of(core))


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


def end_at_exit() -> None:
    _queue.end(None, EXIT_MS_MAX / 1000)


os.register_at_fork(after_in_child=_forget)
