# SPDX-License-Identifier: MIT
"""What replaces a terminal or a pipe while console="fd" records (fd_capture.py), and
where the bytes that went through it become text of the runs. Threads: any."""

from __future__ import annotations

import codecs
import os

from tracker import _core
from tracker._console.guarded_fd import GuardedFd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

READ_BYTES = 64 * 1024
HIGH = 64  # descriptors of ours, while the relay's are put in their places
CLOSED = "other code of this process has closed descriptors of the tracker, by os.closerange() or a close too many"


def say(text: str) -> None:
    try:
        os.write(2, f"tracker: {text}\n".encode())
    except OSError:
        pass


def high(descriptor: int) -> int:
    """The same file above the numbers that the relay gets; 1 or 2 may have been closed, and this be one of them."""
    import fcntl

    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, HIGH)
    os.close(descriptor)
    return moved


class Stream:
    """Bytes of one stream on their way into the runs, as text: a character may come in two pieces."""

    def __init__(self, number: int, cores: Callable[[], tuple[_core.RunCore, ...]]) -> None:
        self.number = number
        self._cores = cores
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._in_line = False

    def take(self, chunk: bytes) -> None:
        self._put(self._decoder.decode(chunk))

    def note(self, text: str) -> None:
        """A line of ours among those of the program."""
        self._put(f"{chr(10) * self._in_line}[tracker: {text}]\n")

    def _put(self, text: str) -> None:
        if text:
            self._in_line = not text.endswith("\n")
        for core in self._cores():
            core.write_console(self.number, text)

    def cut(self, size: int) -> None:
        """What was left out after more than a minute may have: the core cuts and counts it."""
        blank = " " * (1 << 20)
        while size > 0:
            for core in self._cores():
                core.write_console(self.number, blank[:size])
            size -= len(blank)


class Replaced:
    """A terminal or a pipe that one of ours replaces. `descriptors`: 1, 2 or both."""

    def __init__(self, descriptors: list[int]) -> None:
        import fcntl

        self.descriptors = descriptors
        target = fcntl.fcntl(descriptors[0], fcntl.F_DUPFD_CLOEXEC, HIGH)
        self.saved = GuardedFd(target)
        try:
            source, self._write = map(high, self._terminal(target) if os.isatty(target) else os.pipe())
        except OSError:
            self.saved.close()
            raise
        self.source = GuardedFd(source)
        found = os.fstat(self._write)
        self._identity = found.st_dev, found.st_ino

    @staticmethod
    def _terminal(target: int) -> tuple[int, int]:
        """Like the one it stands for, but that it changes nothing: the other end does what a terminal does with it."""
        import fcntl
        import termios

        own, theirs = os.openpty()
        attributes = termios.tcgetattr(target)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(theirs, termios.TCSANOW, attributes)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, fcntl.ioctl(target, termios.TIOCGWINSZ, b"\0" * 8))
        return own, theirs

    def put(self) -> None:
        for descriptor in self.descriptors:
            os.dup2(self._write, descriptor, inheritable=True)
        os.close(self._write)

    def give_up(self) -> None:
        os.close(self._write)
        self.close()

    def _through_us(self) -> list[int]:
        """Those of 1 and 2 that lead here: where the program has put something else meanwhile, that stays."""
        found = []
        for descriptor in self.descriptors:
            try:
                info = os.fstat(descriptor)
            except OSError:  # closed by the program
                continue
            if (info.st_dev, info.st_ino) == self._identity:
                found.append(descriptor)
        return found

    def restore(self) -> bool:
        """False where what they were is closed: they go on leading to the relay, which still hands on."""
        try:
            for descriptor in self._through_us():
                os.dup2(self.saved.number(), descriptor, inheritable=True)
        except OSError:
            return False
        return True

    def lead_nowhere(self) -> None:
        """Without a relay and without what they were: a program that prints shall neither wait nor end of it."""
        try:
            nothing = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            return
        for descriptor in self._through_us():
            os.dup2(nothing, descriptor, inheritable=True)
        os.close(nothing)

    def close(self) -> None:
        self.source.close()
        self.saved.close()

    def hand_on(self, stream: Stream) -> None:
        """In the place of a relay that is gone, until no process can write any more."""
        try:
            while chunk := self.source.read(READ_BYTES):
                view = memoryview(chunk)
                while view and self.saved.is_ours():
                    view = view[self.saved.write(view) :]
                stream.take(chunk)
        except OSError:  # the pipe has no reader, or the terminal has no other end
            pass
        self.close()
