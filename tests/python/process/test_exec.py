# SPDX-License-Identifier: MIT
"""Goal: a process that starts its program again by execve (a supervisor's restart, `os.execv` after a configuration
change) has lost nothing: pid and start time stay, so only the lock and the program's own mark show that the
writer before is dead. Method: scripts that log, replace themselves without finish() and resume their run."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]

RESTARTING = """
import os, sys, tracker
life = int(os.environ.get("LIFE", "1"))
run = tracker.init(project="p", id="r", resume="allow", journal=os.environ["JOURNAL"], quiet=True)
first = run.step + 1
for step in range(first, first + 1000):
    run.log({"loss": step / 8}, step=step)
if life < 3:
    os.environ["LIFE"] = str(life + 1)
    if os.environ["JOURNAL"] == "memory":
        run.flush()
    os.execv(sys.executable, [sys.executable, *sys.argv])
states = [rank.state for rank in tracker.open_run("p/r").ranks()]
print(first, states, flush=True)
run.finish()
"""


@pytest.mark.parametrize("journal", ["shm", "disk", "memory"])
def test_a_process_that_replaces_itself_goes_on_in_its_run_and_loses_nothing(script: Script, journal: str) -> None:
    done = script(RESTARTING, env={"JOURNAL": journal})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2000 "), done.stdout + done.stderr
    # Private memory goes with the program that is replaced: that it held nothing cannot be shown.
    missing = "left no journal here: what"
    assert done.stderr.count(missing) == (2 if journal == "memory" else 0), done.stderr
    assert all(missing in line for line in done.stderr.splitlines()), done.stderr
    run = tracker.open_run("p/r")
    assert run.state == "finished"
    assert run.history("loss").steps.tolist() == list(range(3000))
    assert [attempt.attempt for attempt in run.attempts()] == [1, 2, 3]


LOOKING = """
import os, sys, tracker
if "LIFE" not in os.environ:
    run = tracker.init(project="p", id="r", quiet=True)
    for step in range(1000):
        run.log({"loss": step / 8}, step=step)
    os.environ["LIFE"] = "2"
    os.execv(sys.executable, [sys.executable, *sys.argv])
run = tracker.open_run("p/r")
print(run.state, len(run.history("loss")))
"""


def test_what_a_process_logged_before_it_replaced_itself_is_there_for_a_reader_in_it(script: Script) -> None:
    done = script(LOOKING)
    assert done.stdout == "crashed 1000\n", done.stdout + done.stderr
