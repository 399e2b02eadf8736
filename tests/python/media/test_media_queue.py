# SPDX-License-Identifier: MIT
"""Goal: media that wait to be encoded survive what they can, are bounded, and what is dropped of them is counted.
Method: processes are killed or end while some wait; the queue is stopped by hand, or filled without a run."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracker
from commands import command
from pixels import pixels
from tracker._media import encode_queue, media_files

Script = Callable[..., "subprocess.CompletedProcess[str]"]


KILLED = """
import os, signal, sys
import numpy as np
import tracker
run = tracker.init(project="media", id="killed", quiet=True)
for step in range(20):
    run.log({"image": tracker.Image(np.full((8, 8), step, np.uint8)), "small": tracker.Text(str(step))}, step=step)
%s
os.kill(os.getpid(), signal.SIGKILL)
"""


# Promise P1: Stored media survive a kill; those in memory alone are counted.
def test_what_is_stored_survives_a_kill(script: Script) -> None:
    done = script(KILLED % "run.flush(60)")
    assert done.returncode == -signal.SIGKILL, done.stderr
    stored = tracker.open_run("media/killed")
    assert stored.state == "crashed"
    entries = stored.media("image")
    assert [int(entry.load()[0, 0]) for entry in entries] == list(range(20))
    assert stored.media_account == {"logged": 40, "stored": 40, "dropped": 0, "pending": 0, "lost": 0, "by_reason": {}}


def test_of_a_killed_process_small_ones_survive_and_what_was_not_encoded_is_counted(script: Script) -> None:
    stop = "tracker._media.encode_queue.Item.write = lambda *arguments: __import__('time').sleep(600)"
    source = KILLED.replace("run = tracker.init", "tracker.Image\n" + stop + "\nrun = tracker.init", 1) % ""
    done = script(source)
    assert done.returncode == -signal.SIGKILL, done.stderr
    stored = tracker.open_run("media/killed")
    assert [entry.load() for entry in stored.media("small")] == [str(step) for step in range(20)]
    account = stored.media_account
    assert (account["logged"], account["stored"], account["lost"]) == (40, 20, 20)
    shown = command("show", "media/killed").stdout
    assert "20 lost with their process" in shown
    assert "Nothing lost" not in shown


def test_a_process_that_ends_without_finish_stores_what_waits(script: Script) -> None:
    source = """
        import numpy as np, tracker
        run = tracker.init(project="media", id="ended", quiet=True)
        run.log({"a": [tracker.Image(np.full((8, 8), i, np.uint8)) for i in range(5)]}, step=0)
    """
    done = script(source)
    assert done.returncode == 0, done.stderr
    stored = tracker.open_run("media/ended")
    account = stored.media_account
    assert stored.state == "finished"
    assert account["stored"] + account["dropped"] == 5, account
    assert len(stored.media("a")) == account["stored"] if account["stored"] else True


# Bug: what was stored was another video, or the halves of two.
def test_a_large_file_that_changed_since_it_was_logged_is_dropped_and_counted(
    run: tracker.Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(media_files, "FILE_COPIED_BYTES_MAX", 39)
    go = threading.Event()
    real = encode_queue.Item.write

    def held(*arguments: Any) -> None:
        go.wait(120)
        real(*arguments)

    monkeypatch.setattr(encode_queue.Item, "write", held)
    paths = [tmp_path / "same.mp4", tmp_path / "changed.mp4"]
    for path in paths:
        path.write_bytes(b"\0\0\0\x20ftypisom" + bytes(100))
        run.log({path.stem: tracker.Video(path)}, step=0)
    paths[1].write_bytes(b"\0\0\0\x20ftypisom" + b"x" * 100)
    go.set()
    assert run.flush(60)
    run.finish()
    stored = tracker.open_run(run.uid)
    assert len(stored.media("same")) == 1
    with pytest.raises(tracker.NotFoundError, match="no media 'changed'"):
        stored.media("changed")
    assert stored.media_account["by_reason"] == {"file changed": 1}
    assert f"{paths[1]} has changed since it was given" in capfd.readouterr().err


def test_finish_counts_what_it_could_not_wait_for(run: tracker.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode_queue, "RAW_END_MS_MAX", 0)  # else it is stored raw (test_media_raw.py)
    go = threading.Event()
    real = encode_queue.Item.write

    def slow(*arguments: Any) -> None:
        go.wait(60)
        real(*arguments)

    monkeypatch.setattr(encode_queue.Item, "write", slow)
    run.log({"a": [tracker.Image(pixels(seed=i)) for i in range(3)]}, step=0)
    run.log({"b": tracker.Text("small")}, step=0)
    try:
        run.finish(timeout=0.2)
    finally:
        go.set()
    account = tracker.open_run(run.uid).media_account
    assert (account["logged"], account["stored"], account["dropped"], account["lost"]) == (4, 1, 3, 0)
    assert account["by_reason"] == {"finish": 3}


# Promise P4: Waiting media are bounded: memory, then raw storage, then a short wait, then a counted drop; metrics go
# on.
def test_a_full_queue_stores_raw_then_waits_then_drops_and_metrics_go_on(
    run: tracker.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker.Image(pixels())
    go = threading.Event()
    real = encode_queue.Item.write

    def held(*arguments: Any) -> None:
        go.wait(120)
        real(*arguments)

    monkeypatch.setattr(encode_queue.Item, "write", held)
    size = pixels().nbytes
    monkeypatch.setattr(encode_queue, "HELD_BYTES_MAX", 3 * size)
    monkeypatch.setattr(encode_queue, "RAW_CALL_MS_MAX", 60_000)  # on a busy machine a write of 90 bytes takes long
    try:
        for step in range(8):
            if step == 5:
                monkeypatch.setattr(encode_queue, "RAW_CALL_MS_MAX", -1)
            run.log({"a": tracker.Image(pixels(seed=step)), "loss": float(step)}, step=step)
        stored, dropped = run.status().media_stored, run.status().media_dropped
    finally:
        go.set()
    assert (stored, dropped) == (2, 3)
    run.finish(timeout=60)
    read = tracker.open_run(run.uid)
    entries = read.media("a")
    assert [(entry.step, entry.kind) for entry in entries] == [
        (0, "image"), (1, "image"), (2, "image"), (3, "array"), (4, "array"),
    ]  # fmt: skip
    for entry in entries:
        assert np.array_equal(entry.load(), pixels(seed=entry.step or 0))
    assert read.media_account["by_reason"] == {"queue full": 3}
    assert read.history("loss").values.tolist() == [float(step) for step in range(8)]
    assert not list((Path(run.dir) / "media").glob("*.tmp-*"))


def test_a_full_queue_is_an_error_of_a_strict_run(strict_run: tracker.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    image = tracker.Image(pixels())
    monkeypatch.setattr(encode_queue, "QUEUED_VALUES_MAX", 0)
    with pytest.raises(tracker.LimitError, match="wait to be encoded"):
        strict_run.log({"a": image}, step=0)
    assert strict_run.status().media_dropped == 1


def test_a_call_that_finds_the_queue_full_waits_no_longer_than_its_share(
    run: tracker.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = tracker.Image(pixels())
    run.log({"a": image}, step=0)
    assert run.flush(60)
    queue = encode_queue.queue()
    queue._waited = 0.0
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        time.sleep(seconds)

    with monkeypatch.context() as patch:
        patch.setattr(encode_queue, "HELD_BYTES_MAX", 0)
        patch.setattr(encode_queue, "RAW_CALL_MS_MAX", -1)
        patch.setitem(queue._used, "large", 1)
        patch.setattr(queue._changed, "wait", sleep)
        for step in range(1, 41):
            run.log({"a": image}, step=step)
        assert max(waited) <= encode_queue.WAIT_CALL_MS / 1000
        assert queue._waited >= encode_queue.WAIT_TOTAL_MS / 1000 - 1e-6
        count = len(waited)
        run.log({"a": image}, step=41)
        assert len(waited) == count, "all calls together have waited their share"
    queue._waited = 0.0
    run.finish()
    assert tracker.open_run(run.uid).media_account["dropped"] == 41


class CountingCore:
    """What the queue needs of a run: counts what is stored and dropped."""

    dir = ""

    def __init__(self) -> None:
        self.stored = 0
        self.dropped: dict[str, int] = {}

    def log_media(self, *what: object) -> None:
        self.stored += 1

    def drop_media(self, key: str, reason: str, detail: str, values: int) -> None:
        self.dropped[key] = self.dropped.get(key, 0) + values


def put_all(queue: encode_queue.Queue, core: CountingCore, encoder: Any, count: int) -> None:
    for number in range(count):
        item = encode_queue.Item(core, f"m/{number % 3}", number, number, 0, encoder, (), {})  # type: ignore[arg-type]
        assert queue.put(item)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Nothing is encoded before it is set; memory has room for documents only."""
    go = threading.Event()
    real = encode_queue.Item.write

    def held(*arguments: Any) -> None:
        go.wait(120)
        real(*arguments)

    monkeypatch.setattr(encode_queue.Item, "write", held)
    monkeypatch.setattr(encode_queue, "HELD_BYTES_MAX", 16 << 20)
    monkeypatch.setitem(encode_queue.queue()._used, "held", 16 << 20)
    yield go
    go.set()


