# SPDX-License-Identifier: MIT
"""Where media wait for their encoding: one daemon thread a process, with the first medium that needs it.

What waits is bounded: 16 MiB in memory, beside it one larger value and 32 MiB of large documents. A value that finds no
room is stored raw in the call, and so is what is left at the end of its run: one event, pixels as they are in a .npy
file, anything else under its own kind. It is not encoded later (decision 0060). A call that cannot store raw waits
shortly, then the value is dropped and counted. A call after our exit handler waits until the value is stored, for
no thread would store it later. Threads: any. After fork() the child begins with an empty queue of its own.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tracker import _core, _open_runs
from tracker._own_thread import own_thread

# Of values that wait in memory; a larger one waits beside them where no other such one does
# Limit: bytes of media that wait in memory to be encoded, and one larger value. Beyond it: a value is stored raw in the
# call.
HELD_BYTES_MAX = 16 * 1024 * 1024
# A document is searched for secrets, which takes 40 ms a MiB at the worst: a larger one is not stored in a call
# Limit: bytes of a document that is stored in the call. Beyond it: it waits in memory.
CALL_DOCUMENT_BYTES_MAX = 1 * 1024 * 1024
# Of such ones, beside HELD_BYTES_MAX
# Limit: bytes of documents that wait in memory. Beyond it: the call waits, then the document is dropped and counted.
HELD_DOCUMENT_BYTES_MAX = 32 * 1024 * 1024
# Spent by one call on storing a value raw
# Limit: ms to store one value raw in a call. Beyond it: as if the disk had no room.
RAW_CALL_MS_MAX = 100
# Limit: media that wait to be encoded. Beyond it: the call waits, then the value is dropped and counted.
QUEUED_VALUES_MAX = 10_000
# Limit: ms that a call waits for room for a medium. Beyond it: dropped and counted.
WAIT_CALL_MS = 10
# Of all calls together, until there is room again
# Limit: ms of all waits for room for media, until there is room. Beyond it: dropped and counted.
WAIT_TOTAL_MS = 100
# Spent at the end on storing raw what is not encoded: beside what finish() is given, and a part of EXIT_MS_MAX
# Limit: ms at the end of a run to store raw what is not encoded. Beyond it: dropped and counted.
RAW_END_MS_MAX = 250
# At the end of a process that called no finish()
# Limit: ms for media at the end of a process without finish(). Beyond it: stored raw.
EXIT_MS_MAX = 1000

Payload = tuple[memoryview, ...]


class FileChangedError(_core.StoreError):
    """A file given by path is another one by now: neither belongs to the step. Private."""


class Files(Protocol):
    """What an encoder writes to: each method returns what the event says of the file."""

    raw: bool  # there is no time to encode: pixels are stored as a .npy file

    def add(self, data: Any, extension: str, head: bytes = b"") -> dict[str, Any]:
        """A file of `head` and `data`."""

    def add_path(self, path: str, extension: str, size: int, mtime_ns: int) -> dict[str, Any]: ...
    def add_document(self, text: Any, extension: str) -> dict[str, Any]:
        """Without its secrets. Of JSON each string is searched by itself, so that it stays JSON."""


Encoder = Callable[[Sequence[memoryview], Files], dict[str, Any]]


class RunFiles:
    raw = False

    def __init__(self, core: _core.RunCore) -> None:
        self._core = core

    def add(self, data: Any, extension: str, head: bytes = b"") -> dict[str, Any]:
        digest, size = self._core.store_media(b"".join((head, data)) if head else data, extension)
        return {"digest": digest, "ext": extension, "bytes": size}

    def add_path(self, path: str, extension: str, size: int, mtime_ns: int) -> dict[str, Any]:
        stored = self._core.store_media_file(path, extension, size, mtime_ns)
        if stored is None:
            raise FileChangedError(f"{path} has changed since it was given; leave it as it is until flush() returns")
        digest, size = stored
        return {"digest": digest, "ext": extension, "bytes": size}

    def add_document(self, text: Any, extension: str) -> dict[str, Any]:
        return self.add(self._core.redact_document(text, extension), extension)


class RawFiles(RunFiles):
    """Files that are written without an fsync until `end`; StoreError after it."""

    raw = True

    def __init__(self, core: _core.RunCore, end: float) -> None:
        super().__init__(core)
        self._end = end
        self.names: list[tuple[str, str]] = []

    def add(self, data: Any, extension: str, head: bytes = b"") -> dict[str, Any]:
        left_ms = int((self._end - time.monotonic()) * 1000)
        digest, size = self._core.store_media_unsynced(head, data, extension, left_ms)
        self.names.append((digest, extension))
        return {"digest": digest, "ext": extension, "bytes": size}

    def add_path(self, path: str, extension: str, size: int, mtime_ns: int) -> dict[str, Any]:
        raise _core.StoreError(f"{path} takes too long to copy")


class Item:
    """A value on its way. Its encoder knows all but the payload."""

    __slots__ = ("call", "claimed", "core", "done", "encoder", "given_up", "key", "payload", "place", "room", "size",
                 "step", "time_us", "unsynced")  # fmt: skip

    def __init__(
        self, core: _core.RunCore, key: str, step: int, call: int, time_us: int, encoder: Encoder, payload: Payload,
        place: dict[str, int],
    ) -> None:  # fmt: skip
        self.core, self.key, self.step, self.call, self.time_us = core, key, step, call, time_us
        self.encoder = encoder
        self.payload: Payload = payload
        self.place = place  # in the list that was logged
        self.size = sum(part.nbytes for part in payload)
        self.room = ""  # which memory it waits in
        self.unsynced: list[tuple[str, str]] = []  # files of a value that is stored raw
        self.claimed = False  # stored or dropped, or about to be
        self.given_up = False  # by finish(): no call waits for it any more
        self.done = False  # it has left the queue

    def is_large_document(self) -> bool:
        return self.size > CALL_DOCUMENT_BYTES_MAX and bool(getattr(self.encoder, "document", ""))

    def write(self, claim: Callable[[Item], bool]) -> None:
        """Encodes it, stores its files and logs what they are, unless it was claimed meanwhile."""
        self._log(self.encoder(self.payload, RunFiles(self.core)), claim)

    def write_raw(self, end: float, claim: Callable[[Item], bool]) -> None:
        """The same without encoding and fsync; StoreError, LimitError and others where that is not possible."""
        files = RawFiles(self.core, end)
        if self._log(self.encoder(self.payload, files), claim):
            self.unsynced = files.names

    def _log(self, value: dict[str, Any], claim: Callable[[Item], bool]) -> bool:
        if not claim(self):
            return False
        try:
            self.core.log_media(self.key, self.step, self.call, self.time_us, {**value, **self.place})
        except Exception:
            self.claimed = False  # it is not stored: the next caller of claim() drops it
            raise
        return True

    def sync(self) -> None:
        for digest, extension in self.unsynced:
            self.core.sync_media(digest, extension)


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
        self._used = {"held": 0, "documents": 0, "large": 0}  # bytes by memory
        self._waited = 0.0
        self._thread: threading.Thread | None = None
        self._no_thread = False
        self._exit_left = (EXIT_MS_MAX - RAW_END_MS_MAX) / 1000  # seconds for encoding at the end of the process

    # --- logging ----------------------------------------------------------------------------------------------

    def put(self, item: Item) -> bool:
        """True when it waits here now or is stored raw. False: there is no room. Waits at most WAIT_CALL_MS, and for
        the writes of a value that is stored raw."""
        taken = self._put(item)
        if taken and _open_runs.exiting:
            self._end_at_exit(item.core)
        return taken

    def _put(self, item: Item) -> bool:
        with self._changed:
            self._start()
            if self._take(item):
                return True
        if self._store_raw(item):  # without the lock: what a disk holds up is this call alone
            return True
        with self._changed:
            return self._wait_and_take(item)

    def _room_for(self, item: Item) -> str:
        """Which memory takes it; "" where none has room."""
        if len(self._items) >= QUEUED_VALUES_MAX:
            return ""
        if item.size == 0 or self._used["held"] + item.size <= HELD_BYTES_MAX:
            return "held"
        if item.size > HELD_BYTES_MAX:
            return "" if self._used["large"] else "large"
        fits = item.is_large_document() and self._used["documents"] + item.size <= HELD_DOCUMENT_BYTES_MAX
        return "documents" if fits else ""

    def _take(self, item: Item) -> bool:
        item.room = self._room_for(item)
        if not item.room:
            return False
        self._used[item.room] += item.size
        self._waited = 0.0 if self._used["held"] * 2 < HELD_BYTES_MAX else self._waited
        self._items.append(item)
        self._changed.notify_all()
        return True

    def _store_raw(self, item: Item) -> bool:
        if item.is_large_document() or len(self._items) >= QUEUED_VALUES_MAX:
            return False
        try:
            item.write_raw(time.monotonic() + RAW_CALL_MS_MAX / 1000, self.claim)
        except (OSError, ValueError, _core.TrackerError):
            return False
        item.payload, item.size = (), 0
        with self._changed:
            self._take(item)  # for its fsync
        return True

    def _wait_and_take(self, item: Item) -> bool:
        begin = time.monotonic()
        wait = min(WAIT_CALL_MS, WAIT_TOTAL_MS - self._waited * 1000) / 1000
        taken = self._take(item)
        while not taken and (left := begin + wait - time.monotonic()) > 0:
            self._changed.wait(left)
            taken = self._take(item)
        self._waited += time.monotonic() - begin
        return taken

    # --- the thread -------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._thread is not None or self._no_thread:
            return
        thread = own_thread("tracker-media", self._work)
        try:
            thread.start()
        except RuntimeError:  # a limit on processes: flush() and finish() do the work
            self._no_thread = True
            return
        self._thread = thread

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._items or self._now is not None:
                    self._changed.wait()
                now = self._now = self._items.popleft()
            self._write(now)

    def _write(self, item: Item) -> None:
        try:
            if item.unsynced:
                item.sync()
            else:
                item.write(self.claim)
        except BaseException as error:  # whatever an encoder raises, this thread goes on
            if self.claim(item):
                detail = f"{type(error).__name__}: {error}"[:300]
                item.core.drop_media(item.key, reason_of(error), detail, 1)
        with self._changed:
            self._release(item)
            item.payload = ()
            self._now = None
            self._changed.notify_all()

    def _release(self, item: Item) -> None:
        item.done = True
        self._used[item.room] -= item.size

    def claim(self, item: Item) -> bool:
        """True for the first caller, which must then store or drop the item."""
        with self._changed:
            first = not item.claimed
            item.claimed = True
            return first

    # --- the end ----------------------------------------------------------------------------------------------

    def _waiting(self, core: _core.RunCore | None) -> list[Item]:
        items = ([self._now] if self._now is not None else []) + list(self._items)
        return [item for item in items if (core is None or item.core is core) and not item.given_up]

    def wait(self, core: _core.RunCore | None, seconds: float) -> bool:
        """Until all that is here now (of one run) is stored or dropped, and fsynced."""
        deadline = time.monotonic() + seconds
        with self._changed:
            mine = self._waiting(core)
            # They leave in order, and end() gives all of a run up at once: after the last one there is none.
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
        """Waits. What is left then is stored raw within RAW_END_MS_MAX, or dropped and counted."""
        if self.wait(core, seconds):
            return
        left = self._give_up(core)
        try:
            self._store_left(left)
        finally:
            self._drop(left)

    def _end_at_exit(self, core: _core.RunCore | None) -> None:
        begin = time.monotonic()
        self.end(core, self._exit_left)
        self._exit_left = max(0.0, self._exit_left - (time.monotonic() - begin))

    def _give_up(self, core: _core.RunCore | None) -> list[Item]:
        """Takes what is left out of the queue."""
        with self._changed:
            left = self._waiting(core)
            mine = set(map(id, left))
            self._items = deque(item for item in self._items if id(item) not in mine)
            for item in left:
                if item is not self._now:
                    self._release(item)
            self._changed.notify_all()
        # Large documents last, for their search; the value that is being encoded after the others
        return sorted(left[1:] + left[:1], key=Item.is_large_document)

    def _store_left(self, left: list[Item]) -> None:
        """In a thread of its own, for a disk may hang."""
        end = time.monotonic() + RAW_END_MS_MAX / 1000

        def work() -> None:
            for item in left:
                if not item.claimed and time.monotonic() < end:
                    with contextlib.suppress(Exception):  # the disk: this one is dropped
                        item.write_raw(end, self.claim)
            for item in left:
                if time.monotonic() < end:
                    item.sync()

        thread = own_thread("tracker-media-end", work)
        with contextlib.suppress(RuntimeError):  # a limit on processes, or Python 3.12 and newer at their exit
            thread.start()
            thread.join(RAW_END_MS_MAX / 1000)

    def _drop(self, left: list[Item]) -> None:
        dropped: dict[tuple[int, str], list[Item]] = {}  # by run and name: one line in the account each
        gone = {id(item) for item in left if self.claim(item)}
        for item in left:
            if id(item) in gone:
                dropped.setdefault((id(item.core), item.key), []).append(item)
        for of in dropped.values():
            detail = "finish() had no time left to encode or copy it"
            of[0].core.drop_media(of[0].key, "finish", detail, len(of))
        with self._changed:
            for item in left:  # but for the one that the thread is storing just now
                item.given_up = item is not self._now or bool(item.unsynced) or id(item) in gone
                if item.given_up:
                    item.payload = ()
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


def end_at_exit() -> None:
    if _queue is not None:
        _queue._end_at_exit(None)


os.register_at_fork(after_in_child=_forget)
