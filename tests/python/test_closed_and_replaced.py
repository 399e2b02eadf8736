# SPDX-License-Identifier: MIT
"""Goal: where a live run has lost its descriptors and the name of its file as well, nothing is left to copy from: it
goes on in a fresh file, what went is counted to the point, and what stands there is kept (decision 0034).
Method: all descriptors above 2 are closed and the file is removed or replaced, at once, while the run logs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]

BEFORE, BEHIND = 100, 50
SOURCE = f"""
import glob, os, shutil, signal, sys, time, tracker
how, end = sys.argv[1:]
run = tracker.init(project="test", id="r", config={{"lr": 0.1}})
def log(first, last):
    for step in range(first, last):
        run.log({{"x": float(step)}}, step=step)
    ok = run.flush(20)
    assert ok, run.status().last_error
log(0, {BEFORE} // 2)
(path,) = glob.glob(run.dir + "/*.db") + glob.glob(run.dir + "/*.frames")
copy = path + "~"
shutil.copy2(path, copy)
log({BEFORE} // 2, {BEFORE})
os.closerange(3, 256)
if how == "removed":
    for each in glob.glob(path + "*"):
        if each != copy:
            os.unlink(each)
elif how == "another's":
    with open(copy, "w") as file:
        file.write("notes of a user")
if how != "removed":
    os.rename(copy, path)
log({BEFORE}, {BEFORE} + {BEHIND})
own = os.open("own", os.O_RDWR | os.O_CREAT)
status = run.status()
print(status.points_logged, status.points_stored, status.points_dropped, status.points_pending, flush=True)
if end == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
run.finish()
assert os.fstat(own).st_size == 0
"""


@pytest.mark.parametrize("end", ["finished", "killed"])
@pytest.mark.parametrize("files", ["sqlite", "frames"])
@pytest.mark.parametrize("how", ["removed", "a copy", "another's"])
def test_without_descriptors_and_name_the_run_begins_a_file_and_counts_what_went(
    script: Script, store: Path, how: str, files: str, end: str
) -> None:
    done = script(SOURCE, how, end, env={"TRACKER_STORE_FILES": files})
    assert done.returncode == (0 if end == "finished" else -9), done.stderr
    assert [int(count) for count in done.stdout.split()] == [BEFORE + BEHIND, BEHIND, BEFORE, 0]
    assert "the run goes on in new ones" in done.stderr
    r = tracker.open_run("test/r")
    assert r.state == ("finished" if end == "finished" else "crashed")
    assert r.config["lr"] == 0.1, "what was said of the run is said again"
    assert r.history("x").steps.tolist() == list(range(BEFORE, BEFORE + BEHIND))
    losses = r.losses
    assert (losses["logged"], losses["stored"], losses["dropped"]) == (BEFORE + BEHIND, BEHIND, BEFORE)
    assert r.problems == ()
    kept = list(Path(r.dir).glob("*.replaced-*"))
    assert len(kept) == (0 if how == "removed" else 1)
    if how == "another's":
        assert kept[0].read_text() == "notes of a user"
