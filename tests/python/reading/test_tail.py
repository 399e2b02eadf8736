# SPDX-License-Identifier: MIT
"""Goal: a live reader gets each row exactly once, through its own restarts and the writer's, kills included.
Method: writers in processes of their own, readers that know nothing but the cursor kept from before."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tracker
from tracker._reading.stored_objects import StoredRun

PACKAGE_ROOT = str(Path(tracker.__file__).parent.parent)
WRITER = """
import sys, time, tracker
run = tracker.init(project="p", id="live", resume="allow", quiet=True, on_full="block")
first, last, end = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
for i in range(first, last):
    run.log({"x": float(i), "y": i}, step=i % 1000)
    if i % 500 == 0: time.sleep(0.02)
if end == "wait":
    print("ready", flush=True); time.sleep(60)
"""


def start_writer(first: int, last: int, end: str) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": PACKAGE_ROOT}
    arguments = [sys.executable, "-c", WRITER, str(first), str(last), end]
    return subprocess.Popen(arguments, env=env, stdout=subprocess.PIPE, text=True)


def open_live(attempts: int = 1) -> StoredRun:
    """The run once its writer has logged something."""
    deadline = time.monotonic() + 30
    while True:
        try:
            r = tracker.open_run("p/live")
            if "x" in r.series() and len(r.writers) == attempts:
                return r
        except tracker.NotFoundError:
            pass
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_rows_of_a_live_writer_come_once_through_restarts_of_reader_and_writer() -> None:
    seen: list[float] = []
    cursor = None
    with start_writer(0, 20_000, "wait") as writer:
        open_live()
        while len(seen) < 20_000:
            tail = tracker.open_run("p/live").tail("x", cursor=cursor, limit=300)  # a new reader each time
            for rows in (tail.read(), tail.read()):
                seen += rows["x"].values.tolist() if rows else []
            cursor = tail.cursor
        writer.kill()
        writer.wait()
    with start_writer(20_000, 25_000, "end"):
        for rows in open_live(attempts=2).tail("x", cursor=cursor):
            seen += rows["x"].values.tolist()
    assert seen == [float(i) for i in range(25_000)]


def test_the_rows_a_killed_writer_left_in_its_ring_end_the_tail() -> None:
    seen: list[int] = []
    with start_writer(0, 3000, "wait") as writer:
        assert writer.stdout is not None
        tail = open_live().tail(["y"])
        assert writer.stdout.readline() == "ready\n"
        writer.kill()
        writer.wait()
        for rows in tail:
            seen += rows["y"].values.tolist()
    assert seen == list(range(3000))


def test_now_means_what_comes_after_the_call(run: tracker.Run) -> None:
    run.log({"x": 1.0}, step=0)
    r = tracker.open_run(run.uid)
    tail = r.tail(cursor="now")
    assert tail.read() == {}
    run.log({"x": 2.0, "new": 3}, step=0)
    rows = tail.read()
    assert rows["x"].values.tolist() == [2.0]
    assert rows["new"].values.tolist() == [3]
    assert tail.read() == {}


def test_a_batch_has_every_name_that_was_asked_for(run: tracker.Run) -> None:
    run.log({"x": 1}, step=0)
    tail = tracker.open_run(run.uid).tail(["x", "later"])
    for x, later in (([1], []), ([], []), ([], [0.5])):
        rows = tail.read()
        assert (rows["x"].values.tolist(), rows["later"].values.tolist()) == (x, later)
        assert [len(rows[name].times) + len(rows[name].ranks) for name in ("x", "later")] == [
            2 * len(x),
            2 * len(later),
        ]
        if not later and not x:
            run.log({"later": 0.5}, step=1)
    assert rows["x"].to_pandas().empty
    run.finish()
    assert list(tail) == []


@pytest.mark.parametrize(("timeout", "error"), [(float("nan"), ValueError), (-1, ValueError), ("3", TypeError)])
def test_a_timeout_that_would_never_come_is_refused(run: tracker.Run, timeout: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="timeout must be"):
        tracker.open_run(run.uid).tail(timeout=timeout)


def test_a_tail_ends_with_the_run_or_after_its_timeout(run: tracker.Run) -> None:
    run.log({"x": 1.0}, step=0)
    r = tracker.open_run(run.uid)
    assert [rows["x"].values.tolist() for rows in r.tail(timeout=0.3)] == [[1.0]]
    run.finish()
    assert len(list(r.tail())) == 1


def test_batches_are_bounded(patient_run: tracker.Run) -> None:
    for step in range(100_000):
        patient_run.log({"x": 1.0}, step=step)
    patient_run.finish()
    sizes = [len(rows["x"]) for rows in tracker.open_run(patient_run.uid).tail(limit=1000)]
    assert sum(sizes) == 100_000
    assert len(sizes) > 1


def test_a_cursor_of_something_else_is_refused(run: tracker.Run) -> None:
    run.log({"x": 1.0}, step=0)
    r = tracker.open_run(run.uid)
    cursor = r.tail("x").cursor
    assert cursor.isprintable()
    with pytest.raises(ValueError, match="other series"):
        r.tail("y", cursor=cursor)
    with pytest.raises(ValueError, match="not a cursor"):
        r.tail("x", cursor=cursor[:-1] + "!")
    with pytest.raises(TypeError, match="cursor must be a str, one that a tail has had, got int"):
        r.tail("x", cursor=5)  # type: ignore[arg-type]
    with tracker.init(project="test", quiet=True) as other:
        other.log({"x": 1.0}, step=0)
        another = tracker.open_run(other.uid)
        with pytest.raises(ValueError, match="another run"):
            another.tail("x", cursor=cursor)
    with pytest.raises(ValueError, match="limit"):
        r.tail("x", limit=0)
    with pytest.raises(TypeError, match="tail"):
        r.tail([1])  # type: ignore[list-item]
