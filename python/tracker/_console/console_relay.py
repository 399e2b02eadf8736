# SPDX-License-Identifier: MIT
"""The relay of console="fd": a program of its own, started by fd_capture.py, that hands what was written on to where
it was going, and a copy to the process of the run. It outlives a process that is killed, so that nothing of what that
or its children have written is lost, and ends when no process can write any more (decision 0028).

Arguments: for each channel "<source>:<target>", numbers of descriptors; a source that is a terminal takes the size of
its target. Descriptor COPY gets the copies, CONTROL gives orders. Imports nothing that is not built into the
interpreter or beside it: it is started with -I -S.
"""

from __future__ import annotations

import os
import select
import struct
import sys
import threading

COPY, CONTROL = 3, 4
FRAME = struct.Struct("<BBQ")  # kind, channel, and of data its size, of what was left out how much
DATA, CUT, DRAINED = 0, 1, 2
CHUNK_BYTES = 64 * 1024
# Copies that wait for the process. More than is recorded of a minute (kConsoleBytesAMinute): what is left out here
# would have been left out there.
# Limit: console="fd": bytes that wait for a recording process that is stopped, each stream. Beyond it: not recorded and
# counted; the output itself goes on.
OUTBOX_BYTES_MAX = 16 * 1024 * 1024
# Between checks of a window that may change its size: this process gets no signal, as it has no terminal of its own.
SIZE_LOOK_MS = 200
DRAIN_LOOK_MS = 2


class Outbox:
    """Copies on their way to the process of the run, on a thread of its own: that process may be stopped."""

    def __init__(self, channels: int) -> None:
        self._changed = threading.Condition()
        self._frames: list[tuple[int, bytes, bytes] | None] = []
        self._waiting = [0] * channels
        self._cut = [0] * channels
        self._open = True
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def data(self, channel: int, chunk: bytes) -> None:
        with self._changed:
            if not self._open:
                return
            if self._waiting[channel] + len(chunk) > OUTBOX_BYTES_MAX:
                self._cut[channel] += len(chunk)
                return
            self._report_cut(channel)
            self._waiting[channel] += len(chunk)
            self._frames.append((channel, FRAME.pack(DATA, channel, len(chunk)), chunk))
            self._changed.notify()

    def drained(self) -> None:
        with self._changed:
            for channel in range(len(self._cut)):
                self._report_cut(channel)
            self._frames.append((0, FRAME.pack(DRAINED, 0, 0), b""))
            self._changed.notify()

    def end(self, seconds: float) -> None:
        with self._changed:
            self._frames.append(None)
            self._changed.notify()
        self._thread.join(seconds)

    def _report_cut(self, channel: int) -> None:
        if self._cut[channel]:
            self._frames.append((channel, FRAME.pack(CUT, channel, self._cut[channel]), b""))
            self._cut[channel] = 0

    def _send(self) -> None:
        try:
            while True:
                with self._changed:
                    while not self._frames:
                        self._changed.wait()
                    frames, self._frames = self._frames, []
                for frame in frames:
                    if frame is None:
                        return
                    channel, head, chunk = frame
                    write_all(COPY, head + chunk)
                    with self._changed:
                        self._waiting[channel] -= len(chunk)
        except OSError:  # the process is gone, or has ended its run
            with self._changed:
                self._open = False
                self._frames.clear()


class Channel(threading.Thread):
    """What comes from `source` goes to `target` as it came."""

    def __init__(self, number: int, source: int, target: int, outbox: Outbox) -> None:
        super().__init__(daemon=True)
        self.source, self.target = source, target
        self._number = number
        self._outbox = outbox
        self._busy = threading.Lock()
        self._ended = False

    def run(self) -> None:
        try:
            readable = select.poll()
            readable.register(self.source, select.POLLIN)
            while True:
                readable.poll()
                with self._busy:
                    chunk = os.read(self.source, CHUNK_BYTES)
                    if not chunk:
                        break
                    write_all(self.target, chunk)
                    self._outbox.data(self._number, chunk)
        except OSError:  # the pipe has no reader, or the terminal has no other end
            pass
        with self._busy:
            self._ended = True
            os.close(self.source)
            os.close(self.target)

    def is_idle(self) -> bool:
        """Whether all that was written is handed on; False also while the target takes nothing."""
        if not self._busy.acquire(blocking=False):
            return False
        try:
            if self._ended:
                return True
            readable = select.poll()
            readable.register(self.source, select.POLLIN)
            return not any(event & select.POLLIN for _, event in readable.poll(0))
        finally:
            self._busy.release()

    def take_size(self) -> None:
        """The window's size, where that has changed."""
        import fcntl
        import termios

        if not self._busy.acquire(blocking=False):
            return
        try:
            if not self._ended:
                wanted = fcntl.ioctl(self.target, termios.TIOCGWINSZ, b"\0" * 8)
                if fcntl.ioctl(self.source, termios.TIOCGWINSZ, b"\0" * 8) != wanted:
                    fcntl.ioctl(self.source, termios.TIOCSWINSZ, wanted)
        except OSError:
            pass
        finally:
            self._busy.release()


def write_all(target: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(target, view) :]
        except BlockingIOError:  # somebody else has made it so
            waiting = select.poll()
            waiting.register(target, select.POLLOUT)
            waiting.poll()


def obey(channels: list[Channel], outbox: Outbox, terminals: list[Channel]) -> None:
    """Until all channels have ended. Orders: one byte each, to say when all that was written has been handed on."""
    orders = select.poll()
    orders.register(CONTROL, select.POLLIN)
    wanted = 0
    listening = True
    while any(channel.is_alive() for channel in channels):
        pause = DRAIN_LOOK_MS if wanted else SIZE_LOOK_MS
        if listening and orders.poll(pause):
            order = os.read(CONTROL, 64)
            wanted += len(order)
            listening = bool(order)  # no process is left that could ask
            if not listening:
                os.close(CONTROL)
        elif not listening:
            for channel in channels:
                channel.join(pause / 1000)
        for channel in terminals:
            channel.take_size()
        if wanted and all(channel.is_idle() for channel in channels):
            for _ in range(wanted):
                outbox.drained()
            wanted = 0


def close_others(last: int) -> None:
    """What the program lets its children inherit is not to stay open here."""
    with os.scandir("/proc/self/fd") as entries:
        names = [entry.name for entry in entries]
    for name in names:
        try:
            if int(name) > last:
                os.close(int(name))
        except OSError:  # that of the folder itself
            pass


def main() -> None:
    import signal

    if os.fork():
        os._exit(0)  # no child of the process of the run, whose wait() shall not meet one
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(each, signal.SIG_IGN)
    os.chdir("/")
    pairs = [argument.split(":") for argument in sys.argv[1:]]
    close_others(max(int(number) for pair in pairs for number in pair))
    outbox = Outbox(len(pairs))
    channels = [Channel(i, int(source), int(target), outbox) for i, (source, target) in enumerate(pairs)]
    terminals = [channel for channel in channels if os.isatty(channel.source)]
    for channel in channels:
        channel.start()
    obey(channels, outbox, terminals)
    outbox.end(2.0)
    os._exit(0)


if __name__ == "__main__":
    main()
