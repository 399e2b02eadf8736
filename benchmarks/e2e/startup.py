# SPDX-License-Identifier: MIT
"""Question: what do import, init with the first point, and finish cost?

Workload: one process after another that imports tracker, opens a run in an existing store, logs one point and
finishes; each clocks itself. Mode: bytecode is cached, as after the first use of an installed package. Informational.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import harness
from harness import Row

PROCESSES = 30
CHILD = """
import time
t0 = time.perf_counter()
import tracker
t1 = time.perf_counter()
run = tracker.init(project="bench", quiet=True)
run.log({"loss": 0.5}, step=0)
t2 = time.perf_counter()
run.finish()
t3 = time.perf_counter()
assert tracker.open_run(run.uid).points == 1
print([t1 - t0, t2 - t1, t3 - t2])
"""


def main() -> None:
    samples: list[list[float]] = []
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # some containers set it, and then nothing is cached
    with harness.temporary_store() as store:
        for process in range(PROCESSES + 2):
            done = subprocess.run(
                [sys.executable, "-c", f"import os; os.environ['TRACKER_DIR'] = {store + '/s'!r}\n{CHILD}"],
                check=True,
                capture_output=True,
                text=True,
            )
            if process >= 2:
                samples.append([1000 * value for value in json.loads(done.stdout)])
    imports, inits, finishes = zip(*samples, strict=True)
    harness.report(
        "startup",
        [
            Row("import tracker", "ms", imports, 30),
            Row("init + first point", "ms", inits, 10),
            Row("finish", "ms", finishes, 50),
        ],
    )


if __name__ == "__main__":
    main()
