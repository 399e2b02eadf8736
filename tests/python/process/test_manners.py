# SPDX-License-Identifier: MIT
"""Goal: a run leaves its process as it was: no signal handler, no helper process, no socket or file of its own outside
the store and the ring, no lock lost by reading. Method: /proc before and after, system calls' traces."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import conditions
from conditions import needs

Script = Callable[..., "subprocess.CompletedProcess[str]"]

# A whole life, with everything that reads.
USE = """
import os, sys
import numpy, tracker  # the threads of NumPy are none of ours
run = tracker.init(project="p", id="r", config={"lr": 0.1}, tags=["t"], system_interval=15)
for step in range(100):
    run.log({"x": step / 2, "note": "text"}, step=step)
run.metric("y").log(1.0, 5)
run.summary["best"] = 1
assert run.flush()
stored = tracker.open_run("p/r")
assert len(stored.history("x")) == 100 and stored.state == "running"
assert [each.id for each in tracker.runs(where="config.lr > 0")] == ["r"]
stored.chart("x", pixels=10)
stored.texts("note")
"""


def test_no_signal_is_handled_or_blocked_by_us(script: Script) -> None:
    done = script(
        f"""
import numpy
def signals():  # but for 32 and 33, which the C library takes for itself with the first thread
    wanted = ("SigBlk", "SigIgn", "SigCgt")
    lines = [line.split() for line in open("/proc/self/status") if line.startswith(wanted)]
    return [int(mask, 16) & ~(3 << 31) for _, mask in lines]
before = signals()
{USE}
during = signals()
run.finish()
print(before == during == signals())
"""
    )
    assert done.stdout == "True\n", done.stderr


def test_signals_of_the_program_are_for_no_thread_of_ours(script: Script) -> None:
    done = script(
        """
import numpy, os, re, signal, threading
def open_to_signals():
    texts = [open(f"/proc/self/task/{task}/status").read() for task in os.listdir("/proc/self/task")]
    return sum(not int(re.search("SigBlk:\\t(.*)", text)[1], 16) >> (signal.SIGUSR1 - 1) & 1 for text in texts)
before = open_to_signals()
import tracker
run = tracker.init(project="p", console="fd", quiet=True)
run.log({"x": 1.0, "image": tracker.Image(numpy.zeros((4, 4)))}, step=0)
run.flush(60)
names = {thread.name for thread in threading.enumerate()}
after = open_to_signals()
run.finish()
print(names >= {"tracker-media", "tracker-console"}, after - before)
"""
    )
    assert done.stdout == "True 0\n", done.stderr


# Promise P9: No helper process unless `console="fd"` asks for one, but a short trial where there is a GPU driver; no
# signal handler.
def test_there_is_no_helper_process_and_three_threads_that_end_with_the_run(script: Script) -> None:
    done = script(
        f"""
import numpy, os, time
def said(task, file):
    try:
        return open(f"/proc/self/task/{{task}}/{{file}}").read().strip()
    except (FileNotFoundError, ProcessLookupError):  # it has ended since the folder was listed
        return ""
def tasks():
    return sorted(filter(None, (said(task, "comm") for task in os.listdir("/proc/self/task"))))
def children():
    return "".join(said(task, "children") for task in os.listdir("/proc/self/task"))
before = tasks()
{USE}
deadline = time.monotonic() + 60
while "trk-environ" in tasks() and time.monotonic() < deadline:  # it looks once
    time.sleep(0.01)
during = tasks()
for name in before:
    during.remove(name)
print(during, children() == "")
run.finish()
deadline = time.monotonic() + 10
while tasks() != before and time.monotonic() < deadline:
    time.sleep(0.01)
print(tasks() == before, children() == "")
"""
    )
    assert done.stdout == "['trk-drain', 'trk-monitor', 'trk-store'] True\nTrue True\n", done.stderr


def test_a_forked_child_has_one_thread(script: Script) -> None:
    done = script(
        f"""
{USE}
pid = os.fork()
if pid == 0:
    run.log({{"x": 1.0}}, step=1)
    run.flush()
    run.finish()
    os._exit(len(os.listdir("/proc/self/task")))
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    )
    assert done.stdout == "1\n", done.stderr


