# SPDX-License-Identifier: MIT
"""Goal: a process that opens and ends runs for a month neither grows nor leaks anything (F29).

Method: TRACKER_TEST_CYCLES cycles (2,000; make soak: 100,000) of init, a few points, a reader and finish in one
process, whose memory, threads, descriptors and mappings are noted ten times; the folder of each run is removed when it
is read.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

Script = Callable[..., "subprocess.CompletedProcess[str]"]

CYCLES = int(os.environ.get("TRACKER_TEST_CYCLES", "2000"))
SCRIPT = """
import gc, json, os, shutil, sys, tracker

def now():
    gc.collect()  # a run and its summary know each other: what it holds goes with the next collection
    with open("/proc/self/status") as status:
        facts = dict(line.split(":", 1) for line in status)
    with open("/proc/self/maps") as maps:
        count = len(maps.readlines())
    return {"rss_kib": int(facts["VmRSS"].split()[0]), "threads": int(facts["Threads"]),
            "fds": len(os.listdir("/proc/self/fd")), "maps": count}

cycles, notes = int(sys.argv[1]), []
for cycle in range(cycles):
    run = tracker.init(project="cycles", quiet=True, config={"cycle": cycle}, tags=["t"])
    handle = run.metric("handle")
    for step in range(5):
        run.log({"loss": step * 0.5, f"new/{cycle}": 1}, step=step)
        handle.log(0.25, step)
    run.log({"text": "some words"}, step=9)
    run.finish()
    assert run.flush(60)  # a loaded disk may take longer than finish() waits
    if cycle % 100 == 0:
        read = tracker.open_run(run.uid)
        assert read.points == 15 and read.state == "finished", (cycle, read.points, read.state)
    shutil.rmtree(run.dir)
    if (cycle + 1) % max(1, cycles // 10) == 0:
        notes.append(now())
print(json.dumps(notes))
"""


def test_cycles_of_init_and_finish_leave_memory_threads_descriptors_and_files_flat(
    script: Script, store: Path, own_shm: Path
) -> None:
    done = script(SCRIPT, str(CYCLES), timeout=60 + CYCLES * 0.3)
    assert done.returncode == 0, done.stderr
    notes = json.loads(done.stdout)
    print(json.dumps(notes))
    early, late = notes[1], notes[-1]
    assert late["threads"] <= early["threads"] + 1
    assert late["fds"] <= early["fds"] + 2
    assert late["maps"] <= early["maps"] + 10  # arenas of malloc and of the interpreter come and go
    assert late["rss_kib"] <= early["rss_kib"] + 3 * 1024
    left = sorted(path.name for path in store.iterdir())
    assert left == [".gitignore", "catalog-intake", "runs", "store.json"]
    assert list((store / "runs" / "cycles").iterdir()) == []
    assert [path for path in own_shm.rglob("*") if path.is_file()] == []
