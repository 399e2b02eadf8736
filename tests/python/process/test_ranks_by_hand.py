# SPDX-License-Identifier: MIT
"""Goal: ranks without a launcher's id (PyTorchJob, plain `python` on several nodes) find the run of rank 0 by the claim
that it carries, and never that of another job. Method: real processes with RANK, WORLD_SIZE, MASTER_ADDR and
MASTER_PORT, started by hand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tracker

RANKS = 3
TIMEOUT_S = 60

PROGRAM = """
import os, sys, time, tracker
run = tracker.init(project="hand", **eval(os.environ.get("INIT", "{}")))
for step in range(20):
    run.log({"loss": step + run.rank / 8}, step=step)
if "MODEL" in os.environ:
    model = tracker.Artifact(os.environ["MODEL"], type="model")
    model.add_file(sys.argv[0])
    run.log_artifact(model, aliases=["best"])
print("said", flush=True)
if "HOLD" in os.environ:
    sys.stdin.read()
run.finish()
print(run.id, run.status().points_stored, run.status().points_dropped)
"""


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(PROGRAM)


def start(rank: int, port: int = 29500, size: int = RANKS, **extra: str) -> subprocess.Popen[str]:
    variables = {"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "master-0", "MASTER_PORT": str(port)}
    return subprocess.Popen(
        [sys.executable, "program.py"],
        env={**os.environ, **variables, "TRACKER_RANKS": "all", **extra},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(*processes: subprocess.Popen[str]) -> list[str]:
    """Their last words on stdout; a process that failed fails the test."""
    out = []
    for process in processes:
        said, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, err
        out.append(said.splitlines()[-1])
    return out


def wait_for_ranks(count: int) -> None:
    """A waiting rank looks once a second."""
    end = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end and [len(run.ranks()) for run in tracker.runs()] != [count]:
        time.sleep(0.1)


def job(port: int = 29500, **extra: str) -> list[str]:
    return end(*[start(rank, port, RANKS, **extra) for rank in reversed(range(RANKS))])


# Promise P7: Ranks that nothing names find the run of rank 0; two jobs never mix; a dead rank 0 is not joined.
@pytest.mark.parametrize("address", ["master-0", "127.0.0.1", "localhost"])
def test_three_processes_started_by_hand_make_one_run(store: Path, address: str) -> None:
    said = job(MASTER_ADDR=address)
    (run,) = tracker.runs(dir=str(store))
    assert said == [f"{run.id} 20 0"] * RANKS
    assert run.state == "finished"
    assert run.points == RANKS * 20
    assert [rank.rank for rank in run.ranks()] == [0, 1, 2]
    assert {writer.attempt for writer in run.writers} == {1}


def test_three_processes_started_by_hand_are_observed_in_one_run(store: Path) -> None:
    job(TRACKER_RANKS="observe")
    (run,) = tracker.runs(dir=str(store))
    assert run.points == 20
    assert [(rank.rank, rank.observed) for rank in run.ranks()] == [(0, False), (1, True), (2, True)]


def test_a_job_that_is_started_again_makes_a_second_run(store: Path) -> None:
    job()
    job()
    runs = list(tracker.runs(dir=str(store)))
    assert [run.points for run in runs] == [RANKS * 20] * 2
    assert [[rank.rank for rank in run.ranks()] for run in runs] == [[0, 1, 2]] * 2


@pytest.mark.parametrize("init", ["{'resume': 'allow'}", "{'id': 'same', 'resume': 'allow'}"])
def test_a_job_that_is_started_again_and_resumes_makes_a_second_attempt(store: Path, init: str) -> None:
    for _ in range(2):
        job(INIT=init)
    (run,) = tracker.runs(dir=str(store))
    assert sorted((writer.rank, writer.attempt) for writer in run.writers) == [
        (rank, attempt) for rank in range(RANKS) for attempt in (1, 2)
    ]


def test_two_jobs_at_once_never_mix(store: Path) -> None:
    jobs = [[start(rank, port) for rank in reversed(range(RANKS))] for port in (29500, 29501)]
    said = [end(*processes) for processes in jobs]
    assert [len(set(each)) for each in said] == [1, 1]
    assert said[0] != said[1]
    assert [run.points for run in tracker.runs(dir=str(store))] == [RANKS * 20] * 2


def test_a_rank_0_that_was_killed_before_is_not_joined(store: Path) -> None:
    dead = start(0, HOLD="1")
    assert dead.stdout is not None
    assert dead.stdout.readline() == "said\n"
    dead.send_signal(signal.SIGKILL)
    dead.communicate()
    late = start(1)
    said, err = late.communicate(timeout=TIMEOUT_S)
    assert late.returncode == 0
    assert said.splitlines()[-1].split()[1:] == ["0", "20"]
    assert "rank 1 of 3 (from RANK) found no run of rank 0 to record into: 20 points dropped" in err
    assert "the same TRACKER_RUN_ID on all ranks" in err
    (run,) = tracker.runs(dir=str(store))
    assert [rank.rank for rank in run.ranks()] == [0]


# Promise P5: Points that a rank logs before rank 0 starts are stored; a rank that finds no run gives up, counts and
# says so.
def test_what_a_rank_logs_before_rank_0_begins_is_stored(store: Path) -> None:
    early = start(1, size=2, HOLD="1", MODEL="early")
    assert early.stdout is not None
    assert early.stdout.readline() == "said\n"
    assert len(tracker.runs(dir=str(store))) == 0
    first = start(0, size=2, HOLD="1")
    assert first.stdout is not None
    assert first.stdout.readline() == "said\n"
    wait_for_ranks(2)
    end(early, first)
    (run,) = tracker.runs(dir=str(store))
    assert run.points == 40
    rows = run.history("loss", all=True)
    assert rows.values[rows.ranks == 1].tolist() == [step + 1 / 8 for step in range(20)]
    assert [made.name for made in run.outputs] == ["hand/early:v0"]
    assert {move.run for move in run.outputs[0].artifact().alias_history} == {run.uid}


def test_a_rank_that_is_killed_before_it_found_a_run_is_counted(store: Path) -> None:
    early = start(1, HOLD="1")
    assert early.stdout is not None
    assert early.stdout.readline() == "said\n"
    early.send_signal(signal.SIGKILL)
    early.communicate()
    done = subprocess.run([sys.executable, "-m", "tracker", "ls"], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert "hand: rank 1 (pid" in done.stderr
    assert "was killed before it found the run of rank 0: what it logged is lost: 20 points" in done.stderr
    again = subprocess.run([sys.executable, "-m", "tracker", "ls"], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert "was killed" not in again.stderr


def test_a_rank_that_is_killed_after_that_is_recovered_into_the_run(store: Path) -> None:
    first, second = (start(rank, size=2, HOLD="1") for rank in (0, 1))
    for process in (first, second):
        assert process.stdout is not None
        assert process.stdout.readline() == "said\n"
    wait_for_ranks(2)
    second.send_signal(signal.SIGKILL)
    second.communicate()
    end(first)
    (run,) = tracker.runs(dir=str(store))
    assert run.points == 40


# Bug: for a moment the id was the text "none", the name of the journal of a rank that waits.
def test_the_id_of_a_rank_that_waits_is_none_and_then_that_of_the_run(store: Path) -> None:
    Path("program.py").write_text(
        "import time, tracker\n"
        "run = tracker.init(project='hand')\n"
        "print('said', flush=True)\n"
        "ids, names, stored, end = [], [], False, time.monotonic() + 30\n"
        "while time.monotonic() < end and not stored:\n"
        "    stored = run.status().points_stored > 0\n"
        "    for seen, now in ((ids, run.id), (names, run.name)):\n"
        "        if now not in seen:\n"
        "            seen.append(now)\n"
        "    run.log({'x': 1.0}, step=0)\n"
        "    time.sleep(0.001 if run.rank else 0.1)\n"
        "print(ids, names)\n"
    )
    waiting = start(1, size=2)
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "said\n"
    first = start(0, size=2)
    (seen, _) = end(waiting, first)
    (run,) = tracker.runs(dir=str(store))
    assert seen == f"{[None, run.id]} {['', run.id]}"
