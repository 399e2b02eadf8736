# SPDX-License-Identifier: MIT
"""Goal: a medium that finds memory full, or is left at the end of its run, is stored raw: one event, final, read back
bit by bit. It is not encoded later, and reading changes nothing.
Method: runs are killed or ended while nothing is encoded, with values in memory and on the disk; a disk hangs; a value
is being encoded or stored at that moment; a process dies around each event."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracker
from raw_media import (
    EVERY_KIND,
    HELD,
    LOGS,
    SECRET,
    STUCK,
    Script,
    command,
    files_of,
    folder_of_run,
    image,
    killed,
    stored_once,
)
from tracker._media import encode_queue

LOG_12 = "for step in range(12): run.log({'image': tracker.Image(image(step)), 'loss': 1.0}, step=step)\n"


def account(stored: int, dropped: int = 0, lost: int = 0) -> dict[str, Any]:
    return {
        "logged": stored + dropped + lost, "stored": stored, "dropped": dropped, "pending": 0, "lost": lost,
        "by_reason": {"finish": dropped} if dropped else {},
    }  # fmt: skip


@pytest.fixture
def run() -> Iterator[tracker.Run]:
    with tracker.init(project="media", id="killed", quiet=True) as run:
        yield run


@pytest.fixture
def go(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Nothing is encoded before it is set; the end has all the time it needs to store raw."""
    event = threading.Event()
    real = encode_queue.Item.write

    def held(*arguments: Any) -> None:
        event.wait(60)
        real(*arguments)

    monkeypatch.setattr(encode_queue.Item, "write", held)
    monkeypatch.setattr(encode_queue, "RAW_END_MS_MAX", 60_000)
    yield event
    event.set()


def ended(script: Script, body: str, **extra: Any) -> str:
    done = script(LOGS.replace(", quiet=True", "") + body, **extra)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_what_finds_memory_full_is_an_array_that_survives_a_kill(script: Script) -> None:
    killed(script, STUCK + LOG_12)
    stored = tracker.open_run("media/killed")
    assert stored_once(stored) == list(range(HELD, 12))
    assert stored.media_account == account(12 - HELD, lost=HELD)
    (first, *_) = stored.media("image")
    assert (first.kind, first.info["of"], first.info["ext"]) == ("array", "image", "npy")
    assert first.path is not None
    assert np.array_equal(np.load(first.path), image(HELD))
    assert f"{HELD} lost with their process" in command("show", "media/killed", native=True)


def test_reading_encodes_nothing_and_changes_nothing(script: Script) -> None:
    killed(script, STUCK + LOG_12)
    tracker.open_run("media/killed")  # recovers the journal
    before = files_of(folder_of_run())
    for _ in range(2):
        stored = tracker.open_run("media/killed")
        assert {entry.kind for entry in stored.media("image")} == {"array"}
        assert [entry.load().shape for entry in stored.media("image")] == [image(0).shape] * (12 - HELD)
        for words in (("show", "media/killed"), ("export", "media/killed", "--format", "csv"), ("gc",)):
            command(*words)
    assert files_of(folder_of_run()) == before


# Promise P5: Media that find memory full are stored raw; only those that cannot be stored are dropped and counted.
@pytest.mark.parametrize("end", ["run.finish(timeout=0)", "run.finish(timeout=0.2)", "", "sys.exit()"])
def test_what_a_run_has_no_time_to_encode_is_stored_raw_at_its_end(script: Script, end: str) -> None:
    said = ended(script, STUCK + LOG_12 + end + "\n")
    assert "12 points and 12 media stored, nothing lost; tracker show" in said
    stored = tracker.open_run("media/killed")
    assert stored.media_account == account(12)
    assert stored_once(stored) == list(range(12))
    assert stored.state == "finished"
    assert len(stored.history("loss").values) == 12
    assert "array" in command("show", "media/killed", native=True)
    assert "intact" in command("verify", "--deep")


