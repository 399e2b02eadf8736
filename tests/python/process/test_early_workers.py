# SPDX-License-Identifier: MIT
"""Goal: what counts for a multiprocessing worker with a sign of ranks is the moment when it was made: before init it
records runs of its own, and after it it does not. Method: one pool on each side of init."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]

PROGRAM = """
import multiprocessing, sys, tracker
def work(name):
    with tracker.init(project="pool", id=name, quiet=True) as run:
        run.log({"x": 1.0}, step=0)
    return run.status().points_stored
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(1) as early:
        assert early.apply(abs, (-1,)) == 1
        with tracker.init(project="pool", id="parent", quiet=True) as run:
            run.log({"x": 0.0}, step=0)
            with context.Pool(1) as late:
                print(early.apply(work, ("early",)), late.apply(work, ("late",)))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_worker_made_before_init_records_and_one_made_after_it_does_not(
    script: Script, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_RANK", "0")
    done = script(PROGRAM, method)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1 0\n", done.stderr
    assert sorted(r.id for r in tracker.runs()) == ["early", "parent"]
