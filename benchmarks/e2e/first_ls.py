# SPDX-License-Identifier: MIT
"""Question: what does the first listing of 5,000 runs cost that the library has recorded, and the next one?

Workload: 5,000 runs of 10 config values, 8 metrics and 20 points each, recorded by four processes. Then the native
program: the first listing (there is no catalog), the next one, and the first one without the rows that the runs have
left. Mode: whole processes, files in the page cache. FIRST_LS_RUNS="500" measures fewer.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import harness
from harness import Row

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "bin" / "tracker"
RUNS = int(os.environ.get("FIRST_LS_RUNS", "5000"))
PROCESSES = 4
TURNS = 5


def record(store: str, first: int, count: int) -> None:
    import tracker

    for i in range(first, first + count):
        config = {f"option_{k}": k * i for k in range(8)} | {"lr": 0.001 * (i + 1), "optim": ["adam", "sgd"][i % 2]}
        run = tracker.init(project="bench", id=f"run-{i:06d}", config=config, dir=store, quiet=True)
        for step in range(20):
            row = {f"m{k}": i + k / (step + 1) for k in range(6)}
            run.log(row | {"loss": 1 / (step + 1 + i), "val/acc": (step * (i % 16) + i) / 1000}, step=step)
        run.finish()


def listing(store: str, count: int) -> float:
    start = time.perf_counter()
    done = subprocess.run([str(PROGRAM), "ls", "--json", "--dir", store], check=True, capture_output=True, text=True)
    took = time.perf_counter() - start
    harness.require(json.loads(done.stdout)["matched"] == count, "all runs are listed")
    return took


def main() -> None:
    share = RUNS // PROCESSES
    with harness.temporary_store() as folder:
        store = folder + "/store"
        workers = [
            multiprocessing.get_context("spawn").Process(target=record, args=(store, n * share, share))
            for n in range(PROCESSES)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        time.sleep(3)  # folders younger than two seconds are not believed
        shutil.copytree(store + "/catalog-intake", folder + "/intake")
        first, again, without = [], [], []
        for _ in range(TURNS):
            for name in Path(store).glob("catalog.db*"):
                name.unlink()
            shutil.rmtree(store + "/catalog-intake", ignore_errors=True)
            shutil.copytree(folder + "/intake", store + "/catalog-intake")
            first.append(listing(store, share * PROCESSES))
            again.append(listing(store, share * PROCESSES))
        for _ in range(2):
            for name in Path(store).glob("catalog.db*"):
                name.unlink()
            without.append(listing(store, share * PROCESSES))
    what = f"{share * PROCESSES:,} runs"
    rows = [Row(f"{what}: first ls", "s", first, 0.5), Row(f"{what}: next ls", "s", again, 0.05)]
    harness.report("first_ls", [*rows, Row(f"{what}: first ls, each run opened", "s", without)])


if __name__ == "__main__":
    main()
