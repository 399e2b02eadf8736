# SPDX-License-Identifier: MIT
"""Where media wait for their encoding: one daemon thread a process, with the first medium that needs it.

What waits is bounded: 16 MiB in memory, beyond that spooled into the run's media folder (large documents, whose secrets
would have to be looked for in the call, wait in memory of their own), beyond that a short wait, then the value is
dropped and counted. What is spooled survives a kill (_media_late.py), and the end of a run that has no time for it; so
does what has waited in memory for long, which the thread spools, and what is in memory at the end (_media_end.py).
Threads: any. After fork() the child begins with an empty queue of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from tracker import _core, _media_end, _media_spool

# Of values that wait in memory
HELD_BYTES_MAX = 16 * 1024 * 1024
# Longer ones wait on the disk, where they survive a kill: as soon as the thread that encodes comes to it
HELD_MS_MAX = 1000
HELD_LOOK_MS = 250
# Of values that wait on the disk
SPOOL_BYTES_MAX = 256 * 1024 * 1024
# A document is spooled without its secrets, which takes 40 ms a MiB at the worst; a larger one waits in memory
SPOOL_DOCUMENT_BYTES_MAX = 1 * 1024 * 1024
# Of such ones, beside HELD_BYTES_MAX
HELD_DOCUMENT_BYTES_MAX = 32 * 1024 * 1024
# Spent by one value on its way into the spool
SPOOL_CALL_MS_MAX = 100
QUEUED_VALUES_MAX = 10_000
WAIT_CALL_MS = 10
# Of all calls together, until there is room again
WAIT_TOTAL_MS = 100
# At the end of a process that called no finish(), with what is written to the disk then
EXIT_MS_MAX = 1000

Payload = tuple[memoryview, ...]


class FileChangedError(_core.StoreError):
    """A file given by path is another one by now: neither belongs to the step. Private."""


class Files(Protocol):
    """What an encoder writes to: each answers what the event says of the file."""

    def add(self, data: Any, extension: str) -> dict[str, Any]: ...
    def add_path(self, path: str, extension: str, size: int, mtime_ns: int) -> dict[str, Any]: ...
    def add_document(self, text: Any, extension: str) -> dict[str, Any]:
        """Without its secrets. Of JSON each string is looked at by itself, so that it stays JSON."""


Encoder = Callable[[Sequence[memoryview], Files], dict[str, Any]]


class RunFiles:
    """`is_clean`: documents are without their secrets already."""

    def __init__(self, core: _core.RunCore, is_clean: bool = False) -> None:
        self._core, self._is_clean = core, is_clean

    def add(self, data: Any, extension: str) -> dict[str, Any]:
        digest, size = self._core.store_media(data, extension)
        return {"digest": digest, "ext": extension, "bytes": size}

    def add_path(self, path: str, extension: str, size: int, mtime_ns: int) -> dict[str, Any]:
        stored = self._core.store_media_file(path, extension, size, mtime_ns)
        if stored is None:
            raise FileChangedError(f"{path} has changed since it was given; leave it as it is until flush() returns")
        digest, size = stored
        return {"digest": digest, "ext": extension, "bytes": size}

    def add_document(self, text: Any, extension: str) -> dict[str, Any]:
        return self.add(text if self._is_clean else self._core.redact_document(text, extension), extension)


class Item:
    """A value on its way. Its encoder knows all but the payload, which may lie in a file meanwhile."""

    __slots__ = ("beside", "call", "core", "done", "encoder", "given_up", "is_clean", "is_left", "key", "payload",
                 "place", "settled", "since", "size", "sizes", "spool", "step", "time_us")  # fmt: skip

    def __init__(
        self, core: _core.RunCore, key: str, step: int, call: int, time_us: int, encoder: Encoder, payload: Payload,
        place: dict[str, int],
    ) -> None:  # fmt: skip
        self.core, self.key, self.step, self.call, self.time_us = core, key, step, call, time_us
        self.encoder = encoder
        self.payload: Payload = payload
        self.place = place  # in the list that was logged
        self.sizes = [part.nbytes for part in payload]
        self.size = sum(self.sizes)
        self.spool: _media_spool.Spooled | None = None
        self.since = time.monotonic()
        self.is_clean = False  # a document without its secrets
        self.beside = False  # it waits in the memory of large documents
        self.settled = False  # stored, dropped or left, or about to be stored
        self.is_left = False  # on the disk, by finish(): the next reader encodes it
        self.given_up = False  # by finish(): nobody waits for it any more
        self.done = False  # it has left the queue

    def is_large_document(self) -> bool:
        return self.size > SPOOL_DOCUMENT_BYTES_MAX and bool(getattr(self.encoder, "document", ""))

    def load(self) -> Sequence[memoryview]:
        return self.payload if self.spool is None else self.spool.load()

    def redacted(self, payload: Payload) -> Payload:
        """Before it is written to the disk as it is. A document's encoder has a word for it: its extension."""
        extension = getattr(self.encoder, "document", "")
        if not extension or not payload:
            return payload
        return (memoryview(self.core.redact_document(payload[0], extension)), *payload[1:])

    def redact(self) -> None:
        self.payload = self.redacted(self.payload)
        self.sizes = [part.nbytes for part in self.payload]  # its share of the queue stays what it was
        self.is_clean = bool(getattr(self.encoder, "document", ""))

    def describe(self) -> dict[str, Any] | None:
        """For who encodes it where this process is killed, without secrets: it is written to the disk. None: nobody
        else can."""
        said = getattr(self.encoder, "describe", lambda: None)()
        if said is None or not self.core.writer:
            return None
        words = {name: said[name] for name in ("said", "labels") if name in said}
        place = {"step": self.step, "call": self.call, "time_us": self.time_us, **self.place}
        encoder = {**said, **self.core.redact_words(words)}
        return {"writer": self.core.writer, "key": self.key, **place, "encoder": encoder}

    def write_spool(self, end: float, payload: Payload) -> _media_spool.Spooled:
        """All of it or nothing; OSError, ValueError. `payload`: without secrets."""
        whole = False
        temporary, name = _media_spool.names(self.core.dir, self.core.writer)
        try:
            said = self.describe()
            head = _media_spool.head_of(said, payload, end) if said is not None else b""
            _media_spool.write(temporary, (head, *payload), end)
            whole = True
        finally:
            if not whole:
                with contextlib.suppress(OSError):
                    Path(temporary).unlink()
        return _media_spool.Spooled(temporary, name, len(head), [part.nbytes for part in payload])

    def forget(self) -> None:
        self.payload = ()
        if self.spool is not None and not self.is_left:
            self.spool.remove()

    def write(self, settle: Callable[[Item], bool]) -> None:
        """Encodes it, stores its files and logs what they are, unless it was dropped meanwhile."""
        value = self.encoder(self.load(), RunFiles(self.core, self.is_clean))
        if settle(self):
            self.core.log_media(self.key, self.step, self.call, self.time_us, {**value, **self.place})


