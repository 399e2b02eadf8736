# SPDX-License-Identifier: MIT
"""Goal: a program that closes descriptors which are not its own loses no file of its own and no point.
Method: a process whose store cannot be made, so that it spills; all descriptors are closed, files opened instead."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

Script = Callable[..., "subprocess.CompletedProcess[str]"]

CLOSED = """
import glob, os, sys, time, tracker

blocked, shm = os.environ["TRACKER_DIR"].rsplit("/", 1)[0] + "/blocked", os.environ["TRACKER_SHM_DIR"]
open(blocked, "w").close()  # no store can be made below a file: what is logged goes to the spill file
run = tracker.init(project="test", id="r", dir=blocked + "/store", quiet=True)
def wait_for(reached):
    for _ in range(4000):
        if reached():
            return
        time.sleep(0.01)
    raise SystemExit("it never came")
def spilled():
    run.log({"x": 1.0})
    return any(os.path.getsize(path) for path in glob.glob(shm + "/*/*/spill"))
wait_for(spilled)
(lock,) = glob.glob(shm + "/*/*/lock")
inode = os.stat(lock).st_ino
os.closerange(3, 100)
own = [os.open(f"own{i}", os.O_RDWR | os.O_CREAT) for i in range(60)]
for fd in own:
    os.write(fd, b"mine")
for step in range(100):
    run.log({"y": 2.0}, step=step)
wait_for(lambda: os.stat(lock).st_ino != inode)  # the journal has files of its own again
for step in range(100):
    run.log({"z": 3.0}, step=step)
logged = run.status().points_logged
os.unlink(blocked)
run.finish(timeout=60)
for i, fd in enumerate(own):
    assert os.pread(fd, 100, 0) == b"mine", i
    assert os.fstat(fd).st_ino == os.stat(f"own{i}").st_ino, i
run = tracker.open_run("test/r", dir=blocked + "/store")
print(run.state, logged - run.losses["stored"] - run.losses["dropped"], len(run.history("z").values))
"""


# Bug: names of metrics were written into a file of the user's that had got the number of a descriptor of ours, and what
# emptied the spill file cut it to nothing.
def test_a_program_that_closes_every_descriptor_keeps_its_own_files(script: Script) -> None:
    result = script(CLOSED)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["finished", "0", "100"], result.stderr
