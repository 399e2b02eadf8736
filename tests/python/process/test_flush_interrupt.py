# SPDX-License-Identifier: MIT
"""Goal: Ctrl-C ends a flush() that waits for the disk, at once, and nothing is lost by it.
Method: another program keeps the run's database locked while a training process flushes and gets a SIGINT; with a
thread of its own that flushes, which signals do not reach, the main thread hears it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import tracker

POINTS = 200

TRAIN = """
import os, signal, sys, threading, time, tracker
run = tracker.init(project="p", id="r", quiet=True)
run.log({"x": 0.0}, step=0)
assert run.flush()
print(run.dir, flush=True)
sys.stdin.readline()  # the database is locked now
for step in range(1, %d):
    run.log({"x": float(step)}, step=step)
sent = []
def send():
    time.sleep(0.5)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=send).start()
heard = []
if sys.argv[1] == "handler":  # one that raises nothing does not end the wait
    signal.signal(signal.SIGINT, lambda *_: heard.append(time.monotonic()))
    assert not run.flush(2.0)
else:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background begins without it
    try:
        run.flush(30.0)
    except KeyboardInterrupt:
        heard.append(time.monotonic())
print(heard[0] - sent[0], flush=True)
sys.stdin.readline()
assert run.flush()
run.finish()
"""


@pytest.mark.parametrize("how", ["default", "handler"])
def test_a_flush_that_waits_for_the_disk_hears_signals_and_loses_nothing(store: Path, how: str) -> None:
    source = Path(tracker.__file__).parent.parent
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(TRAIN) % POINTS, how],
        env={**os.environ, "TRACKER_DIR": str(store), "PYTHONPATH": str(source)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    (database,) = Path(process.stdout.readline().strip()).glob("*.db")
    lock = sqlite3.connect(database, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    process.stdin.write("\n")
    process.stdin.flush()
    waited = float(process.stdout.readline())
    lock.execute("ROLLBACK")
    lock.close()
    process.communicate("\n", timeout=30)
    assert process.returncode == 0
    assert waited < 5.0  # a second to interrupt a flush, times five
    assert tracker.open_run("p/r").history("x").steps.tolist() == list(range(POINTS))