# Bug: the secrets of a large table or page were searched for in the call, for up to two seconds.
def test_a_large_document_that_finds_the_queue_full_is_not_searched_in_the_call(
    run: tracker.Run, monkeypatch: pytest.MonkeyPatch, gate: threading.Event
) -> None:
    searched: list[int] = []
    real = encode_queue.RawFiles.add_document

    def add_document(files: encode_queue.RawFiles, text: Any, extension: str) -> dict[str, Any]:
        searched.append(len(text))
        return real(files, text, extension)

    monkeypatch.setattr(encode_queue.RawFiles, "add_document", add_document)
    monkeypatch.setattr(encode_queue, "RAW_CALL_MS_MAX", 60_000)
    monkeypatch.setattr(encode_queue, "HELD_DOCUMENT_BYTES_MAX", 5 << 20)
    assert encode_queue.CALL_DOCUMENT_BYTES_MAX == 1 << 20
    large = tracker.Html("<p>password=hunter22</p>" + "x" * (2 << 20))
    for step in range(3):
        run.log({"large": large}, step=step)
    run.log({"small": tracker.Html("y" * (1 << 20))}, step=0)
    assert searched == [1 << 20]
    gate.set()
    run.finish(timeout=60)
    stored = tracker.open_run(run.uid)
    assert [entry.step for entry in stored.media("large")] == [0, 1], "two have room, a third is dropped"
    assert "hunter22" not in stored.media("large")[1].load()
    assert len(stored.media("small")) == 1
    assert stored.media_account["by_reason"] == {"queue full": 1}
    assert encode_queue.queue()._used == {"held": 16 << 20, "documents": 0, "large": 0}


