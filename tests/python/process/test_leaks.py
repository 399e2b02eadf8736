# SPDX-License-Identifier: MIT
"""Goal: the hot calls leak nothing, whichever way they leave.
Method: count references and allocated blocks around many calls of each kind."""

from __future__ import annotations

import gc
import itertools
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tracker


class Bad:
    def __float__(self) -> float:
        raise ValueError("no")


def calls(run: tracker.Run) -> dict[str, Callable[[int], Any]]:
    handle = run.metric("handle")
    f32, array = np.float32(0.5), np.array(0.5)
    big = {f"big/{i}": float(i) for i in range(200)}
    wrong: Any = object()
    log: Any = run.log

    def failing(*arguments: Any, **named: Any) -> None:
        with pytest.raises((TypeError, ValueError)):
            log(*arguments, **named)

    return {
        "float": lambda i: run.log({"a": 0.5}, step=i),
        "fresh key": lambda i: run.log({f"k{i % 10}": 0.5}, step=i),
        "many keys": lambda i: run.log(big, step=i),
        "numpy scalar": lambda i: run.log({"n": f32}, step=i),
        "array": lambda i: run.log({"arr": array, "d": {"e": array}}, step=i),
        "text": lambda i: run.log({"t": "text"}, step=i),
        "bad value": lambda i: run.log({"a": 1.0, "bad": Bad(), "worse": wrong}, step=i),
        "bad key": lambda i: run.log({wrong: 1.0, "": 2.0}, step=i),
        "handle": lambda i: handle.log(0.5, i),
        "handle numpy": lambda i: handle.log(f32, step=i),
        "handle bad": lambda i: handle.log(wrong, i),
        "new handle": lambda i: run.metric("handle").log(1, i),
        "wrong data": lambda i: failing(3, step=i),
        "wrong step": lambda i: failing({"a": 1.0}, step="x"),
        "wrong keyword": lambda i: failing({"a": 1.0}, stp=1),
    }


KINDS = ["float", "fresh key", "many keys", "numpy scalar", "array", "text", "bad value", "bad key", "handle"]
KINDS += ["handle numpy", "handle bad", "new handle", "wrong data", "wrong step", "wrong keyword"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_leaks_no_object(run: tracker.Run, kind: str) -> None:
    call = calls(run)[kind]

    def blocks_after(count: int) -> int:
        for i in range(count):
            call(i)
        gc.collect()
        return sys.getallocatedblocks()

    blocks_after(500)
    seen = [blocks_after(500)]
    # A thread of ours may begin meanwhile and keep some hundred blocks: a leak of the call grows in each round.
    seen += [blocks_after(2000) for _ in range(3)]
    grown = [after - before for before, after in itertools.pairwise(seen)]
    assert min(grown) < 100, f"{grown} blocks in 2,000 calls each"


def test_values_and_keys_are_not_kept(run: tracker.Run) -> None:
    class Value:
        def __float__(self) -> float:
            return 1.0

    value = Value()
    gone = weakref.ref(value)
    data = {"x": value, "y": 0.1234}
    run.log(data, step=0)
    before = sys.getrefcount(data)
    run.log(data, step=1)
    assert sys.getrefcount(data) == before
    del value, data
    assert gone() is None


def test_keys_that_never_repeat_do_not_pile_up(run: tracker.Run) -> None:
    def log(count: int) -> int:
        for i in range(count):
            run.log({"".join(["lo", "ss"]): 1.0}, step=i)
        gc.collect()
        return sys.getallocatedblocks()

    first = log(1000)
    assert log(5000) - first < 100


def test_a_finished_run_is_freed_with_its_handles() -> None:
    run = tracker.init(project="p", quiet=True)
    handle = run.metric("x")
    handle.log(1.0, 0)
    run.finish()
    gone = weakref.ref(run)
    del run
    assert gone() is not None  # the handle keeps it
    handle.log(2.0, 1)
    del handle
    gc.collect()
    assert gone() is None
