# SPDX-License-Identifier: MIT
"""Goal: a resumed run is one curve and keeps every row (F14), and what a resume names wrongly is said at once.
Method: the scenario of failures.md with its sizes, processes killed at random; and init() with wrong arguments."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]

TRAINING = """
import os, sys, tracker
first, last, attempt = map(int, sys.argv[1:4])
resume_from = sys.argv[4] if len(sys.argv) > 4 else None
run = tracker.init(project="p", id=None if resume_from else "train", resume_from=resume_from, quiet=True)
kill_at = int(os.environ["KILL_AT"])
for step in range(first, last + 1):
    run.log({"loss": attempt + step / 10000, "attempt": attempt}, step=step)
    if step == kill_at:
        print(step, flush=True)
        os.kill(os.getpid(), 9)
"""


def test_a_training_killed_and_resumed_twice_shows_what_the_model_shows(script: Script) -> None:
    seed = random.randrange(10**9)
    print(f"seed {seed}")
    rng = random.Random(seed)
    model: dict[int, float] = {}
    rows = 0
    for attempt, (first, last) in enumerate([(0, 1000), (601, 1200), (601, 1200)], start=1):
        kill_at = rng.randrange(700, last)
        arguments = [str(first), str(last), str(attempt)] + (["train@600"] if attempt > 1 else [])
        done = script(TRAINING, *arguments, env={"KILL_AT": str(kill_at)})
        assert done.stdout == f"{kill_at}\n", done.stderr
        if attempt > 1:
            model = {step: value for step, value in model.items() if step <= 600}
        for step in range(first, kill_at + 1):
            model[step] = attempt + step / 10000
            rows += 1
    run = tracker.open_run("p/train")
    shown = run.history("loss")
    assert shown.steps.tolist() == sorted(model)
    assert shown.values.tolist() == [model[step] for step in sorted(model)]
    everything = run.history("loss", all=True)
    assert len(everything) == rows
    first_attempt = everything.steps[everything.attempts == 1]
    assert first_attempt.tolist() == list(range(first_attempt[-1] + 1)), "the earlier segment stays readable"
    assert [(a.continues, a.resume_step, a.shown_up_to) for a in run.attempts()] == [
        (0, None, 600),
        (1, 600, 600),
        (1, 600, None),
    ]
    assert run.summary["attempt"] == 3


def test_the_step_goes_on_behind_the_one_resumed_from() -> None:
    with tracker.init(project="p", id="r", quiet=True) as run:
        for step in range(11):
            run.log({"x": step}, step=step)
    with tracker.init(project="p", resume_from="r@4", quiet=True) as run:
        assert (run.step, run.attempt, run.id) == (4, 2, "r")
        run.log({"x": 100})
    stored = tracker.open_run("p/r")
    assert stored.history("x").values.tolist() == [0, 1, 2, 3, 4, 100]
    assert len(stored.history("x", all=True)) == 12
    assert stored.summary["x"] == 100


def test_resume_from_a_run_alone_hides_nothing() -> None:
    for attempt in (1, 2):
        again = {"resume_from": "r"} if attempt == 2 else {"id": "r"}
        with tracker.init(project="p", quiet=True, **again) as run:
            run.log({"x": attempt}, step=1)
            run.log({"x": attempt}, step=10 - attempt)
    assert tracker.open_run("p/r").history("x").steps.tolist() == [1, 8, 9]
    assert tracker.open_run("p/r").history("x").values.tolist() == [2, 2, 1]


def test_resume_from_may_begin_a_run_where_allowed() -> None:
    with pytest.raises(tracker.NotFoundError, match="no run p/r"):
        tracker.init(project="p", resume_from="r@4", quiet=True)
    with tracker.init(project="p", resume_from="r@4", resume="allow", quiet=True) as run:
        assert (run.step, run.attempt) == (-1, 1)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("r@x", "no whole number"),
        ("r@", "no whole number"),
        ("@4", "no run is named"),
        ("r@99999999999999999999", "beyond int64"),
        ("", "must not be empty"),
    ],
)
def test_a_bad_resume_from_is_an_error_that_says_what_was_expected(value: str, message: str, store: Path) -> None:
    with pytest.raises(ValueError, match=message):
        tracker.init(project="p", resume_from=value)
    assert not store.exists()


def test_resume_from_and_what_contradicts_it() -> None:
    with pytest.raises(TypeError, match="resume_from must be a str"):
        tracker.init(project="p", resume_from=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="exclude each other"):
        tracker.init(project="p", resume_from="r@4", resume="never")
    with pytest.raises(ValueError, match="name two runs"):
        tracker.init(project="p", resume_from="r@4", id="other")


def test_the_first_row_of_a_step_is_shown_where_the_run_says_so() -> None:
    with pytest.raises(ValueError, match='expected one of "last", "first"'):
        tracker.init(project="p", duplicate_policy="mean")  # type: ignore[arg-type]
    with tracker.init(project="p", id="r", duplicate_policy="first", quiet=True) as run:
        for value in (1, 2, 3):
            run.log({"x": value}, step=0)
    assert tracker.open_run("p/r").history("x").values.tolist() == [1]
    assert tracker.open_run("p/r").history("x", all=True).values.tolist() == [1, 2, 3]


def test_an_attached_child_belongs_to_the_attempt_of_its_parent(script: Script) -> None:
    done = script("""
        import os, tracker
        run = tracker.init(project="p", id="r", quiet=True)
        run.log({"x": 1}, step=0)
        pid = os.fork()
        if pid == 0:
            mine = run.attach()
            mine.log({"y": 1}, step=0)
            mine.finish(1)
            os._exit(0)
        os.waitpid(pid, 0)
        run.finish()
        """)
    assert done.returncode == 0, done.stderr
    run = tracker.open_run("p/r")
    assert [writer["attempt"] for writer in run.writers] == [1, 1]
    assert run.state == "finished", "the parent's end is the run's"
    assert os.getpid() not in [writer["pid"] for writer in run.writers]
