# SPDX-License-Identifier: MIT
"""Goal: samples of the system are no points of the program in what is said of a recovery or of losses.
Method: many samples beside few points, by way of the spill file of a killed run and in a journal without room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tracker

SPILLED = """
import glob, os, signal, sys, time, tracker
blocked = os.environ["TRACKER_DIR"].rsplit("/", 1)[0] + "/blocked"
open(blocked, "w").close()  # no store can be made below a file: what is logged goes to the spill file
run = tracker.init(project="test", id="r", dir=blocked + "/store", quiet=True)
for step in range(10):
    run.log({"x": float(step)}, step=step)
def spilled():
    return sum(os.path.getsize(path) for path in glob.glob(os.environ["TRACKER_SHM_DIR"] + "/*/*/spill"))
for _ in range(4000):
    if spilled() > 5000:
        break
    time.sleep(0.01)
os.unlink(blocked)
os.kill(os.getpid(), signal.SIGKILL)
"""
FULL = """
import resource, time, tracker
run = tracker.init(project="test", id="r", quiet=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
for step in range(100):
    run.log({"x": float(step)}, step=step)
time.sleep(1)
print(run.status().points_logged)
"""
SAMPLED = {"TRACKER_SYSTEM_INTERVAL": "0.1"}


# Bug: "10 points stored. 238 points recovered".
def test_samples_of_the_system_are_not_counted_as_recovered_points(script: Callable[..., Any], tmp_path: Any) -> None:
    script(SPILLED, env=SAMPLED)
    store = str(tmp_path / "blocked" / "store")
    tracker.init(project="test", id="other", dir=store, quiet=True).finish()  # it is there now
    run = tracker.open_run("test/r", dir=store)
    assert len(run.history("x").values) == 10
    samples = sum(len(run.history(name).values) for name in run.series(system=True))
    assert samples > 0
    assert run.losses.recovered == 10


# Bug: 40,014 points logged and dropped in 40,000 calls.
def test_samples_that_find_no_room_are_no_points_of_the_program(script: Callable[..., Any]) -> None:
    result = script(FULL, env=SAMPLED)
    assert result.stdout.split() == ["100"], result.stderr
