# SPDX-License-Identifier: MIT
"""Question: how long until 10,000 floats, logged by 10,000 calls, are committed and fsynced?

Workload: 10,000 calls of run.log({"loss": x}, step=i), then flush(), which returns when they are. Mode: a fresh run
each time. The row below it is the bar: 10,000 write(2) calls of 16 bytes into a file and one fsync. Informational:
the disk's fsync is in both.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import harness
import tracker
from harness import Row

CALLS = 10_000
ROUNDS = 30


def log_and_flush(store: str) -> tuple[float, float, int]:
    """Wall ms until durable, of those the calls alone, and points dropped (a call waits at most 10 ms for the ring)."""
    run = tracker.init(project="bench", dir=store, quiet=True)
    values = [i * 0.1 for i in range(CALLS)]
    start = time.perf_counter_ns()
    for i, x in enumerate(values):
        run.log({"loss": x}, step=i)
    logged = time.perf_counter_ns()
    durable = run.flush()
    end = time.perf_counter_ns()
    harness.require(durable, "flush() returns True")
    run.finish()
    history = tracker.open_run(run.uid, dir=store).history("loss")
    dropped = run.status().points_dropped
    harness.require(len(history) == CALLS - dropped, "every value that was not counted as dropped is read back")
    harness.require(history.values.tolist() == [values[step] for step in history.steps], "and is what was logged")
    return (end - start) / 1e6, (logged - start) / 1e6, dropped


def write_and_sync(store: str) -> float:
    path = Path(store) / "bar"
    start = time.perf_counter_ns()
    with path.open("wb", buffering=0) as out:
        for i in range(CALLS):
            out.write(struct.pack("<qd", i, i * 0.1))
        os.fsync(out.fileno())
    took = (time.perf_counter_ns() - start) / 1e6
    path.unlink()
    return took


def main() -> None:
    with harness.temporary_store() as store:
        log_and_flush(store)
        ours, calls, dropped, bar = [], [], [], []
        for _ in range(ROUNDS):
            total, logged, lost = log_and_flush(store)
            ours.append(total)
            calls.append(logged)
            dropped.append(lost)
            bar.append(write_and_sync(store))
    harness.report(
        "durable_10k",
        [
            Row("10,000 floats until durable", "ms", ours, 10),
            Row("of it: the 10,000 calls", "ms", calls),
            Row("points dropped of 10,000", "points", dropped, 0),
            Row("10,000 write(2) and one fsync", "ms", bar),
        ],
    )


if __name__ == "__main__":
    main()
