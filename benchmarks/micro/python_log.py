# SPDX-License-Identifier: MIT
"""Question: what does a log call cost in Python, beside an empty method called the same way?

Workloads: one key, 2 to 20 keys, a handle, 1,000 and 100,000 keys, a disabled run; each beside a C method that does
nothing (`_core._Empty.log`, with the same keyword) called with the same arguments, the dict built in the call. Mode:
blocks of 4,000 values, less than 3/4 of the smallest ring, a flush() between them. Informational; the gate counts
instructions.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import cast

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import harness
import tracker
from harness import Block, Row
from tracker import _core

ROUNDS = 300
BLOCK_VALUES = 4000


class EmptyPython:
    def log(self, data: object, step: int | None = None) -> None:
        pass


def dict_call(target: object, keys: int) -> Block:
    """A loop of target.log({...}, step=i) with `keys` literals; built as text, so that it is what a user writes."""
    items = ", ".join(f"'metric{i}': x" for i in range(keys))
    source = f"def block(steps):\n    x = 0.25\n    for i in steps:\n        target.log({{{items}}}, step=i)\n"
    space: dict[str, object] = {"target": target}
    exec(source, space)
    return cast(Block, space["block"])


def handle_call(target: object) -> Block:
    space: dict[str, object] = {"target": target}
    exec("def block(steps):\n    x = 0.25\n    for i in steps:\n        target.log(x, i)\n", space)
    return cast(Block, space["block"])


def ratio(ours: list[float], theirs: list[float]) -> list[float]:
    """Round by round: what disturbs the machine disturbs both."""
    return [a / b for a, b in zip(ours, theirs, strict=True) if b > 0]


def one_key(run: tracker.Run) -> list[Row]:
    blocks = {
        "empty C method, one key": dict_call(_core._Empty(), 1),
        "run.log, one key": dict_call(run, 1),
        "empty Python method, one key": dict_call(EmptyPython(), 1),
        "empty C method, positional": handle_call(_core._Empty()),
        "handle.log": handle_call(run.metric("handle")),
    }
    ns = harness.side_by_side(blocks, BLOCK_VALUES, ROUNDS, run.flush)
    rows = [Row(name, "ns", samples) for name, samples in ns.items()]
    log, c_method = ns["run.log, one key"], ns["empty C method, one key"]
    rows.append(Row("run.log / (empty C method + dict)", "x", ratio(log, c_method), 1.5))
    rows.append(Row("run.log / empty Python method", "x", ratio(log, ns["empty Python method, one key"])))
    rows.append(Row("handle.log / empty C method", "x", ratio(ns["handle.log"], ns["empty C method, positional"]), 4))
    return rows


def further_keys(run: tracker.Run) -> list[Row]:
    """What each key beyond the first adds, less what building a larger dict adds for an empty method too."""
    added: dict[int, list[float]] = {}
    own: dict[int, list[float]] = {}
    for keys in (1, 2, 5, 10, 20):
        blocks = {"empty": dict_call(_core._Empty(), keys), "log": dict_call(run, keys)}
        ns = harness.side_by_side(blocks, BLOCK_VALUES // (keys + 2), ROUNDS // 2, run.flush)
        added[keys] = ns["log"]
        own[keys] = [a - b for a, b in zip(ns["log"], ns["empty"], strict=True)]
    base, base_own = statistics.median(added[1]), statistics.median(own[1])
    rows = [Row(f"run.log, {keys} keys", "ns", added[keys]) for keys in added]
    rows.append(Row("a further key, of 20", "ns", [(value - base_own) / 19 for value in own[20]], 10))
    rows.append(Row("a further key, of 20, dict included", "ns", [(value - base) / 19 for value in added[20]]))
    return rows


def large_calls(run: tracker.Run) -> list[Row]:
    rows = []
    for keys, rounds, target_us in ((1000, 200, 10.0), (100_000, 20, 1000.0)):
        data = {f"wide/{i}": 0.5 for i in range(keys)}
        samples = []
        for turn in range(rounds + 3):
            start = time.thread_time_ns()
            run.log(data, step=turn)
            samples.append((time.thread_time_ns() - start) / 1000)
            run.flush()
        rows.append(Row(f"run.log, {keys:,} keys", "us", samples[3:], target_us))
    return rows


def main() -> None:
    with harness.temporary_store() as store:
        disabled = tracker.init(project="bench", mode="disabled", dir=store, quiet=True)
        ns = harness.side_by_side({"disabled": dict_call(disabled, 1)}, BLOCK_VALUES, ROUNDS)
        disabled.finish()
        run = tracker.init(project="bench", dir=store, quiet=True)
        rows = [Row("run.log of a disabled run", "ns", ns["disabled"]), *one_key(run), *further_keys(run)]
        rows += large_calls(run)
        run.flush()
        status = run.status()
        rows.append(Row("points dropped", "points", [status.points_dropped], 0))
        stored = status.points_logged - status.points_dropped
        harness.require(status.points_stored == stored, "every point that was not counted as dropped arrived")
        harness.require(tracker.open_run(run.uid, dir=store).points == stored, "and is read back")
        run.finish()
    harness.report("python_log", rows)


if __name__ == "__main__":
    main()
