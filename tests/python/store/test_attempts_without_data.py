# SPDX-License-Identifier: MIT
"""Goal: an attempt that was killed before its first commit, and whose journal went with it, is neither passed over nor
called complete.

Method: processes killed right after their log calls, with a journal in private memory, one in shared memory that is
removed, one whose definitions are damaged; what ls, show, readers and the next attempt say.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import pytest
import tracker
from commands import command, only_journal, run_script

POINTS = 500
TRIES_MAX = 10  # a loaded machine may commit before the kill
LOGS = f"""
import os, sys, tracker
run = tracker.init(project="p", id=sys.argv[1], quiet=True, resume="allow", journal=sys.argv[2])
for step in range({POINTS}): run.log({{"x": step}})
if sys.argv[3] == "kill": os.kill(os.getpid(), 9)
run.finish()
"""


def databases(store: Path, run: str) -> int:
    return len(list(store.glob(f"runs/p/{run}/*.db")))


def silent_run(store: Path, journal: str, begin: str) -> str:
    """A run whose last attempt was killed before it had stored anything; `begin`: "finish" after one that ended."""
    for number in range(TRIES_MAX):
        run = f"r{number}"
        if begin == "finish":
            assert run_script(LOGS, run, "auto", "finish").returncode == 0
        before = databases(store, run)
        assert run_script(LOGS, run, journal, "kill").returncode == -9
        if databases(store, run) == before:
            return run
        command("ls")  # no journal is left for the next try
    raise AssertionError("each was committed before the kill")


@pytest.mark.parametrize("journal", ["memory", "removed", "damaged"])
@pytest.mark.parametrize("begin", ["kill", "finish"])
def test_an_attempt_that_left_nothing_is_missed(own_shm: Path, store: Path, begin: str, journal: str) -> None:
    run = silent_run(store, "memory" if journal == "memory" else "auto", begin)
    if journal == "removed":
        shutil.rmtree(only_journal(own_shm))
    elif journal == "damaged":
        (only_journal(own_shm) / "defs").write_bytes(b"rubbish rubbish")
    shown = command("show", f"p/{run}")
    assert shown.returncode == (3 if journal == "damaged" else 0), shown.stderr
    assert "Nothing lost" not in shown.stdout
    assert "What a process logged after the last commit is not known" in shown.stdout
    assert "crashed" in shown.stdout
    assert "its process ended before anything was stored" in shown.stdout
    with pytest.warns(RuntimeWarning) if journal == "damaged" else contextlib.nullcontext():
        read = tracker.open_run(f"p/{run}")
        assert read.points == (POINTS if begin == "finish" else 0)
    assert read.state == "crashed"
    assert read.losses.missing_journals == 1
    (listed,) = [row for row in json.loads(command("ls", "--json").stdout)["runs"] if row["id"] == run]
    assert listed["state"] == "crashed"


def test_the_next_attempt_says_that_the_one_before_left_nothing(store: Path) -> None:
    run = silent_run(store, "memory", "finish")
    done = run_script(LOGS.replace("quiet=True, ", ""), run, "auto", "finish")
    assert done.returncode == 0
    assert "a process of attempt 2 left no journal here" in done.stderr
    read = tracker.open_run(f"p/{run}")
    assert read.state == "finished"
    assert read.losses.missing_journals == 1
    assert "Nothing lost" not in command("show", f"p/{run}").stdout


def test_an_attempt_that_has_just_begun_makes_the_run_go_on(store: Path) -> None:
    with tracker.init(project="p", id="r", quiet=True) as run:
        run.log({"x": 1.0})
    claim = store / "runs/p/r/attempt-2.json"
    first = json.loads((store / "runs/p/r/run.json").read_text())
    claim.write_text(json.dumps({"format": "tracker-attempt", "version": 1, "attempt": 2, "made_by": first["made_by"]}))
    read = tracker.open_run("p/r")  # this process began both, and lives
    assert read.state == "running"
    assert read.losses.missing_journals == 0
    assert json.loads(command("show", "p/r", "--json").stdout)["state"] == "running"
    claim.write_text("rubbish")  # its owner is unknown: for a minute it may still come
    assert tracker.open_run("p/r").state == "running"


def test_a_run_that_a_restart_begins_has_no_attempt_in_front_of_it(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    surroundings = {"RUN_ID": "job", "RESTART_COUNT": "2"}
    for name, value in surroundings.items():
        monkeypatch.setenv(f"TORCHELASTIC_{name}", value)
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    done = run_script("import tracker\nrun = tracker.init(project='p')\nrun.log({'x': 1.0})\nrun.finish()")
    assert done.returncode == 0, done.stderr
    (listed,) = json.loads(command("ls", "--json").stdout)["runs"]
    assert listed["state"] == "finished"
    assert "Nothing lost: 1 point stored" in command("show", f"p/{listed['id']}").stdout
