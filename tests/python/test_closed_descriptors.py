# SPDX-License-Identifier: MIT
"""Goal: a program that closes descriptors which are not its own loses no file of its own and no point.
Method: a process whose store cannot be made, so that it spills, and processes with an open one; descriptors are closed,
one by one or all of them, and files opened under their numbers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

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


BEGIN = """
import os, time, tracker

places = (os.environ["TRACKER_DIR"], os.environ["TRACKER_SHM_DIR"])
def ours():
    out = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink("/proc/self/fd/" + name).startswith(places):
                out.append(int(name))
        except OSError:
            pass  # the folder's own
    return sorted(out)
run = tracker.init(project="test", id="r", quiet=True)
steps = 0
def log(name, count):
    global steps
    for _ in range(count):
        run.log({name: float(steps)}, step=steps)
        steps += 1
log("x", 50)
assert run.flush(20)
"""
END = """
run.finish()
status = run.status()
assert (status.points_dropped, status.points_stored) == (0, steps), status
for fd, path in own.items():
    assert os.pread(fd, 100, 0) == b"mine" and os.fstat(fd).st_size == 4, path
    assert os.fstat(fd).st_ino == os.stat(path).st_ino, path
stored = tracker.open_run("test/r")
values = sorted(value for name in stored.series() for value in stored.history(name, all=True).values.tolist())
assert values == [float(step) for step in range(steps)]
print(stored.state, stored.losses["dropped"])
"""
ONE_BY_ONE = (
    BEGIN
    + """
own = {}
def kind_of(fd):
    return os.readlink(f"/proc/self/fd/{fd}").split("/")[-1].split(".")[-1]
all_kinds = [kind_of(fd) for fd in ours()]
kinds = [(kind, all_kinds[:i].count(kind)) for i, kind in enumerate(all_kinds)]
for round in range(2):
    for kind, nth in kinds:
        while len(same := [fd for fd in ours() if kind_of(fd) == kind]) <= nth:
            time.sleep(0.01)  # those of the journal are opened anew within a second
        path = f"own{len(own)}"
        made = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        own[os.dup2(made, same[nth])] = path  # closes one and takes its number, at once
        os.close(made)
        os.write(same[nth], b"mine")
        log("x", 20)
        log(f"new{len(own)}", 20)
        assert run.flush(20), run.status().last_error
"""
    + END
)
ALL = (
    BEGIN
    + """
os.closerange(3, 256)  # as helpers do that make a daemon
own = {os.open(f"own{i}", os.O_RDWR | os.O_CREAT): f"own{i}" for i in range(60)}
for fd in own:
    os.write(fd, b"mine")
for i in range(20):
    log("x", 100)
    log(f"new{i}", 10)
    assert run.flush(20), run.status().last_error
"""
    + END
)


# Bug: one close too many, and the live database was never written again: the journal filled up and all that came was
# dropped. Where only SQLite's own descriptor was closed, pages were written into the program's file.
@pytest.mark.parametrize("files", ["sqlite", "frames"])
@pytest.mark.parametrize("closed", ["one by one", "all"])
def test_a_program_that_closes_descriptors_of_an_open_store_loses_no_point_and_no_file(
    script: Script, closed: str, files: str
) -> None:
    result = script(ONE_BY_ONE if closed == "one by one" else ALL, env={"TRACKER_STORE_FILES": files})
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["finished", "0"], result.stderr
    assert "no more metrics" not in result.stderr


def test_what_is_said_of_a_closed_descriptor_names_it(script: Script) -> None:
    closes = (
        BEGIN
        + """
own = {}
for fd in [fd for fd in ours() if os.readlink(f"/proc/self/fd/{fd}").endswith("-wal")]:
    os.close(fd)
log("x", 20)
assert run.flush(20)
"""
        + END
    )
    result = script(closes.replace("quiet=True", "quiet=False"))
    assert result.returncode == 0, result.stderr
    assert "its descriptor was closed by other code of this process" in result.stderr
    assert "removed" not in result.stderr