MAKES = re.compile(
    r"(?:openat\(AT_FDCWD, |creat\(|mkdir\(|mkdirat\(AT_FDCWD, |link\(|rename\(|symlink\(|mknod\(|unlink\()\"([^\"]+)\""
)


def made_in(trace: str) -> set[Path]:
    """What successful system calls have made, written to or removed."""
    out = set()
    for line in trace.splitlines():
        found = MAKES.search(line)
        opens = found is not None and found[0].startswith("openat")
        if found is None or " = -1 " in line or (opens and not re.search(r"O_(WRONLY|RDWR|CREAT)", line)):
            continue
        out.add(Path(found[1]))
    return out


# Promise P9: Nothing is written outside the store and the folder of journals.
def test_nothing_is_written_outside_the_store_and_the_ring(
    script: Script, store: Path, own_shm: Path, tmp_path: Path
) -> None:
    needs(conditions.STRACE)
    trace = tmp_path.parent / f"{tmp_path.name}.trace"
    calls = "trace=open,openat,creat,mkdir,mkdirat,link,linkat,rename,renameat,renameat2,symlink,mknod,unlink"
    done = script(
        USE + "run.finish()\n",
        prefix=["strace", "-f", "-s", "4096", "-e", calls, "-o", str(trace)],
        env={"PYTHONDONTWRITEBYTECODE": "1", "HOME": str(tmp_path / "home")},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    paths = made_in(trace.read_text())
    ours = (store, own_shm, Path("/proc/self"))  # names of its own threads
    assert {path for path in paths if not any(path.is_relative_to(folder) for folder in ours)} == set()
    assert any(path.is_relative_to(store / "runs") for path in paths), "the trace has seen the run"
    assert any(path.is_relative_to(own_shm) for path in paths)
    assert not (tmp_path / "home").exists()


# SQLite's own places, 0x40000002 to 0x400001FF and byte 128, as docs/formats/database.md has them.
SHARED_BYTES = (str(0x40000002), str(0x400001FF))


def test_reading_a_live_run_in_its_own_process_drops_none_of_its_locks(
    script: Script, store: Path, own_shm: Path
) -> None:
    # It prints what /proc/locks says of it, after the lines of the commands.
    done = script(
        f"""
{USE}
from tracker import _core
for words in (["ls"], ["show", "p/r"], ["verify"], ["doctor"], ["tail", "p/r"], ["export", "p/r"], ["gc"]):
    code = _core.cli_main(["tracker", *words])
    assert code == 0, (words, code)
(folder,) = (os.environ["TRACKER_SHM_DIR"] + "/" + name for name in os.listdir(os.environ["TRACKER_SHM_DIR"]))
(journal,) = (os.path.join(folder, name) for name in os.listdir(folder))
database = [os.path.join(run.dir, name) for name in os.listdir(run.dir) if name.endswith(".db")][0]
for path in (journal + "/lock", database, database + "-shm"):
    print("inode", os.stat(path).st_ino)
print("pid", os.getpid())
print(open("/proc/locks").read())
"""
    )
    assert done.returncode == 0, done.stderr
    lock, database, index = (int(number) for number in re.findall(r"^inode (\d+)$", done.stdout, re.M))
    (pid,) = re.findall(r"^pid (\d+)$", done.stdout, re.M)
    held = set()
    for line in done.stdout.partition("\npid ")[2].splitlines()[1:]:
        words = line.split()
        if len(words) == 8 and words[4] in (pid, "-1"):
            held.add((words[1], words[3], int(words[5].split(":")[2]), words[6], words[7]))
    assert ("POSIX", "WRITE", lock, "0", "0") in held
    assert ("OFDLCK", "WRITE", lock, "1", "1") in held
    assert ("POSIX", "READ", database, *SHARED_BYTES) in held
    assert ("OFDLCK", "READ", database, *SHARED_BYTES) in held
    assert ("OFDLCK", "READ", index, "128", "128") in held