def test_the_search_for_secrets_is_a_part_of_the_time_for_storing_a_document_raw(
    run: tracker.Run, monkeypatch: pytest.MonkeyPatch, gate: threading.Event
) -> None:
    clock = [time.monotonic()]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    real = encode_queue.RawFiles.add_document

    def add_document(files: encode_queue.RawFiles, text: Any, extension: str) -> dict[str, Any]:
        clock[0] += encode_queue.RAW_CALL_MS_MAX / 1000 + 0.001
        return real(files, text, extension)

    monkeypatch.setattr(encode_queue.RawFiles, "add_document", add_document)
    monkeypatch.setattr(encode_queue, "WAIT_CALL_MS", 0)
    run.log({"page": tracker.Html("x" * 100_000)}, step=0)
    assert list(Path(run.dir).rglob("*.html")) == []
    assert run.status().media_dropped == 1


# Bug: each Ctrl-C in a call that wrote to the disk took the room of its value away for good, and its values stayed on
# their way.
def test_what_a_signals_handler_raises_in_a_call_leaves_the_room_as_it_was_and_is_counted(
    run: tracker.Run, monkeypatch: pytest.MonkeyPatch, gate: threading.Event
) -> None:
    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    images = [tracker.Image(pixels(seed=i)) for i in range(3)]
    with monkeypatch.context() as patch:
        patch.setattr(encode_queue.RawFiles, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run.log({"a": images}, step=0)
    monkeypatch.setattr(encode_queue, "RAW_CALL_MS_MAX", 60_000)
    run.log({"b": images[0]}, step=0)
    gate.set()
    run.finish(timeout=60)
    account = tracker.open_run(run.uid).media_account
    assert account["by_reason"] == {"interrupted": 3}
    assert (account["logged"], account["stored"], account["pending"], account["lost"]) == (4, 1, 0, 0)
    assert encode_queue.queue()._used == {"held": 16 << 20, "documents": 0, "large": 0}


def test_memory_that_is_refused_on_the_way_to_the_disk_drops_the_value_and_raises_nothing(
    run: tracker.Run, monkeypatch: pytest.MonkeyPatch, gate: threading.Event
) -> None:
    def refused(*arguments: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(encode_queue.RawFiles, "add", refused)
        run.log({"a": tracker.Image(pixels())}, step=0)
    assert run.status().media_dropped == 1
