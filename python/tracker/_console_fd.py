# SPDX-License-Identifier: MIT
"""console="fd": what goes through the descriptors 1 and 2 is recorded too, that of native code and of child processes.

A descriptor that is a file stays what it is: the file is read as it grows. A terminal is replaced by a pseudo terminal
and a pipe by a pipe, and a relay, a process of its own, hands on what is written to them (_console_relay.py, decision
0028). Two descriptors that lead to one place stay one place, so that lines keep their order; they are recorded as
stdout. Of anything else (a socket, /dev/null) what Python prints is recorded, and stderr says so.

Where the relay dies the descriptors are put back, and what was on its way is handed on here. Threads: any. A forked
child writes to what its parent wrote to, and has none of the rest.
"""

from __future__ import annotations

import atexit
import codecs
import os
import stat
import sys
import threading
import time

from tracker import _console, _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# What the end of a run waits for the relay, whose target may take nothing.
DRAIN_MS_MAX = 2_000
# Between looks at a file, and what it may have grown: of more than is recorded of a minute the rest is only counted.
TAIL_LOOK_MS = 200
TAIL_BYTES_MAX = 16 * 1024 * 1024
READ_BYTES = 64 * 1024
HIGH = 64  # descriptors of ours, while the relay's are put in their places
COPY, CONTROL, FIRST = 3, 4, 5  # the relay's


def _say(text: str) -> None:
    try:
        os.write(2, f"tracker: {text}\n".encode())
    except OSError:
        pass


def _high(descriptor: int) -> int:
    """The same file above the numbers that the relay gets; 1 or 2 may have been closed, and this be one of them."""
    import fcntl

    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, HIGH)
    os.close(descriptor)
    return moved


class _Stream:
    """Bytes of one stream on their way into the runs, as text: a character may come in two pieces."""

    def __init__(self, number: int, cores: Callable[[], tuple[_core.RunCore, ...]]) -> None:
        self.number = number
        self._cores = cores
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def take(self, chunk: bytes) -> None:
        text = self._decoder.decode(chunk)
        for core in self._cores():
            core.write_console(self.number, text)

    def cut(self, size: int) -> None:
        """What was left out behind more than a minute may have: the core cuts and counts it."""
        blank = " " * (1 << 20)
        while size > 0:
            for core in self._cores():
                core.write_console(self.number, blank[:size])
            size -= len(blank)


class _Replaced:
    """A terminal or a pipe in whose place stands one of ours. `descriptors`: 1, 2 or both."""

    def __init__(self, descriptors: list[int]) -> None:
        import fcntl

        self.descriptors = descriptors
        self.saved = fcntl.fcntl(descriptors[0], fcntl.F_DUPFD_CLOEXEC, HIGH)
        try:
            self.source, self._write = map(_high, self._terminal() if os.isatty(self.saved) else os.pipe())
        except OSError:
            os.close(self.saved)
            raise
        found = os.fstat(self._write)
        self._identity = found.st_dev, found.st_ino

    def _terminal(self) -> tuple[int, int]:
        """Like the one it stands for, but that it changes nothing: the other end does what a terminal does with it."""
        import fcntl
        import termios

        own, theirs = os.openpty()
        attributes = termios.tcgetattr(self.saved)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(theirs, termios.TCSANOW, attributes)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, fcntl.ioctl(self.saved, termios.TIOCGWINSZ, b"\0" * 8))
        return own, theirs

    def put(self) -> None:
        for descriptor in self.descriptors:
            os.dup2(self._write, descriptor, inheritable=True)
        os.close(self._write)

    def give_up(self) -> None:
        for descriptor in (self._write, self.source, self.saved):
            os.close(descriptor)

    def restore(self) -> None:
        """Where the program has put something else in its place meanwhile, that stays."""
        for descriptor in self.descriptors:
            try:
                found = os.fstat(descriptor)
                if (found.st_dev, found.st_ino) == self._identity:
                    os.dup2(self.saved, descriptor, inheritable=True)
            except OSError:  # closed by the program
                pass

    def close(self) -> None:
        os.close(self.source)
        os.close(self.saved)

    def hand_on(self, stream: _Stream) -> None:
        """In the place of a relay that is gone, until nobody can write any more."""
        try:
            while chunk := os.read(self.source, READ_BYTES):
                view = memoryview(chunk)
                while view:
                    view = view[os.write(self.saved, view) :]
                stream.take(chunk)
        except OSError:  # nobody reads, or the terminal has no other end
            pass
        self.close()


