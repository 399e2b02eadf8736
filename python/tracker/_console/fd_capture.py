# SPDX-License-Identifier: MIT
"""console="fd": what goes through the descriptors 1 and 2 is recorded too, that of native code and of child processes.

A descriptor that is a file stays what it is: the file is read as it grows. A terminal is replaced by a pseudo terminal
and a pipe by a pipe, and a relay, a process of its own, hands on what is written to them (console_relay.py, decision
0028). Two descriptors that lead to one place stay one place, so that lines keep their order; they are recorded as
stdout. Of anything else (a socket, /dev/null) what Python prints is recorded, and stderr says so.

A descriptor does not show which thread wrote to it: each run with console="fd" records all lines.

If the relay dies, this module restores the descriptors and hands on the bytes that were on their way. If the program
closes descriptors of ours, its output goes where it went before, and the record says that some of it may be missing.
Threads: any. A forked child writes to its parent's descriptors and has no capture.
"""

from __future__ import annotations

import atexit
import importlib
import os
import stat
import sys
import threading
import time

from tracker import _core
from tracker._console import stream_wrappers
from tracker._console.guarded_fd import GuardedFd
from tracker._console.relay_channel import CLOSED, READ_BYTES, Replaced, Stream, high, say
from tracker._own_thread import own_thread

# What the end of a run waits for the relay, whose target may take nothing.
# Limit: console="fd": ms that the end of a run waits for output on its way. Beyond it: later output is not recorded,
# and a mark says so.
DRAIN_MS_MAX = 2_000
# Begin and end of a run wait so long to flush stdout and stderr of the C library
# Limit: console="fd": ms to flush the C library's stdout and stderr at the start and end of a run. Beyond it: what it
# holds is printed later and not recorded.
FLUSH_MS_MAX = 200
# Between reads of a file, and what it may have grown: of more than is recorded of a minute the rest is only counted.
TAIL_LOOK_MS = 200
# Limit: console="fd": bytes that a redirected file may grow between two reads. Beyond it: not recorded and counted.
TAIL_BYTES_MAX = 16 * 1024 * 1024
COPY, CONTROL, FIRST = 3, 4, 5  # the relay's