def reason_of(error: BaseException) -> str:
    """A word for the account of the run."""
    if isinstance(error, _core.LimitError):
        return "no room"
    if isinstance(error, FileChangedError):
        return "file changed"
    if not isinstance(error, Exception):
        return "interrupted"
    if isinstance(error, _core.ClosedError):
        return "after finish"
    return "disk" if isinstance(error, OSError) else "not encoded"


class Queue:
    def __init__(self) -> None:
        self._changed = threading.Condition()  # guards all that follows
        self._items: deque[Item] = deque()
        self._now: Item | None = None  # the one that is being encoded
        self._held = 0
        self._beside = 0
        self._spooled = 0
        self._spooling: dict[Item, int] = {}  # on their way into the spool, and how large
        self._folder = ("", 0.0, 0)  # what the folder of the run held when it was looked at
        self._next_look = 0.0
        self._waited = 0.0
        self._thread: threading.Thread | None = None
        self._no_thread = False

    # --- logging ----------------------------------------------------------------------------------------------

    def put(self, item: Item) -> str:
        """ "" when it waits here now, else why there is no room. Waits at most WAIT_CALL_MS, and a spool's writes.

        What a signal's handler raises meanwhile leaves all room as it was; the item may wait here all the same.
        """
        queued = False
        try:
            with self._changed:
                self._start()
                full = self._no_room(item)
                if full and self._may_spool(item):
                    self._spooling[item] = item.size
            if item in self._spooling:
                self._spool(item)  # without the lock: what a disk holds up is this call alone
            with self._changed:
                if full and item.spool is None:
                    full = self._wait_for_room(item)
                if full and item.spool is None:
                    return full
                queued = True
                self._take(item)
        finally:
            self._spooling.pop(item, None)
            if not queued:
                item.forget()
        return ""

    def _take(self, item: Item) -> None:
        if item.spool is not None:
            self._spooled += item.size
        elif self._held + item.size > HELD_BYTES_MAX and self._has_room_beside(item):
            item.beside = True
            self._beside += item.size
        else:
            self._held += item.size
            self._waited = 0.0 if self._held * 2 < HELD_BYTES_MAX else self._waited
        self._items.append(item)
        self._changed.notify_all()

    def _has_room_beside(self, item: Item) -> bool:
        return item.is_large_document() and self._beside + item.size <= HELD_DOCUMENT_BYTES_MAX

    def _no_room(self, item: Item) -> str:
        if len(self._items) >= QUEUED_VALUES_MAX:
            return f"{QUEUED_VALUES_MAX:,} media wait to be encoded"
        if self._held + item.size > HELD_BYTES_MAX and item.size > 0 and not self._has_room_beside(item):
            return "more media wait to be encoded than memory and spool may hold"
        return ""

    def _wait_for_room(self, item: Item) -> str:
        begin = time.monotonic()
        wait = min(WAIT_CALL_MS, WAIT_TOTAL_MS - self._waited * 1000) / 1000
        full = self._no_room(item)
        while full and (left := begin + wait - time.monotonic()) > 0:
            self._changed.wait(left)
            full = self._no_room(item)
        self._waited += time.monotonic() - begin
        return full

    def _may_spool(self, item: Item) -> bool:
        spooled = self._spooled + sum(list(self._spooling.values()))
        has_room = spooled + item.size <= SPOOL_BYTES_MAX and len(self._items) < QUEUED_VALUES_MAX
        return has_room and not item.is_large_document()

    def _spool(self, item: Item) -> None:
        end = time.monotonic() + SPOOL_CALL_MS_MAX / 1000
        with contextlib.suppress(OSError, ValueError, _core.TrackerError):
            item.core.check_media_room(item.size)
            if not self._folder_has_room(item):
                return
            item.redact()
            item.spool = item.write_spool(end, item.payload)
            item.spool.keep()
            item.payload = ()

    def _folder_has_room(self, item: Item) -> bool:
        """Beside what other processes of the run have there: killed ones, whose values nobody has encoded yet."""
        folder, looked, taken = self._folder
        now = time.monotonic()
        if folder != item.core.dir or now - looked > _media_spool.SPOOL_FOLDER_LOOK_MS / 1000:
            taken = _media_spool.bytes_in(item.core.dir)
            self._folder = (item.core.dir, now, taken)
        return taken + item.size <= _media_spool.SPOOL_FOLDER_BYTES_MAX

    # --- the thread -------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._thread is not None or self._no_thread:
            return
        thread = threading.Thread(target=self._work, name="tracker-media", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # a limit on processes: flush() and finish() do the work
            self._no_thread = True
            return
        self._thread = thread

    def _work(self) -> None:
        with contextlib.suppress(Exception):  # signals are the program's
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while True:
            with self._changed:
                while not self._items or self._now is not None:
                    self._changed.wait()
            self._move_old()
            with self._changed:
                if not self._items or self._now is not None:
                    continue  # given up meanwhile
                now = self._now = self._items.popleft()
            self._write(now)

    def _move_old(self) -> None:
        """To the disk, what has waited in memory for long: here, where no call waits for it."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + HELD_LOOK_MS / 1000
        with self._changed:
            before = now - HELD_MS_MAX / 1000
            old = [item for item in self._items if item.spool is None and item.size and item.since < before]
        for item in old:
            with self._changed:
                if item.done:
                    continue
                if self._spooled + sum(list(self._spooling.values())) + item.size > SPOOL_BYTES_MAX:
                    return
                self._spooled += item.size
            spooled: _media_spool.Spooled | None = None
            try:
                item.core.check_media_room(item.size)
                if self._folder_has_room(item):
                    item.redact()
                    spooled = item.write_spool(float("inf"), item.payload)
            except Exception:  # it stays in memory, and so do the others until the next look
                spooled = None
            with self._changed:
                self._moved(item, spooled)
            if spooled is None:
                return

    def _moved(self, item: Item, spooled: _media_spool.Spooled | None) -> None:
        if spooled is None or item.done:  # given up meanwhile
            self._spooled -= item.size
            if spooled is not None:
                spooled.remove()
            return
        spooled.keep()  # under the lock: of a value that is given up none is left, which end() counts
        if item.beside:
            self._beside -= item.size
        else:
            self._held -= item.size
        item.beside, item.spool, item.payload = False, spooled, ()
        self._changed.notify_all()

    def _write(self, item: Item) -> None:
        settled = False

        def settle(of: Item) -> bool:
            nonlocal settled
            settled = self.settle(of)
            return settled

        try:
            item.write(settle)
        except BaseException as error:  # whatever an encoder raises, this thread goes on
            if settled and isinstance(error, _core.ClosedError) and item.spool is not None and item.spool.is_whole():
                item.is_left = True  # its run has ended in between
            elif settled or self.settle(item):
                item.forget()  # first: who is killed in between leaves nothing that is counted and stored
                detail = f"{type(error).__name__}: {error}"[:300]
                item.core.drop_media(item.key, reason_of(error), detail, 1)
        with self._changed:
            self._release(item)
            item.forget()
            self._now = None
            self._changed.notify_all()

    def _release(self, item: Item) -> None:
        item.done = True
        if item.spool is not None:
            self._spooled -= item.size
        elif item.beside:
            self._beside -= item.size
        else:
            self._held -= item.size

    def settle(self, item: Item) -> bool:
        """True for the first who asks: it is his to store or to drop."""
        with self._changed:
            first = not item.settled
            item.settled = True
            return first

    # --- the end ----------------------------------------------------------------------------------------------

    def _waiting(self, core: _core.RunCore | None) -> list[Item]:
        items = ([self._now] if self._now is not None else []) + list(self._items)
        return [item for item in items if (core is None or item.core is core) and not item.given_up]

    def wait(self, core: _core.RunCore | None, seconds: float) -> bool:
        """Until all that is here now (of one run) is stored or dropped."""
        deadline = time.monotonic() + seconds
        with self._changed:
            mine = self._waiting(core)
            # They leave in order, and end() gives all of a run up at once: behind the last one there is none.
            while mine and not (mine[-1].done or mine[-1].given_up):
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                if self._no_thread and self._now is None:
                    self._write_here()
                else:
                    self._changed.wait(left)
        return True

    def _write_here(self) -> None:
        """The work of the thread that the system did not give. Under the lock, which is let go meanwhile."""
        now = self._now = self._items.popleft()
        self._changed.release()
        try:
            self._write(now)
        finally:
            self._changed.acquire()

    def end(self, core: _core.RunCore | None, seconds: float) -> None:
        """Waits; what is left then stays on the disk for the next reader, or is dropped, counted."""
        if self.wait(core, seconds):
            return
        left = self._give_up(core)
        try:
            _media_end.spool([item for item in left if not item.settled], self._keep, self._folder_has_room)
        finally:
            self._drop(left)

    def _give_up(self, core: _core.RunCore | None) -> list[Item]:
        """Takes what is left out of the queue. What lies on the disk, whole, is left there."""
        with self._changed:
            left = self._waiting(core)
            mine = set(map(id, left))
            self._items = deque(item for item in self._items if id(item) not in mine)
            for item in left:
                if item is not self._now:
                    self._release(item)
                if not item.settled and item.spool is not None and item.spool.is_whole():
                    item.settled = item.is_left = True
            self._changed.notify_all()
        return left[1:] + left[:1]  # the one that is being encoded has the longest time

    def _keep(self, item: Item, spooled: _media_spool.Spooled) -> None:
        """It has come to the disk at the end, unless it was stored or dropped meanwhile."""
        with self._changed:
            if not item.settled:
                spooled.keep()
                item.settled = item.is_left = spooled.is_whole()
            if not item.is_left:
                spooled.remove()

    def _drop(self, left: list[Item]) -> None:
        dropped: dict[tuple[int, str], list[Item]] = {}  # by run and name: one line in the account each
        gone = {id(item) for item in left if self.settle(item)}
        for item in left:
            if id(item) in gone:
                item.forget()  # first: who is killed in between leaves nothing that is counted and stored
                dropped.setdefault((id(item.core), item.key), []).append(item)
        for of in dropped.values():
            of[0].core.drop_media(of[0].key, "finish", "finish() had no time left for its encoding", len(of))
        with self._changed:
            for item in left:  # of those that are not being stored
                item.given_up = item.is_left or id(item) in gone
            self._changed.notify_all()


_queue: Queue | None = None


def queue() -> Queue:
    global _queue
    if _queue is None:
        _queue = Queue()
    return _queue


def wait(core: _core.RunCore, seconds: float) -> bool:
    return _queue is None or _queue.wait(core, seconds)


def end(core: _core.RunCore, seconds: float) -> None:
    if _queue is not None:
        _queue.end(core, seconds)


def _forget() -> None:
    """In a forked child: the inherited queue and its lock are the parent's."""
    global _queue
    _queue = None


def _at_exit() -> None:
    if _queue is not None:
        _queue.end(None, (EXIT_MS_MAX - _media_end.END_SPOOL_MS_MAX) / 1000)


os.register_at_fork(after_in_child=_forget)
atexit.register(_at_exit)
