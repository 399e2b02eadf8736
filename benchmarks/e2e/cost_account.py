# SPDX-License-Identifier: MIT
"""Question: is what the tracker says it takes in calls (status().cost) what a clock around these calls says?

Workloads and rows as in cost_account.cc, which runs first: calls of 1 key and of 20, without a pause, in bursts of 100
each 4 ms, and one call each ms. Measured: the median of a clock around blocks of 1,000 calls, around bursts, around
single calls, without the clock's own time and that of the loop. Said: the account at the end without that of the first
call, by the number of calls.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import harness
import tracker
from harness import Row

NATIVE = harness.BENCHMARKS.parent / "build" / "benchmarks" / "bin" / "bench_cost_account"
ROUNDS = 3
FACTOR_MAX = 2.0
# Calls timed together, how often, and the seconds after each; 0: a flush, for a full ring is waited for.
PACES = {"no pause": (1000, 300, 0.0), "bursts of 100 each 4 ms": (100, 300, 0.004), "one each ms": (1, 1500, 0.001)}


def measured(keys: int, calls: int, blocks: int, pause: float) -> tuple[float, float]:
    """(said, measured) in ns a call."""
    data = {f"train/metric{i}": 0.5 for i in range(keys)}
    now = time.perf_counter_ns
    loops, samples = [], []
    for _ in range(201):
        begin = now()
        for _at in range(calls):
            pass
        loops.append(now() - begin)
        time.sleep(pause)  # a clock that was not read for a while takes longer
    with harness.temporary_store() as store:
        run = tracker.init(project="bench", dir=store, quiet=True, console="off", capture="none")
        run.log(data, step=0)
        before = run.status().cost.call_seconds
        for block in range(blocks):
            begin = now()
            for at in range(1 + block * calls, 1 + (block + 1) * calls):
                run.log(data, step=at)
            samples.append((now() - begin - statistics.median(loops)) / calls)
            if pause > 0:
                time.sleep(pause)
            else:
                run.flush(60)
        said = (run.status().cost.call_seconds - before) * 1e9 / (blocks * calls)
        run.finish()
    return said, statistics.median(samples)


def native_rows() -> list[Row]:
    with tempfile.NamedTemporaryFile(suffix=".json") as samples:
        subprocess.run([str(NATIVE), "--json", samples.name], check=True, stdout=subprocess.DEVNULL)
        found = json.loads(Path(samples.name).read_text())
    return [Row(row["name"], row["unit"], row["samples"], row["target"]) for row in found]


def main() -> None:
    rows = native_rows()
    for keys in (1, 20):
        for pace, (calls, blocks, pause) in PACES.items():
            pairs = [measured(keys, calls, blocks, pause) for _ in range(ROUNDS)]
            what = f"Python, {keys} key{'s' if keys > 1 else ''}, {pace}"
            rows += [
                Row(f"{what}: said", "ns", [said for said, _ in pairs]),
                Row(f"{what}: measured", "ns", [found for _, found in pairs]),
                Row(f"{what}: off by a factor of", "x", [max(s / m, m / s) for s, m in pairs], FACTOR_MAX),
            ]
    harness.report("cost_account", rows)


if __name__ == "__main__":
    main()
