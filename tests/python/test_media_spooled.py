# SPDX-License-Identifier: MIT
"""Goal: a medium that waits on the disk survives the death of its process: the next reader encodes it, once, bit by bit
as it was logged.
Method: processes are killed with a full queue, at points that a seed tells, and readers while they encode."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import time
from pathlib import Path

import pytest
import tracker
from spooled import (
    EVERY_KIND,
    HELD,
    LOGS,
    SECRET,
    STUCK,
    Script,
    folder_of_run,
    killed,
    spooled,
    start,
    stored_once,
)
from tracker import _core

MANY = 20  # descriptions of 0.3 MB


def test_what_waited_on_the_disk_when_its_process_was_killed_is_encoded_by_the_next_reader(script: Script) -> None:
    killed(script, STUCK + "for step in range(12): run.log({'image': tracker.Image(image(step))}, step=step)\n")
    waiting = len(spooled())
    assert waiting == 12 - HELD
    stored = tracker.open_run("media/killed")
    assert stored_once(stored) == list(range(HELD, 12))
    assert stored.media_account == {
        "logged": 12, "stored": waiting, "dropped": 0, "pending": 0, "lost": HELD, "by_reason": {},
    }  # fmt: skip
    assert stored.state == "crashed"
    assert not spooled()
    assert not list((folder_of_run() / "media").glob("spool*"))
    assert stored_once(tracker.open_run("media/killed")) == list(range(HELD, 12))


def test_every_kind_of_medium_is_encoded_by_another_process_as_by_its_own(script: Script) -> None:
    body = EVERY_KIND + "_media_queue.HELD_BYTES_MAX = 0\n" + STUCK
    killed(script, body + "run.log(every_kind(), step=3)\n")
    done = script(
        LOGS.replace('"killed"', '"alive"') + EVERY_KIND + "run.log(every_kind(), step=3)\nrun.finish(timeout=60)\n"
    )
    assert done.returncode == 0, done.stderr
    late, alive = tracker.open_run("media/killed"), tracker.open_run("media/alive")
    assert late.media_names() == alive.media_names()
    for name in alive.media_names():
        expected, found = alive.media(name), late.media(name)
        assert [(e.step, e.info) for e in found] == [(e.step, e.info) for e in expected], name
        assert [e.bytes for e in found] == [e.bytes for e in expected], name
        for entry in found:
            for mask in entry.masks().values():
                assert mask.shape == (50, 50)
    assert (late.media_account["stored"], late.media_account["lost"]) == (13, 0)


def test_no_secret_of_a_caption_a_label_or_a_text_is_in_what_waits_on_the_disk(script: Script) -> None:
    body = "_media_queue.HELD_BYTES_MAX = 0\n" + STUCK + f"""
said = {{"caption": "by {SECRET}", "boxes": [{{"box": (0, 0, 1, 1), "label": "{SECRET}"}}]}}
mask = {{"m": {{"mask": np.zeros((50, 50), np.uint8), "labels": {{0: "{SECRET}"}}}}}}
run.log({{"a": tracker.Image(image(0)[:50, :50], masks=mask, **said)}}, step=0)
run.log({{"b": tracker.Markdown("{SECRET} " + "x" * 70_000, caption="{SECRET}")}}, step=0)
"""  # fmt: skip
    killed(script, body)
    assert len(spooled()) == 2
    for path in folder_of_run().rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path
    stored = tracker.open_run("media/killed")
    (entry,) = stored.media("a")
    assert entry.caption == "by [redacted]"
    assert entry.info["boxes"]["boxes"][0]["label"] == "[redacted]"
    assert entry.info["masks"]["m"]["labels"] == {"0": "[redacted]"}
    assert stored.media("b")[0].caption == "[redacted]"
    for path in folder_of_run().rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


SEEDS = [int(os.environ["TRACKER_TEST_SEED"])] if "TRACKER_TEST_SEED" in os.environ else None
READS = "import tracker\nprint('begins', flush=True)\ntracker.open_run('media/killed')\n"


@pytest.mark.parametrize("turn", range(4))
def test_wherever_a_logging_process_and_those_who_read_are_killed_each_value_is_stored_once_or_counted(
    turn: int, tmp_path: Path
) -> None:
    seed = SEEDS[0] if SEEDS else random.randrange(1 << 32)
    print(f"TRACKER_TEST_SEED={seed}")
    dice = random.Random(seed)
    slow = f"""
real = _media_queue.Item.write
def write(*arguments):
    time.sleep({dice.choice([0, 0.002, 0.02])})
    real(*arguments)
_media_queue.Item.write = write
for step in range(400):
    run.log({{"image": tracker.Image(image(step))}}, step=step)
    print(step, flush=True)