class _Relay:
    """The process, and the thread that takes its copies."""

    def __init__(self, channels: list[_Replaced], streams: list[_Stream]) -> None:
        self._channels, self._streams = channels, streams
        self._drained = threading.Semaphore(0)
        self._lock = threading.Lock()  # of the next two: one of two threads closes the channels
        self._ending = self._taken_over = False
        self._ended = threading.Event()
        self._copies, self._orders = self._start()
        try:
            threading.Thread(target=self._read, name="tracker-console", daemon=True).start()
        except RuntimeError as error:
            os.close(self._copies)
            os.close(self._orders)
            raise OSError(str(error)) from None
        for channel in channels:
            channel.put()

    def _start(self) -> tuple[int, int]:
        copies, to_copies = map(_high, os.pipe())
        orders, to_orders = map(_high, os.pipe())
        try:
            actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
                (os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)
            ]
            actions += [(os.POSIX_SPAWN_DUP2, to_copies, COPY), (os.POSIX_SPAWN_DUP2, orders, CONTROL)]
            arguments = []
            for i, channel in enumerate(self._channels):
                source, target = FIRST + 2 * i, FIRST + 2 * i + 1
                actions += [
                    (os.POSIX_SPAWN_DUP2, channel.source, source),
                    (os.POSIX_SPAWN_DUP2, channel.saved, target),
                ]
                arguments.append(f"{source}:{target}")
            program = __file__.replace("_console_fd", "_console_relay")
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
        return copies, to_orders

    def _read(self) -> None:
        from tracker._console_relay import CUT, DATA, FRAME

        pipe = os.fdopen(self._copies, "rb", buffering=1 << 16)
        try:
            while len(head := pipe.read(FRAME.size)) == FRAME.size:
                kind, channel, size = FRAME.unpack(head)
                if kind == DATA:
                    self._streams[channel].take(pipe.read(size))
                elif kind == CUT:
                    self._streams[channel].cut(size)
                else:
                    self._drained.release()
                    if self._ending:
                        break
        except Exception:  # whatever it is, the program that prints shall not meet it
            pass
        pipe.close()
        with self._lock:
            self._taken_over = not self._ending
        if self._taken_over:
            self._take_over()
        self._ended.set()

    def _take_over(self) -> None:
        for channel in self._channels:
            channel.restore()
        _say(
            'the relay of console="fd" has ended: stdout and stderr are what they were before; what the program prints '
            "from now on is not recorded, and nothing of it is lost"
        )
        others = list(zip(self._channels, self._streams, strict=True))
        for channel, stream in others[1:]:
            threading.Thread(target=channel.hand_on, args=(stream,), name="tracker-console", daemon=True).start()
        others[0][0].hand_on(others[0][1])

    def drain(self) -> None:
        """Waits until what was written by now is handed on and recorded, at most DRAIN_MS_MAX."""
        try:
            os.write(self._orders, b"d")
        except OSError:  # it is gone
            return
        end = time.monotonic() + DRAIN_MS_MAX / 1000
        while not self._drained.acquire(timeout=0.05):
            if self._ended.is_set() or time.monotonic() > end:
                return

    def end(self) -> None:
        for channel in self._channels:
            channel.restore()
        with self._lock:
            self._ending = True
            taken_over = self._taken_over
        self.drain()
        os.close(self._orders)
        if not taken_over:  # else another thread hands on, and closes them
            for channel in self._channels:
                channel.close()


class _Tail:
    """A file that is written by whoever has it, read as it grows; nothing of the program is touched."""

    def __init__(self, descriptor: int, stream: _Stream) -> None:
        import fcntl

        self._stream = stream
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
        self._file = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)
        size = os.fstat(descriptor).st_size
        self._at = size if flags & os.O_APPEND else os.lseek(descriptor, 0, os.SEEK_CUR)
        self._stop = threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._read, name="tracker-console", daemon=True).start()

    def _read(self) -> None:
        while not self._stop.wait(TAIL_LOOK_MS / 1000):
            self.drain()
        os.close(self._file)

    def drain(self) -> None:
        with self._lock:
            try:
                size = os.fstat(self._file).st_size
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
        while size > 0 and (chunk := os.pread(self._file, min(size, READ_BYTES), self._at)):
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
        replaced: list[_Replaced] = []
        streams: list[_Stream] = []
        for descriptors in places():
            stream = _Stream(descriptors[0], lambda: self.cores)
            try:
                mode = os.fstat(descriptors[0]).st_mode
                if stat.S_ISREG(mode):
                    self._tails.append(_Tail(descriptors[0], stream))
                elif stat.S_ISFIFO(mode) or os.isatty(descriptors[0]):
                    replaced.append(_Replaced(descriptors))
                    streams.append(stream)
                else:
                    raise OSError("it is no terminal, pipe or file")
                self.taken.update(descriptors)
            except OSError as error:
                name = " and ".join({1: "stdout", 2: "stderr"}[each] for each in descriptors)
                _say(f'console="fd": of {name} only what Python prints is recorded: {error}')
        if replaced:
            self._begin_relay(replaced, streams)

    def _begin_relay(self, replaced: list[_Replaced], streams: list[_Stream]) -> None:
        try:
            if not sys.executable or getattr(sys, "frozen", False):
                raise OSError("this program is no Python interpreter that could be started again")
            self._relay = _Relay(replaced, streams)
        except OSError as error:
            for channel in replaced:
                self.taken.difference_update(channel.descriptors)
                channel.give_up()
            _say(f'console="fd": only what Python prints is recorded, for the relay cannot be started: {error}')

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
    """What Python and the C library hold back goes out, so that it stands where it was written."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # closed, or somebody's own
            pass
    try:
        import ctypes

        ctypes.CDLL(None).fflush(None)
    except Exception:  # no ctypes, no such symbol
        pass


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
        _capture.cores = (*_capture.cores, core)
        # A stream that does not end in its descriptor (of a notebook, of a test) is still to be seen.
        names = {name: number for name, number in _console.STREAMS.items() if not _reaches(name, number)}
    if names:
        _console.add(core, names)


def _reaches(name: str, number: int) -> bool:
    if _capture is None or number not in _capture.taken:
        return False
    try:
        return bool(getattr(sys, name).fileno() == number)
    except Exception:  # no stream, or one without a descriptor
        return False


def remove(core: _core.RunCore) -> None:
    """All that was written by now is recorded; behind the last run the descriptors are what they were."""
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
