# SPDX-License-Identifier: MIT
"""Question: how much of a core do the samples of machine and process take?

Workload: a process that does nothing but hold a run open, alone and with a hundred children; the CPU of the thread
that samples, from the kernel's account of it in nanoseconds. Mode: each 15 s, as by default, for a minute, and each
0.1 s, which gives more samples but warmer caches. GPUs are not among it: there is none on the machines we have.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import harness
from harness import Row

INTERVAL = 15.0
CHILDREN = 100
SECONDS = 61.0  # four samples
CHILD = """
import json, subprocess, sys, time
from pathlib import Path
import tracker

def sampler():
    for task in Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().startswith("trk-monitor"):
            return int((task / "schedstat").read_text().split()[0])
    raise SystemExit("there is no thread that samples")

interval, seconds, children = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
started = [subprocess.Popen(["sleep", "1000"]) for _ in range(children)]
run = tracker.init(project="bench", quiet=True, system_interval=interval, console="off", capture="none")
time.sleep(3)
before, begin = sampler(), time.monotonic()
time.sleep(seconds)
spent, took = sampler() - before, time.monotonic() - begin
for child in started:
    child.kill()
run.finish()
rows = len(tracker.open_run(run.uid).history("system/cpu.percent").values)
assert rows >= 0.8 * seconds / interval, rows
print(json.dumps([spent, took, rows]))
"""


def measured(interval: float, seconds: float, children: int) -> tuple[float, float]:
    """(ns of CPU, samples taken)"""
    with harness.temporary_store() as store:
        source = f"import os; os.environ['TRACKER_DIR'] = {store + '/s'!r}\n{CHILD}"
        command = [sys.executable, "-c", source, str(interval), str(seconds), str(children)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    spent, took, _ = json.loads(done.stdout)
    return spent, took / interval


def main() -> None:
    rows: list[Row] = []
    for children in (0, CHILDREN):
        who = f"{children} children"
        dense = [measured(0.1, 6, children) for _ in range(5)]
        spent, _ = measured(INTERVAL, SECONDS, children)
        rows += [
            Row(f"{who}: a sample of many", "us CPU", [ns / count / 1000 for ns, count in dense]),
            Row(f"{who}: so each 15 s", "% core", [ns / count / INTERVAL / 1e7 for ns, count in dense], 0.1),
            Row(f"{who}: {SECONDS:.0f} s of samples each 15 s", "% core", [spent / SECONDS / 1e7], 0.1),
        ]
    harness.report("system_cost", rows)


if __name__ == "__main__":
    main()
