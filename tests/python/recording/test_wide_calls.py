# SPDX-License-Identifier: MIT
"""Goal: a call of many keys stores what calls of one key store, whatever else is among its values. Method: dicts that
are written into the ring in one pass, and dicts that cannot be, in turn; every value is read back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import tracker

KEYS = [f"layer/{i}/norm" for i in range(200)]


def stored(run: tracker.Run, key: str) -> list[tuple[int, Any]]:
    history = tracker.open_run(run.uid).history(key)
    return list(zip(history.steps.tolist(), history.values.tolist(), strict=True))


def test_floats_ints_and_bools_keep_their_values_and_types(run: tracker.Run) -> None:
    values: list[Any] = [0.5, -7, True, math.inf, 2**62]
    for step in range(5):
        run.log({key: values[i % 5] for i, key in enumerate(KEYS)}, step=step)
    assert run.flush()
    for i, key in enumerate(KEYS[:10]):
        assert stored(run, key) == [(step, values[i % 5]) for step in range(5)]
    assert tracker.open_run(run.uid).points == 5 * len(KEYS)


def test_a_nan_and_a_negative_zero_keep_their_bits(run: tracker.Run) -> None:
    for step in range(3):
        run.log(dict.fromkeys(KEYS, -0.0) | {KEYS[7]: math.nan}, step=step)
    assert run.flush()
    assert all(math.copysign(1, value) == -1 for _, value in stored(run, KEYS[0]))
    assert all(math.isnan(value) for _, value in stored(run, KEYS[7]))


@pytest.mark.parametrize("other", [None, "a text", np.float32(0.25), 2**70, {"deep": 1.0}, object()])
@pytest.mark.parametrize("at", [0, 99, 199])
def test_what_cannot_be_written_in_one_pass_costs_no_other_value(run: tracker.Run, other: object, at: int) -> None:
    plain = dict.fromkeys(KEYS, 1.5)
    mixed = plain | {KEYS[at]: other}
    for step, data in enumerate([plain, plain, mixed, plain, mixed, mixed, plain]):
        run.log(data, step=step)
    assert run.flush()
    expected = [(step, 1.5) for step in range(7)]
    for key in (KEYS[(at + 1) % 200], KEYS[(at - 1) % 200]):
        assert stored(run, key) == expected
    assert [row for row in stored(run, KEYS[at]) if row[1] == 1.5] == [expected[step] for step in (0, 1, 3, 6)]
    assert run.status().points_pending == 0
    assert run.status().points_dropped == 0


def test_new_keys_may_come_and_old_ones_go(run: tracker.Run) -> None:
    for step in range(6):
        run.log({f"k{i}": float(step) for i in range(step * 10, 100 + step * 20)}, step=step)
    assert run.flush()
    for i in (0, 35, 119, 199):
        steps = [step for step in range(6) if step * 10 <= i < 100 + step * 20]
        assert stored(run, f"k{i}") == [(step, float(step)) for step in steps]


def test_without_a_step_each_call_is_one_further(run: tracker.Run) -> None:
    for _ in range(4):
        run.log(dict.fromkeys(KEYS, 1.0))
    run.log(dict.fromkeys(KEYS, 2.0), step=10)
    run.log(dict.fromkeys(KEYS, 3.0))
    assert run.flush()
    assert stored(run, KEYS[3]) == [(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0), (10, 2.0), (11, 3.0)]


def test_keys_that_are_other_objects_each_time_are_the_same_metrics(run: tracker.Run) -> None:
    for step in range(5):
        run.log({f"layer/{i}/norm": i + step for i in range(200)}, step=step)
    assert run.flush()
    assert stored(run, KEYS[150]) == [(step, 150 + step) for step in range(5)]
    assert len(tracker.open_run(run.uid).series()) == 200
