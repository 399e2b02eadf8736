# SPDX-License-Identifier: MIT
"""Goal: a store never takes more than max_disk, nothing is deleted for it, and what found no room is counted (F29).

Method: runs that log noise, which no codec makes small, into a bound of 32 MiB, one process and two at once, while
another thread measures what the store takes; then room is made, and the run goes on.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracker
from tracker._media import encode_queue

Script = Callable[..., "subprocess.CompletedProcess[str]"]
PACKAGE_ROOT = str(Path(tracker.__file__).parent.parent)

BOUND = 32 * 1024 * 1024
NOISE = """
import random, sys, time, tracker

run = tracker.init(project="test", id=sys.argv[1], quiet=True, on_full="block")
rng = random.Random(7)
noise = [{f"m{k}": rng.random() for k in range(20)} for _ in range(2000)]
logged = 0
def full():  # for good: what waits is stored, and no room is left for points
    for _ in range(30):
        if not run.status().disk_full:
            return False
        time.sleep(0.1)
    return True
def refused():  # of 2,000 points all; not where compaction or the end of another run has just made room
    global logged
    before = run.status().points_dropped
    for row in noise[:100]:
        run.log(row)
    logged += 2000
    return run.status().points_dropped - before == 2000
while not (full() and refused()) and logged < 20_000_000:
    for row in noise:
        run.log(row)
    logged += len(noise) * 20
