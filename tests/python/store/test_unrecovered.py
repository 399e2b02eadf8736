# SPDX-License-Identifier: MIT
"""Goal: a reader of a run whose rows wait in a dead process's journal, because the store takes nothing, gets a report.

Method: a writer and a reader whose files may not grow (RLIMIT_FSIZE), which a full disk looks like; the writer is
killed with 1,000 points in its ring."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Script = Callable[..., "subprocess.CompletedProcess[str]"]

WRITER = """
import os, resource, signal, tracker
run = tracker.init(project="p", id="r", system_interval=0, quiet=True)
run.log({"a": 0.0}, step=0)
assert run.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
for step in range(1, 1001):
    run.log({"a": float(step)}, step=step)
os.kill(os.getpid(), signal.SIGKILL)
"""

READER = """
import resource, sys, warnings, tracker
hard = resource.RLIM_INFINITY
resource.setrlimit(resource.RLIMIT_FSIZE, (4096 if sys.argv[1] == "full" else hard, hard))
warnings.simplefilter("always")
run = tracker.open_run("p/r") if sys.argv[2] == "open" else tracker.runs("p")[0]
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    rows = len(run.history("a").values)
    run.history("a"), run.summary, run.chart("a")
print(rows, run.state, len(said), len(run.problems))
for warning in said:
    print(warning.category.__name__, warning.filename, warning.message)
for problem in run.problems:
    print(problem)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
again = tracker.open_run("p/r")
print(len(again.history("a").values), again.problems)
"""


# Promise P5: A reader of a run is warned how many rows of a dead process could not be stored, and why.
@pytest.mark.parametrize("way", ["open", "list"])
def test_rows_that_wait_in_a_journal_are_named_at_the_first_reading_with_the_reason(script: Script, way: str) -> None:
    assert script(WRITER, timeout=100).returncode == -9
    done = script(READER, "full", way, timeout=100)
    head, said, waits, reason, last = done.stdout.splitlines()
    assert head == "1 crashed 1 2", done.stdout + done.stderr
    assert said.startswith("RuntimeWarning ")
    assert "script.py tracker: p/r: not read: 1000 points" in said, "at the line that reads"
    assert said.endswith("File too large")
    assert waits.startswith("not read: 1000 points")
    assert "wait in the journal of" in waits
    assert reason.endswith("File too large")
    assert last == "1001 ()", "nothing is lost by it"


# Only points and texts that could be counted were named: a run with nothing but such rings looked whole.
def test_rings_that_cannot_be_read_are_named_where_nothing_else_waits(script: Script, own_shm: Path) -> None:
    assert script(WRITER, timeout=100).returncode == -9
    for ring in own_shm.rglob("ring-*"):
        ring.unlink()
        ring.mkdir()
    done = script(READER, "full", "open", timeout=100)
    head, said, waits, *_ = done.stdout.splitlines()
    assert head.startswith("1 crashed 1 "), done.stdout + done.stderr
    unknown = "not read: an unknown number of points in 1 ring that cannot be read, in the journal of "
    assert unknown in said
    assert waits.startswith(unknown)


def test_a_run_that_was_recovered_warns_of_nothing(script: Script) -> None:
    assert script(WRITER, timeout=100).returncode == -9
    done = script(READER, "room", "open", timeout=100)
    assert done.stdout == "1001 crashed 0 0\n1001 ()\n", done.stdout + done.stderr


LIVE = """
import os, sys, time, tracker
reader = tracker.open_run("p/r")
print(len(reader.history("a").values), reader.state)
os.kill(int(sys.argv[1]), 9)
while reader.state == "running":
    time.sleep(0.01)
print(len(reader.history("a").values), reader.problems)
"""

ALIVE = """
import os, subprocess, sys, time, tracker
run = tracker.init(project="p", id="r", system_interval=0, quiet=True)
run.log({"a": 0.0}, step=0)
assert run.flush()
reader = subprocess.Popen([sys.executable, "-c", os.environ["READER"], str(os.getpid())])
while True:
    run.log({"a": 1.0})
    time.sleep(0.001)
"""


def test_what_a_run_left_that_died_after_it_was_opened_is_stored_and_read(script: Script) -> None:
    done = script(ALIVE, env={"READER": LIVE}, timeout=100)
    assert done.returncode == -9
    first, second = done.stdout.splitlines()
    assert first.endswith(" running"), done.stdout + done.stderr
    assert second.endswith(" ()"), done.stdout + done.stderr


# Bug: open_run() searched for a folder before anything was recovered, and said that the store has no runs.
@pytest.mark.parametrize("name", ["p/r", "r"])
def test_a_killed_run_whose_folder_was_removed_is_found_by_its_name(script: Script, name: str) -> None:
    killed = script(
        """
import os, shutil, signal, tracker
run = tracker.init(project="p", id="r", system_interval=0, quiet=True)
for step in range(1000):
    run.log({"a": float(step)}, step=step)
shutil.rmtree(run.dir)
os.kill(os.getpid(), signal.SIGKILL)
"""
    )
    assert killed.returncode == -9, killed.stderr
    opened = script("import sys, tracker\nrun = tracker.open_run(sys.argv[1])\nprint(run.state, run.series())", name)
    assert opened.stdout.split()[0] == "crashed", opened.stderr
    missing = script("import tracker\ntracker.open_run('p/another')")
    assert "NotFoundError" in missing.stderr
