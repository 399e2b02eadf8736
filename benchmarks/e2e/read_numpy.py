# SPDX-License-Identifier: MIT
"""Question: how fast is a stored series read into NumPy, end to end, and what does a chart of it take?

Workload: one series of 10,000,000 float64 values that no encoder foresees, logged by 10,000,000 calls of a handle, one
finished run; history("loss") with its steps and values. CPU time of the whole process stands beside wall time: a busy
machine takes cores away. Table: 4 series of 1,000,000 rows logged together. Filling 240 MB of fresh memory is the
floor of any answer of 24 bytes a row. Informational: the page cache is warm.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import harness
import numpy as np
import tracker
from harness import Row

POINTS = 10_000_000
TABLE_ROWS = 1_000_000
ROUNDS = 15


def log_series(store: str) -> None:
    run = tracker.init(project="bench", id="one", dir=store, quiet=True, on_full="block")
    metric = run.metric("loss")
    for step, value in enumerate(np.random.default_rng(0).standard_normal(POINTS).tolist()):
        metric.log(value, step)
    run.finish()
    with tracker.init(project="bench", id="four", dir=store, quiet=True, on_full="block") as four:
        for step in range(TABLE_ROWS):
            x = step * 1e-3
            four.log({"a": x, "b": -x, "c": x * x, "d": 1.0}, step=step)


def samples(call: Callable[[], object]) -> tuple[list[float], list[float]]:
    """(wall ms, CPU ms) of each round; what the call returns is freed outside of the clock."""
    wall, cpu = [], []
    for _ in range(ROUNDS):
        cpu0, wall0 = time.process_time(), time.perf_counter()
        result = call()
        wall.append((time.perf_counter() - wall0) * 1e3)
        cpu.append((time.process_time() - cpu0) * 1e3)
        del result
    return wall, cpu


def fill() -> object:
    memory = np.empty(POINTS * 3)
    memory.fill(1.0)
    return memory


def main() -> None:
    with harness.temporary_store() as store:
        log_series(store)
        one, four = tracker.open_run("bench/one", dir=store), tracker.open_run("bench/four", dir=store)
        history = one.history("loss")
        harness.require(len(history) == POINTS, "every point is read back")
        expected = np.random.default_rng(0).standard_normal(POINTS)
        harness.require(bool(np.array_equal(history.values, expected)), "and is what was logged")
        wall, cpu = samples(lambda: one.history("loss"))
        table_wall, table_cpu = samples(lambda: four.history(["a", "b", "c", "d"]))
        _, chart_cpu = samples(lambda: one.chart("loss"))
        _, fill_cpu = samples(fill)
        points = POINTS / 1e3
        cells = TABLE_ROWS * 4 / 1e3
        rows = [
            Row("10 M points into NumPy, by CPU", "M pts/s", [points / ms for ms in cpu], 100),
            Row("10 M points into NumPy, wall", "M pts/s", [points / ms for ms in wall], 100),
            Row("filling 240 MB of fresh memory, by CPU", "ms", fill_cpu),
            Row("table of 4 x 1 M values, by CPU", "M pts/s", [cells / ms for ms in table_cpu]),
            Row("table of 4 x 1 M values, wall", "M pts/s", [cells / ms for ms in table_wall]),
            Row("chart of 10 M points from frames, by CPU", "ms", chart_cpu),
        ]
        harness.report("read_numpy", rows)


if __name__ == "__main__":
    main()