run.config["last"] = "word"
status = run.status()
assert status.points_logged == logged, (status, logged)
assert logged < 20_000_000 or sys.argv[2:] == ["shared"], status
run.finish()
status = run.status()
print(status.points_stored, status.points_dropped, logged)
"""


def disk_bytes(store: Path) -> int:
    total = 0
    for folder, _, names in os.walk(store):
        for name in [*names, "."]:
            try:
                total += Path(folder, name).lstat().st_blocks * 512
            except FileNotFoundError:
                pass
    return total


@contextmanager
def watched(store: Path) -> Iterator[list[int]]:
    """The most that the store took, measured all the time."""
    most, stop = [0], threading.Event()

    def watch() -> None:
        while not stop.is_set():
            most[0] = max(most[0], disk_bytes(store))
            stop.wait(0.005)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:  # else a test that fails would never end
        stop.set()
        thread.join()
    most[0] = max(most[0], disk_bytes(store))


def start(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    path = tmp_path / "noise.py"
    path.write_text(NOISE)
    environment = {**os.environ, "PYTHONPATH": PACKAGE_ROOT, "TRACKER_MAX_DISK": "32MiB"}
    command = [sys.executable, str(path), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def ended(process: subprocess.Popen[str]) -> tuple[int, int, int, str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    stored, dropped, logged = (int(word) for word in out.split())
    return stored, dropped, logged, err


# Reaches the limits kDiskEndReserve, kDiskReserve.
def test_a_run_stops_taking_points_at_the_bound_and_counts_them(store: Path, tmp_path: Path) -> None:
    with watched(store) as most:
        stored, dropped, logged, err = ended(start(tmp_path, "one"))
    assert most[0] <= BOUND
    assert most[0] > BOUND // 4, "the bound is used"
    assert stored + dropped == logged
    assert err.count("max_disk") == 1
    r = tracker.open_run("test/one")
    assert r.state == "finished"
    assert r.config["last"] == "word", "settings still have room"
    assert r.losses.stored == stored
    assert r.losses.by_reason == {"max_disk reached": dropped}


# Regression: room for points was measured with rings at their full size and a WAL that never shrinks, so a burst that
# reached the bound ended the recording for good, in a store of 4 MiB.
def test_after_a_burst_points_come_back_as_soon_as_the_store_has_room(store: Path) -> None:
    run = tracker.init(project="test", id="burst", quiet=True, max_disk=BOUND, on_full="block")
    rng = random.Random(7)
    noise = [{f"m{k}": rng.random() for k in range(5)} for _ in range(1000)]
    with watched(store) as most:
        deadline = time.monotonic() + 60
        while not run.status().disk_full and time.monotonic() < deadline:
            for row in noise:
                run.log(row)
        assert run.status().disk_full
        deadline = time.monotonic() + 20
        while run.status().disk_full and time.monotonic() < deadline:
            time.sleep(0.05)
        # While frames become segments the store may reach the bound once more for a moment.
        for begin in range(0, 40 * 20, 40):
            before = run.status().points_dropped
            for step in range(begin, begin + 40):
                run.log({"slow": float(step)}, step=step)
                time.sleep(0.02)
            if run.status().points_dropped == before:
                break
        else:
            pytest.fail("points were dropped for sixteen seconds after the burst")
        run.finish()
    assert most[0] <= BOUND
    stored = tracker.open_run("test/burst").history("slow").values.tolist()
    assert stored[-40:] == [float(step) for step in range(begin, begin + 40)]


def test_texts_at_full_speed_stay_below_the_bound_too(store: Path) -> None:
    run = tracker.init(project="test", id="texts", quiet=True, max_disk=BOUND, on_full="block")
    rng = random.Random(7)
    texts = [rng.randbytes(20_000).hex() for _ in range(50)]
    with watched(store) as most:
        for number in range(4000):
            run.log({"note": texts[number % 50][number % 97 :]}, step=number)
        assert run.status().texts_dropped > 0
        run.finish()
    assert most[0] <= BOUND


def test_two_processes_at_once_stay_below_the_bound_together(store: Path, tmp_path: Path) -> None:
    with watched(store) as most:
        processes = [start(tmp_path, name, "shared") for name in ("left", "right")]
        counts = [ended(process) for process in processes]
    assert most[0] <= BOUND
    for name, (stored, dropped, logged, _) in zip(("left", "right"), counts, strict=True):
        assert stored + dropped == logged
        assert tracker.open_run(f"test/{name}").losses.stored == stored


def test_a_store_that_is_full_already_takes_no_points_and_gives_none_away(store: Path, tmp_path: Path) -> None:
    ended(start(tmp_path, "first"))
    (store / "ballast").write_bytes(b"x" * (BOUND - disk_bytes(store)))
    run = tracker.init(project="test", id="late", quiet=True, max_disk=BOUND)
    deadline = time.monotonic() + 10
    while not run.status().disk_full and time.monotonic() < deadline:
        time.sleep(0.01)
    for step in range(100):
        run.log({"loss": 1.0, "note": "text"}, step=step)
    status = run.status()
    assert (status.points_dropped, status.texts_dropped, status.max_disk) == (100, 100, BOUND)
    assert "max_disk" in str(status)
    assert {found.id for found in tracker.runs(project="test")} == {"first", "late"}

    (store / "ballast").unlink()  # room again
    deadline = time.monotonic() + 20
    while run.status().disk_full and time.monotonic() < deadline:
        time.sleep(0.05)
    run.log({"loss": 2.0}, step=100)
    run.finish()
    late = tracker.open_run("test/late")
    assert late.state == "finished"
    # Where the first run left too little for points to come back, the point is counted.
    assert late.losses.stored + late.losses.dropped == 101
    assert late.losses.texts.dropped == 100


def test_a_strict_run_raises_where_the_store_is_full(store: Path) -> None:
    store.mkdir()
    (store / "ballast").write_bytes(b"x" * BOUND)
    run = tracker.init(project="test", quiet=True, max_disk=BOUND, strict=True)
    deadline = time.monotonic() + 10
    while not run.status().disk_full and time.monotonic() < deadline:
        time.sleep(0.01)
    with pytest.raises(tracker.LimitError, match="max_disk"):
        run.log({"loss": 1.0}, step=0)


def test_media_and_artifacts_are_taken_again_when_there_is_room(store: Path, tmp_path: Path) -> None:
    source = tmp_path / "weights.bin"
    source.write_bytes(random.Random(7).randbytes(1 << 20))
    run = tracker.init(project="test", quiet=True, max_disk=BOUND)
    noise = [tracker.Image(np.random.default_rng(step).integers(0, 256, (400, 400, 3), np.uint8)) for step in range(3)]
    run.log({"noise": noise[0]}, step=0)
    encode_queue.wait(run._core, 60)
    (store / "ballast").write_bytes(b"x" * (BOUND - disk_bytes(store)))
    weights = tracker.Artifact("weights", type="model")
    weights.add_file(source)
    run.log_artifact(weights)
    with pytest.raises(tracker.LimitError, match="max_disk"):
        weights.wait()
    deadline = time.monotonic() + 20
    while not run.status().disk_full and time.monotonic() < deadline:  # what others write is seen at the next look
        time.sleep(0.01)
    run.log({"noise": noise[1]}, step=1)
    encode_queue.wait(run._core, 60)
    status = run.status()
    assert (status.artifacts_failed, status.media_dropped) == (1, 1)

    (store / "ballast").unlink()
    deadline = time.monotonic() + 20
    while run.status().disk_full and time.monotonic() < deadline:
        time.sleep(0.05)
    run.log_artifact(weights).wait()  # the same one
    run.log({"noise": noise[2]}, step=2)
    run.finish()
    assert tracker.artifact("test/weights").size == 1 << 20
    assert [entry.step for entry in tracker.open_run(run.uid).media("noise")] == [0, 2]


def test_without_a_bound_nothing_is_measured(run: tracker.Run) -> None:
    run.log({"loss": 1.0}, step=0)
    assert run.status().max_disk is None
    assert run.status().disk_full is False


# Bug: the files of an artifact were written into the store past the bound, and points were dropped for them.
def test_a_download_that_finds_no_room_in_the_store_is_refused_and_the_points_go_on(
    store: Path, tmp_path: Path
) -> None:
    source = tmp_path / "weights.bin"
    source.write_bytes(random.Random(7).randbytes(15 << 20))
    run = tracker.init(project="test", id="reader", quiet=True, max_disk=BOUND)
    made = run.log_artifact(source, name="weights", type="model")
    made.wait()
    for used in (run.use_artifact("weights"), made):
        with pytest.raises(tracker.LimitError, match=r'max_disk .* has room for .*download\("'):
            used.download()
        with pytest.raises(tracker.LimitError, match="max_disk"):
            used.get_path("weights.bin")
    assert not (store / "downloads").exists()
    folder = Path(run.use_artifact("weights").download(tmp_path / "mine"))
    assert (folder / "weights.bin").read_bytes() == source.read_bytes()
    run.log({"loss": 1.0}, step=0)
    run.finish()
    assert tracker.open_run("test/reader").losses.dropped == 0
    assert tracker.artifact("test/weights").download(), "who records nothing has no bound"


def test_what_was_downloaded_before_needs_no_room_again(store: Path, tmp_path: Path) -> None:
    source = tmp_path / "data.bin"
    source.write_bytes(random.Random(7).randbytes(1 << 20))
    run = tracker.init(project="test", quiet=True, max_disk=BOUND)
    run.log_artifact(source, name="data", type="dataset").wait()
    first = run.use_artifact("data").download()
    (store / "ballast").write_bytes(b"x" * (BOUND - disk_bytes(store)))
    assert run.use_artifact("data").download() == first
    (store / "ballast").unlink()
    run.finish()


@pytest.mark.parametrize(
    ("value", "bytes_"),
    [(33554432, 33554432), ("32MiB", 33554432), ("1.5 GB", 1_500_000_000), ("2t", 2 * 10**12), ("1GIB", 2**30)],
)
def test_max_disk_is_bytes_or_a_text(value: Any, bytes_: int) -> None:
    run = tracker.init(project="test", quiet=True, max_disk=value)
    assert run.status().max_disk == bytes_


# Reaches the limit kMaxDiskMin.
@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ("10 apples", ValueError, 'max_disk="10 apples": expected a number of bytes, such as 10GB'),
        ("-1", ValueError, "expected a number of bytes"),
        ("nan", ValueError, "expected a number of bytes"),
        ("", ValueError, "max_disk must not be empty"),
        ("1MB", ValueError, 'max_disk="1MB": expected at least 32 MiB'),
        (BOUND - 1, ValueError, "expected at least 32 MiB"),
        ("99999999TB", ValueError, "expected a number of bytes"),
        (1.5, TypeError, 'max_disk must be an int of bytes or a str such as "10GB", got float'),
        (True, TypeError, "got bool"),
    ],
)
def test_a_bad_max_disk_says_what_was_expected(value: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as raised:
        tracker.init(project="test", quiet=True, max_disk=value)
    assert text in str(raised.value)


def test_a_bad_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_MAX_DISK", "lots")
    with pytest.raises(ValueError, match='TRACKER_MAX_DISK="lots"'):
        tracker.init(project="test", quiet=True)
    assert tracker.init(project="test", quiet=True, max_disk="1GB").status().max_disk == 10**9  # an argument beats it


# --- tracker gc --max-disk -------------------------------------------------------------------------------------------


def gc(script: Script, *arguments: str) -> subprocess.CompletedProcess[str]:
    return script("import sys, tracker.__main__; sys.exit(tracker.__main__.main())", "gc", *arguments)


def make_runs(count: int) -> None:
    for number in range(count):
        with tracker.init(project="test", id=f"r{number}", quiet=True) as run:
            for step in range(200):
                run.log({"loss": number + step * 0.1}, step=step)
        time.sleep(0.01)  # they are distinguished by the time they were made


def ids() -> set[str]:
    return {found.id for found in tracker.runs(project="test")}


def test_gc_removes_no_run_that_is_on_no_server_unasked(store: Path, script: Script) -> None:
    make_runs(3)
    done = gc(script, "--max-disk", "1kB")
    assert done.returncode == 1
    assert "3 runs" in done.stdout
    assert "--unsynced" in done.stdout
    assert ids() == {"r0", "r1", "r2"}


def test_gc_removes_the_oldest_runs_when_it_is_said_and_never_a_live_one(store: Path, script: Script) -> None:
    live = tracker.init(project="test", id="live", quiet=True)
    live.log({"loss": 1.0}, step=0)
    assert live.flush()
    make_runs(4)
    of_one = disk_bytes(store / "runs" / "test" / "r3")
    keep = str(disk_bytes(store) - of_one - of_one // 2)
    planned = gc(script, "--max-disk", keep, "--unsynced", "--dry-run")
    assert "would remove run  test/r0" in planned.stdout
    assert ids() == {"live", "r0", "r1", "r2", "r3"}
    done = gc(script, "--max-disk", keep, "--unsynced")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ids() == {"live", "r2", "r3"}
    gc(script, "--max-disk", "1", "--unsynced")
    assert ids() == {"live"}
    live.log({"loss": 1.0}, step=1)
    live.finish()
    assert tracker.open_run("test/live").points == 2


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--max-disk", "much"], '--max-disk="much": expected a number of bytes'),
        (["--unsynced"], "give both"),
        (["--max-disk", "0"], "tracker rm removes all runs"),
    ],
)
def test_gc_says_what_was_expected(store: Path, script: Script, arguments: list[str], text: str) -> None:
    make_runs(1)
    done = gc(script, *arguments)
    assert done.returncode == 2
    assert text in done.stderr
