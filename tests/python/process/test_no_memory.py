# SPDX-License-Identifier: MIT
"""Goal: a training that has taken all the memory that its limit gives goes on, and what it logged is counted. Method: a
limit on the heap that is below what the process has, set while the run is live; and one set before its threads have
run for the first time."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

Script = Callable[..., "subprocess.CompletedProcess[str]"]

TRAINING = """
import resource, sys, time, tracker
run = tracker.init(project="p", id="r", quiet=True)
time.sleep(float(sys.argv[1]))
free = resource.getrlimit(resource.RLIMIT_DATA)
resource.setrlimit(resource.RLIMIT_DATA, (1_000_000, free[1]))
for step in range(20_000):
    run.log({"loss": step * 1.1, f"metric{step // 1000}": 1}, step=step)
resource.setrlimit(resource.RLIMIT_DATA, free)
run.flush(30)
run.finish()
status = run.status()
print(status.points_logged, status.points_stored + status.points_dropped)
"""


# The bug: libstdc++ allocated what a throw needs at the first throw of each thread, and glibc ends the process with
# exit code 127 where there is no memory for that.
@pytest.mark.parametrize("begun_s", ["0", "0.3"])
def test_a_training_without_memory_goes_on_and_every_point_is_stored_or_counted(script: Script, begun_s: str) -> None:
    done = script(TRAINING, begun_s)
    assert (done.returncode, done.stdout) == (0, "40000 40000\n"), done.stderr