class _Relay:
    """The process, and the thread that takes its copies."""

    def __init__(self, channels: list[Replaced], streams: list[Stream]) -> None:
        self._channels, self._streams = channels, streams
        self._drained = threading.Semaphore(0)
        self._lock = threading.Lock()  # of the next two: one of two threads closes the channels
        self._let_go = self._taken_over = False
        self._ending = self._reported = False
        self._handing: list[threading.Thread] = []
        self._ended = threading.Event()
        self._held, self._taken = b"", 0  # of the copies: what was read last, and how much of it is taken
        self._copies, self._orders = self._start()
        importlib.import_module("tracker._console.console_relay")  # not on the thread: a fork would keep its lock
        try:
            own_thread("tracker-console", self._read).start()
        except RuntimeError as error:
            self._copies.close()
            self._orders.close()
            raise OSError(str(error)) from None
        for channel in channels:
            channel.put()

    def _start(self) -> tuple[GuardedFd, GuardedFd]:
        copies, to_copies = map(high, os.pipe())
        orders, to_orders = map(high, os.pipe())
        try:
            actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
                (os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)
            ]
            actions += [(os.POSIX_SPAWN_DUP2, to_copies, COPY), (os.POSIX_SPAWN_DUP2, orders, CONTROL)]
            arguments = []
            for i, channel in enumerate(self._channels):
                source, target = FIRST + 2 * i, FIRST + 2 * i + 1
                actions += [
                    (os.POSIX_SPAWN_DUP2, channel.source.number(), source),
                    (os.POSIX_SPAWN_DUP2, channel.saved.number(), target),
                ]
                arguments.append(f"{source}:{target}")
            program = __file__.replace("fd_capture", "console_relay")
            command = [sys.executable, "-I", "-S", program, *arguments]
            begun = os.posix_spawn(
                sys.executable, command, os.environ, file_actions=actions, setsid=True, setsigmask=()
            )
            try:
                status = os.waitpid(begun, 0)[1]
            except ChildProcessError:  # SIGCHLD is ignored here
                status = 0
            if status != 0:
                raise OSError(f"it ended with status {os.waitstatus_to_exitcode(status)}")
        except BaseException:
            os.close(copies)
            os.close(to_orders)
            raise
        finally:
            os.close(to_copies)
            os.close(orders)
        return GuardedFd(copies), GuardedFd(to_orders)

    def _read(self) -> None:
        closed = False
        try:
            self._take_copies()
        except Exception:  # whatever it is, the program that prints shall not meet it
            closed = not self._copies.is_ours()
        with self._lock:
            self._taken_over = not self._let_go and not closed
        if closed:  # nothing can be recorded any more
            for channel in self._channels:
                channel.restore()
            self._report_closed()
        elif self._taken_over:
            self._take_over()
        self._copies.close()
        self._ended.set()

    def _take_copies(self) -> None:
        from tracker._console.console_relay import CUT, DATA, FRAME

        while len(head := self._head(FRAME.size)) == FRAME.size:
            kind, channel, size = FRAME.unpack(head)
            if kind == DATA:
                while size > 0 and (chunk := self._some(size)):
                    self._streams[channel].take(chunk)
                    size -= len(chunk)
            elif kind == CUT:
                self._streams[channel].cut(size)
            else:
                if self._ending:
                    with self._lock:
                        self._let_go = True
                    self._drained.release()
                    break
                self._drained.release()

    def _some(self, most: int) -> bytes:
        """Nothing where the relay is gone."""
        if self._taken == len(self._held):
            self._held, self._taken = self._copies.read(READ_BYTES), 0
        out = self._held[self._taken : self._taken + most]
        self._taken += len(out)
        return out

    def _head(self, size: int) -> bytes:
        out = b""
        while len(out) < size and (chunk := self._some(size - len(out))):
            out += chunk
        return out

    def _report_closed(self) -> None:
        with self._lock:
            if self._reported:
                return
            self._reported = True
        for stream in self._streams:
            stream.note(f"some output after this line may be missing here: {CLOSED}")
        say(
            f'console="fd": {CLOSED}: stdout and stderr lead where they led, but some of what is printed from now on '
            "may be missing in the record"
        )

    def _report_late(self) -> None:
        for stream in self._streams:
            stream.note(
                "output after this line may be missing here: "
                f"its reader did not take it within {DRAIN_MS_MAX // 1000} s of the end of the run"
            )

    def _take_over(self) -> None:
        restored = [channel.restore() for channel in self._channels]
        say(
            'the relay of console="fd" has ended: stdout and stderr are what they were before; what the program prints '
            "from now on is not recorded, and nothing of it is lost"
            if all(restored)
            else f'the relay of console="fd" has ended, and {CLOSED}: what the program prints from now on is lost'
        )
        others = list(zip(self._channels, self._streams, strict=True))
        for (channel, stream), back in zip(others, restored, strict=True):
            if not back:
                stream.note(f"all output after this line is lost: the relay has ended, and {CLOSED}")
                channel.lead_nowhere()
        for channel, stream in others[1:]:
            thread = own_thread("tracker-console", channel.hand_on, stream)
            thread.start()
            self._handing.append(thread)
        others[0][0].hand_on(others[0][1])

    def drain(self, leaves: bool = False) -> None:
        """Waits until what was written by now is handed on and recorded, at most DRAIN_MS_MAX. `leaves`: nothing of
        this process writes to the relay any more, which may have died a moment ago: then the thread that took its
        place is waited for."""
        end = time.monotonic() + DRAIN_MS_MAX / 1000
        if not self._ended.is_set():
            self._ask(end, leaves)
        for thread in self._handing if leaves else []:
            thread.join(max(0.0, end - time.monotonic()))

    def _ask(self, end: float, leaves: bool) -> None:
        if not self._copies.is_ours() or not self._orders.is_ours():
            # No relay can be asked; but the copies end when the relay does, which has nothing left to wait for.
            if not (leaves and self._copies.is_ours() and self._ended.wait(DRAIN_MS_MAX / 1000)):
                self._report_closed()
            return
        try:
            self._orders.write(b"d")
        except OSError:  # it is gone
            self._ended.wait(DRAIN_MS_MAX / 1000 if leaves else 0)
        while not self._ended.is_set() and not self._drained.acquire(timeout=0.05):
            if time.monotonic() >= end:
                if self._ending:
                    self._report_late()
                return

    def end(self) -> None:
        restored = [channel.restore() for channel in self._channels]
        self._ending = True
        self.drain(all(restored))
        self._orders.close()
        with self._lock:
            self._let_go = not self._taken_over
        if self._let_go:  # else another thread hands on, and closes them
            for channel in self._channels:
                channel.close()


