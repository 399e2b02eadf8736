# SPDX-License-Identifier: MIT
"""The program that hot_calls.py runs under callgrind: run.log({"loss": x}, step=i), `calls` times.

Collection is on within run_log() of the module alone, and metric() zeroes the counters when the warm-up is over.
"""

from __future__ import annotations

import sys

import tracker


def main(store: str, calls: int) -> None:
    run = tracker.init(project="gate", dir=store, quiet=True)
    x = 0.25
    for i in range(100):
        run.log({"loss": x}, step=1_000_000 + i)
    run.metric("zero")
    for i in range(calls):
        run.log({"loss": x}, step=2_000_000 + i)
    arrived = run.flush(120) and run.status().points_stored == calls + 100
    print(calls if arrived else 0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