@pytest.mark.parametrize("where", ["in the call", "at the end"])
def test_of_every_kind_pixels_become_an_array_and_all_else_is_what_it_always_is(script: Script, where: str) -> None:
    full = "encode_queue.QUEUED_VALUES_MAX, encode_queue.HELD_BYTES_MAX = 1 << 20, 0\n"
    first = "run.log({'fills': tracker.Image(image(0))}, step=0)\n"
    body = EVERY_KIND + STUCK + (full + first if where == "in the call" else "encode_queue.HELD_BYTES_MAX = 1 << 30\n")
    ended(script, body + "run.log(every_kind(), step=3)\nrun.finish(timeout=0)\n")
    done = script(
        LOGS.replace('"killed"', '"own"') + EVERY_KIND + "run.log(every_kind(), step=3)\nrun.finish(timeout=60)\n"
    )
    assert done.returncode == 0, done.stderr
    raw, own = tracker.open_run("media/killed"), tracker.open_run("media/own")
    arrays = {"pixels": "image", "jpeg": "image", "list": "image", "gif": "video", "webp": "video"}
    for name in own.media_names():
        for expected, found in zip(own.media(name), raw.media(name), strict=True):
            own_files = {"kind", "digest", "ext", "bytes", "masks", "of"}
            said = [{k: v for k, v in each.info.items() if k not in own_files} for each in (expected, found)]
            assert said[0] == said[1], name
            assert {n: m.tolist() for n, m in expected.masks().items()} == {
                n: m.tolist() for n, m in found.masks().items()
            }, name
            if name in arrays:
                assert (found.kind, found.info["of"]) == ("array", arrays[name])
            else:
                assert (found.kind, found.bytes) == (expected.kind, expected.bytes), name
    assert np.array_equal(raw.media("pixels")[0].load(), image(1)[:50, :50])
    assert np.array_equal(raw.media("jpeg")[0].load(), image(2)[:, :, 0])
    film = raw.media("gif")[0].load()
    assert film.shape == (3, 20, 24, 3)
    assert np.array_equal(raw.media("webp")[0].load(), film)
    assert raw.media_account["lost"] == raw.media_account["dropped"] == 0


def test_a_value_larger_than_memory_is_encoded_where_no_other_such_one_waits(
    run: tracker.Run, go: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode_queue, "HELD_BYTES_MAX", image(0).nbytes - 1)
    monkeypatch.setattr(encode_queue, "RAW_CALL_MS_MAX", 60_000)
    for step in range(3):
        run.log({"image": tracker.Image(image(step))}, step=step)
    go.set()
    run.finish(timeout=60)
    stored = tracker.open_run(run.uid)
    assert [entry.kind for entry in stored.media("image")] == ["image", "array", "array"]
    assert stored_once(stored) == [0, 1, 2]