class _Tail:
    """A file that any process may write, read as it grows; nothing of the program is touched."""

    def __init__(self, descriptor: int, stream: Stream) -> None:
        import fcntl

        self._stream = stream
        self._descriptor = descriptor
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
        self._file = self._open()
        size = os.fstat(descriptor).st_size
        self._at = size if flags & os.O_APPEND else os.lseek(descriptor, 0, os.SEEK_CUR)
        self._reported = False
        self._stop = threading.Event()
        self._lock = threading.Lock()
        own_thread("tracker-console", self._read).start()

    def _read(self) -> None:
        while not self._stop.wait(TAIL_LOOK_MS / 1000):
            self.drain()
        self._file.close()

    def _open(self) -> GuardedFd:
        return GuardedFd(os.open(f"/proc/self/fd/{self._descriptor}", os.O_RDONLY | os.O_CLOEXEC))

    def _keep_open(self) -> None:
        """Where the program has closed ours: opens it again by the program's descriptor, if that is the same file."""
        if self._file.is_ours() or self._reported:
            return
        try:
            again = self._open()
            if again.is_same(self._file):
                self._file = again
                return
            again.close()
        except OSError:  # the program has closed its own, too
            pass
        self._reported = True
        self._stream.note(f"output after this line is missing here: {CLOSED}")

    def drain(self) -> None:
        with self._lock:
            try:
                self._keep_open()
                size = os.fstat(self._file.number()).st_size
                if size < self._at:  # it was emptied
                    self._at = 0
                if size - self._at > TAIL_BYTES_MAX:
                    # The first of it fills the minute, the rest is counted.
                    self._take(TAIL_BYTES_MAX)
                    self._stream.cut(size - self._at)
                    self._at = size
                self._take(size - self._at)
            except Exception:  # a file that cannot be read any more
                pass

    def _take(self, size: int) -> None:
        while size > 0 and (chunk := os.pread(self._file.number(), min(size, READ_BYTES), self._at)):
            self._at += len(chunk)
            size -= len(chunk)
            self._stream.take(chunk)

    def end(self) -> None:
        self.drain()
        self._stop.set()


