# SPDX-License-Identifier: MIT
"""Goal: F15. Training, evaluation and system metrics count steps of their own, in any order, twice, without a step and
beyond what a float holds: no row is dropped, and each metric has its rows in the order logged.
Method: random calls from three threads against lists of plain Python; the seed is printed."""

from __future__ import annotations

import random
import threading

import tracker

CALLS = 20_000
BEYOND_FLOAT = 2**53


def steps_of(kind: str, rng: random.Random) -> list[int | None]:
    if kind == "train":
        steps: list[int | None] = list(range(CALLS))
    elif kind == "eval":  # every thousandth of training, far apart, the large ones odd
        steps = [BEYOND_FLOAT + 2 * (i // 2) + 1 for i in range(CALLS)]
    else:
        steps = [rng.choice([None, rng.randrange(-100, 100)]) for _ in range(CALLS)]
    if kind != "train":
        rng.shuffle(steps)
    return steps


def test_metrics_on_three_clocks_keep_every_row_in_the_order_logged(patient_run: tracker.Run) -> None:
    seed = random.randrange(10**9)
    print(f"seed {seed}")
    kinds = ("train", "eval", "hardware")
    given = {kind: steps_of(kind, random.Random(f"{seed} {kind}")) for kind in kinds}

    def log(kind: str) -> None:
        metric = f"{kind}/x"
        for i, step in enumerate(given[kind]):
            patient_run.log({metric: float(i)}, step=step)

    threads = [threading.Thread(target=log, args=(kind,)) for kind in kinds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    status = patient_run.status()
    assert (status.points_logged, status.points_dropped) == (3 * CALLS, 0)
    patient_run.finish()
    r = tracker.open_run(patient_run.uid)
    for kind in kinds:
        rows = r.history(f"{kind}/x", all=True)
        assert rows.values.tolist() == [float(i) for i in range(CALLS)], kind
        wrong = [i for i, step in enumerate(given[kind]) if step is not None and rows.steps[i] != step]
        assert not wrong, f"{kind}: call {wrong[0]} has step {rows.steps[wrong[0]]}"
        shown = r.history(f"{kind}/x")
        last = {step: float(i) for i, step in enumerate(rows.steps.tolist())}
        assert dict(zip(shown.steps.tolist(), shown.values.tolist(), strict=True)) == last
        assert shown.steps.tolist() == sorted(last)
