# SPDX-License-Identifier: MIT
"""Goal: a run of a month takes no more memory, threads, descriptors and files than one of a day, its output in a file
that log rotation renames or cuts, its store below max_disk (F29).

Method: time is compressed: 30 days, each a rotation and TRACKER_TEST_POINTS / 30 points (60,000 in all; make soak:
10^9) with texts, config, summary, output, samples and a flush. What the process has is noted after
each day, by itself; a thread checks the size of the store all the time.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]

POINTS = int(os.environ.get("TRACKER_TEST_POINTS", "60000"))
DAYS = 30
MAX_DISK = max(64 * 2**20, POINTS * 8)
SCRIPT = """
import gc, json, os, pathlib, shutil, sys, threading, tracker

points, days, how, max_disk, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5]
store = pathlib.Path(os.environ["TRACKER_DIR"])

def size():
    total = 0
    for folder, _, names in os.walk(store):
        for name in names:
            try:
                total += os.stat(os.path.join(folder, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total

largest, stop = 0, threading.Event()

def watch():
    global largest
    while not stop.wait(0.05):
        largest = max(largest, size())

def now():
    gc.collect()
    with open("/proc/self/status") as status:
        facts = dict(line.split(":", 1) for line in status)
    return {"rss_kib": int(facts["VmRSS"].split()[0]), "threads": int(facts["Threads"]),
            "fds": len(os.listdir("/proc/self/fd")), "files": sum(len(files) for _, _, files in os.walk(store)),
            "store": size()}

def rotate(day):
    # As logrotate does: rename and make a new file, the program reopens; or copytruncate.
    if how == "copytruncate":
        shutil.copyfile(out, f"{out}.{day}")
        os.truncate(out, 0)
        return
    os.rename(out, f"{out}.{day}")
    fd = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    sys.stdout.flush()
    os.dup2(fd, 1)
    os.close(fd)

run = tracker.init(project="month", id="run", quiet=True, on_full="block", max_disk=max_disk, system_interval=0.1)
watcher = threading.Thread(target=watch, daemon=True)
watcher.start()
notes, step, a_day = [], 0, points // days
handle = run.metric("handle")
for day in range(days):
    for _ in range(a_day // 2):
        handle.log(step * 0.5, step)
        run.log({"loss": 1.0 / (step + 1)}, step=step)
        step += 1
    for part in range(10):
        print(f"day {day} part {part}", flush=True)
    run.log({"text": f"day {day}"}, step=step)
    run.config["day"] = day
    run.summary["best"] = day
    assert run.flush(600)
    rotate(day)
    notes.append(now())
print("the end", flush=True)
run.finish()
stop.set()
watcher.join()
largest = max(largest, size())
with open(sys.argv[6], "w") as result:
    json.dump({"notes": notes, "largest": largest, "end": size(), "step": step}, result)
"""


@pytest.mark.parametrize("how", ["rename", "copytruncate"])
def test_a_run_of_a_month_with_log_rotation_stays_flat_and_below_max_disk(
    script: Script, store: Path, own_shm: Path, tmp_path: Path, how: str
) -> None:
    log, result = tmp_path / "train.log", tmp_path / "result.json"
    # The program's stdout is that file, opened to append, as a service manager or nohup does.
    code = f"""
import os, sys
fd = os.open({str(log)!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
os.dup2(fd, 1)
os.close(fd)
{SCRIPT}"""
    arguments = [str(POINTS), str(DAYS), how, str(MAX_DISK), str(log), str(result)]
    done = script(code, *arguments, timeout=120 + POINTS / 20_000, env={"TRACKER_DIR": str(store)})
    assert done.returncode == 0, done.stderr
    measured = json.loads(result.read_text())
    notes = measured["notes"]
    print(json.dumps({"first": notes[4], "last": notes[-1], "largest": measured["largest"]}))
    early, late = notes[4], notes[-1]
    assert late["threads"] <= early["threads"] + 1
    assert late["fds"] <= early["fds"] + 2
    assert late["files"] <= early["files"] + 2
    assert late["rss_kib"] <= early["rss_kib"] + 8 * 1024
    assert measured["largest"] <= MAX_DISK
    assert measured["end"] <= 4 * 2**20 + POINTS * 8
    read = tracker.open_run("month/run")
    assert read.state == "finished"
    assert read.points >= 2 * measured["step"]  # and samples
    if POINTS <= 10_000_000:  # more rows than that are too many for one array here
        assert len(read.history("loss")) == len(read.history("handle")) == measured["step"]
    assert (read.config["day"], read.summary["best"]) == (DAYS - 1, DAYS - 1)
    lines = [line.text for line in read.console()]
    assert lines == [*(f"day {day} part {part}" for day in range(DAYS) for part in range(10)), "the end"]
    kept = [log.parent / f"{log.name}.{day}" for day in range(DAYS)]
    assert "".join(path.read_text() for path in [*kept, log]) == "".join(f"{line}\n" for line in lines)
    assert [path for path in own_shm.rglob("*") if path.is_file()] == []