class _Capture:
    """Of this process: at most one, while a run asks for it."""

    def __init__(self) -> None:
        self.cores: tuple[_core.RunCore, ...] = ()
        self._relay: _Relay | None = None
        self._tails: list[_Tail] = []
        self.taken: set[int] = set()  # numbers of streams whose descriptor is recorded

    def begin(self) -> None:
        flush()
        replaced: list[Replaced] = []
        streams: list[Stream] = []
        for descriptors in places():
            stream = Stream(descriptors[0], lambda: self.cores)
            try:
                mode = os.fstat(descriptors[0]).st_mode
                if stat.S_ISREG(mode):
                    self._tails.append(_Tail(descriptors[0], stream))
                elif stat.S_ISFIFO(mode) or os.isatty(descriptors[0]):
                    replaced.append(Replaced(descriptors))
                    streams.append(stream)
                else:
                    raise OSError("it is no terminal, pipe or file")
                self.taken.update(descriptors)
            except OSError as error:
                name = " and ".join({1: "stdout", 2: "stderr"}[each] for each in descriptors)
                say(f'console="fd": of {name} only what Python prints is recorded: {error}')
        if replaced:
            self._begin_relay(replaced, streams)

    def _begin_relay(self, replaced: list[Replaced], streams: list[Stream]) -> None:
        try:
            if not sys.executable or getattr(sys, "frozen", False):
                raise OSError("this program is no Python interpreter that could be started again")
            self._relay = _Relay(replaced, streams)
        except OSError as error:
            for channel in replaced:
                self.taken.difference_update(channel.descriptors)
                channel.give_up()
            say(f'console="fd": only what Python prints is recorded, for the relay cannot be started: {error}')

    def drain(self) -> None:
        flush()
        if self._relay is not None:
            self._relay.drain()
        for tail in self._tails:
            tail.drain()

    def end(self) -> None:
        flush()
        if self._relay is not None:
            self._relay.end()
        for tail in self._tails:
            tail.end()


def flush() -> None:
    """What Python and the C library hold back goes out, so that it is where it was written. Of the C library it
    goes later where another thread is within stdout or stderr, or no process reads from them."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # closed, or somebody's own
            pass
    _core.flush_c_streams(FLUSH_MS_MAX)


def places() -> list[list[int]]:
    """The descriptors 1 and 2 that are open, together where they lead to one place."""
    found: dict[tuple[int, int, int], list[int]] = {}
    for descriptor in (1, 2):
        try:
            info = os.fstat(descriptor)
        except OSError:
            continue
        found.setdefault((info.st_dev, info.st_ino, info.st_rdev), []).append(descriptor)
    return list(found.values())


_lock = threading.Lock()
_capture: _Capture | None = None
_pid = 0


def add(core: _core.RunCore) -> None:
    """From now on what goes through the descriptors goes to this run too."""
    global _capture, _pid
    if not core.takes_console:
        return
    with _lock:
        if _capture is None or _pid != os.getpid():
            if _pid == 0:
                atexit.register(_at_exit)
                os.register_at_fork(after_in_child=_forget)
            _capture, _pid = _Capture(), os.getpid()
            _capture.begin()
        else:
            _capture.drain()  # what was written before this run is not its
        _capture.cores = (*_capture.cores, core)
        # A stream that does not end in its descriptor (of a notebook, of a test) is still to be seen.
        names = {name: number for name, number in stream_wrappers.STREAMS.items() if not _reaches(name, number)}
    if names:
        stream_wrappers.add(core, names)


def _reaches(name: str, number: int) -> bool:
    if _capture is None or number not in _capture.taken:
        return False
    try:
        return bool(getattr(sys, name).fileno() == number)
    except Exception:  # no stream, or one without a descriptor
        return False


def remove(core: _core.RunCore) -> None:
    """All that was written by now is recorded; after the last run the descriptors are what they were."""
    global _capture
    with _lock:
        if _capture is None or _pid != os.getpid() or core not in _capture.cores:
            return
        others = tuple(each for each in _capture.cores if each is not core)
        if others:
            _capture.drain()
            _capture.cores = others
            return
        _capture.end()
        _capture = None


def _at_exit() -> None:
    global _capture
    with _lock:
        if _capture is not None and _pid == os.getpid():
            _capture.end()
            _capture = None


def _forget() -> None:
    """In a forked child: the descriptors stay what they are, the thread and the lock are the parent's."""
    global _capture, _lock
    _capture = None
    _lock = threading.Lock()