def test_flush_waits_until_what_was_stored_raw_is_fsynced(
    run: tracker.Run, go: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    real = encode_queue.Item.sync

    def sync(item: encode_queue.Item) -> None:
        real(item)
        synced.append(item.step)

    monkeypatch.setattr(encode_queue.Item, "sync", sync)
    monkeypatch.setattr(encode_queue, "HELD_BYTES_MAX", image(0).nbytes)
    monkeypatch.setattr(encode_queue, "RAW_CALL_MS_MAX", 60_000)
    for step in range(3):
        run.log({"image": tracker.Image(image(step))}, step=step)
    assert (run.status().media_stored, synced) == (2, [])
    assert tracker.open_run(run.uid).media_account["pending"] == 1
    go.set()
    assert run.flush(60)
    assert (run.status().media_stored, synced) == (3, [1, 2])


def test_what_was_stored_raw_at_the_end_is_not_stored_again_when_its_encoder_comes_to_it(
    run: tracker.Run, go: threading.Event
) -> None:
    opened = tracker.open_run(run.uid)
    for step in range(5):
        run.log({"image": tracker.Image(image(step))}, step=step)
    run.finish(timeout=0)
    now = run.status()
    assert (now.media_logged, now.media_stored, now.media_dropped, now.media_pending) == (5, 5, 0, 0)
    go.set()
    queue = encode_queue.queue()
    with queue._changed:
        assert queue._changed.wait_for(lambda: queue._now is None, 60)
    assert list(Path(run.dir).rglob("*.png")) == [], "nothing is written into a run that has ended"
    for stored in (opened, tracker.open_run(run.uid)):
        assert stored_once(stored) == list(range(5))
        assert stored.media_account == account(5)


def test_of_another_run_of_the_process_nothing_is_given_up(run: tracker.Run, go: threading.Event) -> None:
    run.log({"image": tracker.Image(image(0))}, step=0)
    with tracker.init(project="media", id="second", quiet=True) as second:
        second.log({"image": tracker.Image(image(1))}, step=1)
        run.finish(timeout=0)
        assert [item.step for item in encode_queue.queue()._waiting(None)] == [1]
        go.set()
    (entry,) = tracker.open_run("media/second").media("image")
    assert (entry.kind, entry.step) == ("image", 1)
    assert stored_once(tracker.open_run("media/killed")) == [0]


def test_a_value_that_is_being_stored_when_its_run_ends_is_stored_or_counted_as_lost(
    run: tracker.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    storing, go = threading.Event(), threading.Event()
    real = encode_queue.Queue.claim

    def claim(queue: Any, item: Any) -> bool:
        first = real(queue, item)
        if threading.current_thread().name == "tracker-media" and not storing.is_set():
            storing.set()
            go.wait(60)
        return first

    monkeypatch.setattr(encode_queue.Queue, "claim", claim)
    run.log({"image": tracker.Image(image(0))}, step=0)
    assert storing.wait(60)
    run.finish(timeout=0)
    go.set()
    assert encode_queue.wait(run._core, 60)
    assert tracker.open_run(run.uid).media_account == account(0, lost=1)


def test_a_disk_that_hangs_at_the_end_holds_finish_up_no_longer_than_its_time(
    run: tracker.Run, go: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode_queue, "RAW_END_MS_MAX", 50)
    run.log({"image": [tracker.Image(image(step)) for step in range(3)]}, step=0)
    back = threading.Event()
    real = encode_queue.RawFiles.add

    def hangs(*arguments: Any) -> Any:
        back.wait(60)
        return real(*arguments)

    monkeypatch.setattr(encode_queue.RawFiles, "add", hangs)
    run.finish(timeout=0)
    assert not back.is_set()
    assert run.status().media_dropped == 3
    back.set()
    for thread in threading.enumerate():
        if thread.name == "tracker-media-end":
            thread.join(60)
    assert tracker.open_run(run.uid).media_account == account(0, 3)
    assert list(Path(run.dir).rglob("*.npy")) == [], "what came late is not there"


def test_where_no_thread_can_be_started_at_the_end_what_was_in_memory_is_dropped_and_counted(
    run: tracker.Run, go: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.log({"image": [tracker.Image(image(step)) for step in range(3)]}, step=0)

    def refuse(thread: Any) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        encode_queue.end(run._core, 0)
    run.finish()
    assert tracker.open_run(run.uid).media_account == account(0, 3)


# Promise P12: Media stored raw hold no secret of a caption, a label or a text.
def test_documents_that_are_stored_at_the_end_are_without_their_secrets(run: tracker.Run, go: threading.Event) -> None:
    pages = [SECRET + " " + "x" * size for size in (70_000, 2 << 20)]
    for step, page in enumerate(pages):
        run.log({"page": tracker.Html(page, caption=SECRET)}, step=step)
    run.log({"image": tracker.Image(image(0), boxes=[{"box": (0, 0, 1, 1), "label": SECRET}])}, step=0)
    run.finish(timeout=0)
    stored = tracker.open_run(run.uid)
    assert [len(entry.load()) for entry in stored.media("page")] == [len(page) - 29 for page in pages]
    assert stored.media("image")[0].info["boxes"]["boxes"][0]["label"] == "[redacted]"
    assert stored.media_account == account(3)
    for path in Path(run.dir).rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


def test_a_large_file_given_by_path_is_dropped_and_counted(
    run: tracker.Run, go: threading.Event, tmp_path: Path
) -> None:
    film = tmp_path / "film.mp4"
    film.write_bytes(b"\0\0\0\x20ftypisom" + bytes(17 << 20))
    run.log({"film": tracker.Video(film)}, step=0)
    run.finish(timeout=0)
    assert tracker.open_run(run.uid).media_account == account(0, 1)


def test_a_bundle_of_the_native_program_has_what_was_stored_raw(script: Script, tmp_path: Path) -> None:
    ended(script, STUCK + LOG_12 + "run.finish(timeout=0)\n")
    bundle = tmp_path / "raw.trk"
    said = json.loads(command("export", "media/killed", "--bundle", str(bundle), "--json", native=True))
    assert said["left_out"] == []
    command("import", str(bundle), "--dir", str(tmp_path / "other"))
    assert stored_once(tracker.open_run("media/killed", dir=str(tmp_path / "other"))) == list(range(12))


SEEDS = [int(os.environ["TRACKER_TEST_SEED"])] if "TRACKER_TEST_SEED" in os.environ else None


@pytest.mark.parametrize("turn", range(4))
def test_wherever_a_process_dies_around_an_event_each_value_is_stored_once_or_counted(
    script: Script, turn: int
) -> None:
    seed = SEEDS[0] if SEEDS else random.randrange(1 << 32)
    print(f"TRACKER_TEST_SEED={seed}")
    dice = random.Random(seed)
    event, where = dice.randrange(1, 13), dice.choice(["before", "after"])
    done = script(f"""{LOGS}{STUCK}
die = lambda: os.kill(os.getpid(), signal.SIGKILL)
events, real = [], encode_queue.Item._log
def log(*arguments):
    events.append(1)
    if len(events) == {event} and "{where}" == "before": die()
    first = real(*arguments)
    if len(events) == {event}: die()
    return first
encode_queue.Item._log = log
{LOG_12}
run.finish(timeout=0)
""")
    assert done.returncode == -signal.SIGKILL, done.stderr
    stored = tracker.open_run("media/killed")
    steps, found = stored_once(stored), stored.media_account
    assert found["stored"] == len(steps) == event - (where == "before")
    assert (found["logged"], found["dropped"]) == (found["stored"] + found["lost"], 0)
    assert found["logged"] == min(HELD + event, 12)