time.sleep(600)
"""
    process = start(LOGS + slow, tmp_path)
    assert process.stdout is not None
    returned = -1
    stop_at = dice.randrange(5, 120)
    while returned < stop_at:
        returned = int(process.stdout.readline())
    time.sleep(dice.random() * 0.05)
    process.kill()
    returned = max([returned, *map(int, process.stdout.read().split())])
    process.wait()
    process.stdout.close()
    for _ in range(3):
        reader = start(READS, tmp_path)
        assert reader.stdout is not None
        assert reader.stdout.readline() == "begins\n"
        time.sleep(dice.random() * 0.4)
        reader.kill()
        reader.wait()
        reader.stdout.close()
    stored = tracker.open_run("media/killed")
    steps = stored_once(stored)
    account = stored.media_account
    assert account["logged"] in (returned + 1, returned + 2), account  # the call that the kill met
    assert account["logged"] == account["stored"] + account["lost"], account
    assert (account["stored"], account["dropped"], account["pending"]) == (len(steps), 0, 0)
    missing = set(range(returned + 1)) - set(steps)
    assert len(missing) <= HELD, f"{sorted(missing)} of {returned + 1} were on the disk, and are gone"
    assert not spooled()


@pytest.mark.parametrize("where", ["before", "behind"])
def test_a_reader_that_dies_around_its_commit_leaves_each_value_once(script: Script, where: str) -> None:
    killed(script, STUCK + "for step in range(9): run.log({'image': tracker.Image(image(step))}, step=step)\n")
    call = {"before": "die()", "behind": "late.commit(); die()"}[where]
    done = script(f"""
import os, signal
import tracker
from tracker import _media_late
def die(): os.kill(os.getpid(), signal.SIGKILL)
def commit(work):
    late = work._late
    {call}
_media_late._Work._commit = commit
tracker.open_run("media/killed")
""")
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(spooled()) == 9 - HELD
    account = tracker.open_run("media/killed").media_account
    assert (account["stored"], account["pending"], account["lost"]) == (9 - HELD, 0, HELD)
    assert stored_once(tracker.open_run("media/killed")) == list(range(HELD, 9))
    assert not spooled()


def test_of_readers_at_once_each_sees_every_value_once(script: Script, tmp_path: Path) -> None:
    killed(script, STUCK + "for step in range(20): run.log({'image': tracker.Image(image(step))}, step=step)\n")
    say = "print(len(tracker.open_run('media/killed').media('image', all=True)))"
    readers = [start(f"import tracker\n{say}\n", tmp_path) for _ in range(4)]
    said = [reader.communicate(timeout=60)[0].strip() for reader in readers]
    assert said == [str(20 - HELD)] * 4
    assert stored_once(tracker.open_run("media/killed")) == list(range(HELD, 20))


def test_what_a_living_process_has_spooled_is_left_to_it(tmp_path: Path) -> None:
    body = STUCK + "for step in range(7): run.log({'image': tracker.Image(image(step))}, step=step)\n"
    process = start(LOGS + body + "run.flush(0.2)\nprint('logged', flush=True)\ntime.sleep(600)\n", tmp_path)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "logged\n"
        account = tracker.open_run("media/killed").media_account
        assert (account["logged"], account["stored"], account["pending"], account["lost"]) == (7, 0, 7 - HELD, HELD)
        assert len(spooled()) == 7 - HELD
    finally:
        process.kill()
        process.communicate()
    assert stored_once(tracker.open_run("media/killed")) == list(range(HELD, 7))


# Bug: thousands of small media waited in memory for a minute, and a kill lost them all.
def test_what_has_waited_in_memory_for_long_is_on_the_disk_when_its_process_is_killed(script: Script) -> None:
    body = """
_media_queue.HELD_BYTES_MAX = 1 << 30
real = _media_queue.Item.write
_media_queue.Item.write = lambda *arguments: (time.sleep(0.05), real(*arguments))
for step in range(100): run.log({'image': tracker.Image(image(step))}, step=step)
time.sleep((_media_queue.HELD_MS_MAX + _media_queue.HELD_LOOK_MS) / 1000 + 1)
run.log({'image': tracker.Image(image(100))}, step=100)
"""
    killed(script, body)
    stored = tracker.open_run("media/killed")
    assert set(range(100)) <= set(stored_once(stored))
    assert stored.media_account["lost"] <= 1


def test_documents_that_are_moved_to_the_disk_are_without_their_secrets(script: Script) -> None:
    body = f"""
_media_queue.HELD_MS_MAX = 0
_media_queue.HELD_LOOK_MS = 0
written = []
def write(*arguments):
    written.append(1)
    time.sleep(1 if len(written) == 1 else 600)
_media_queue.Item.write = write
for step in range(4): run.log({{'page': tracker.Html("{SECRET} " + "x" * (2 << 20))}}, step=step)
folder = _media_queue.Path(run.dir) / "media"
while len(list(folder.glob("spool-*"))) < 3: time.sleep(0.01)
"""
    killed(script, body)
    assert spooled()
    for path in folder_of_run().rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path
    stored = tracker.open_run("media/killed")
    assert stored.media_account["stored"] >= 3
    assert all(entry.load() == "[redacted] " + "x" * (2 << 20) for entry in stored.media("page"))


def test_what_is_said_of_many_values_stands_in_several_frames(script: Script) -> None:
    body = (
        STUCK
        + f"""
_media_queue.HELD_BYTES_MAX = 0
boxes = [{{"box": (0, 0, 1, i), "label": "x" * 256}} for i in range(1000)]
for step in range({MANY}): run.log({{"image": tracker.Image(image(step), boxes=boxes)}}, step=step)
"""
    )
    killed(script, body)

    def frames() -> int:
        (database,) = folder_of_run().glob("*.db")
        with contextlib.closing(sqlite3.connect(database)) as db:
            return int(db.execute("SELECT value FROM meta WHERE key = 'frames'").fetchone()[0])

    _core.Store.open(os.environ["TRACKER_DIR"]).recover("")
    before = frames()
    stored = tracker.open_run("media/killed")
    assert frames() == before + 2
    assert stored_once(stored) == list(range(MANY))
    assert all(len(entry.info["boxes"]["boxes"]) == 1000 for entry in stored.media("image"))
