# SPDX-License-Identifier: MIT
"""Goal: ranks="all" gives one run with every rank's rows, read by rank and across ranks, also when a rank is killed;
"observe" leaves a sign of life of every rank. Method: real processes at once with the environment of torchrun."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import tracker

RANKS = 8
TIMEOUT_S = 120

PROGRAM = """
import os, signal, tracker
run = tracker.init(project="job", config={"lr": 0.1}, strict=True)
for step in range(100):
    run.log({"loss": step + run.rank / 8, f"only/{run.rank}": step}, step=step)
    if run.rank == 3 and step == 40 and os.environ.get("KILL"):
        os.kill(os.getpid(), signal.SIGKILL)
run.config["rank"] = run.rank
assert run.config["rank"] == run.rank
run.finish()
"""


def launch(**extra: str) -> list[subprocess.CompletedProcess[str]]:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env={
                **os.environ,
                "RANK": str(rank),
                "WORLD_SIZE": str(RANKS),
                "LOCAL_RANK": str(rank),
                "LOCAL_WORLD_SIZE": str(RANKS),
                "TORCHELASTIC_RUN_ID": "none",
                "TORCHELASTIC_RESTART_COUNT": "0",
                **extra,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(RANKS)
    ]
    out = []
    for process in processes:
        stdout, stderr = process.communicate(timeout=TIMEOUT_S)
        out.append(subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr))
    return out


def test_eight_ranks_record_into_one_run(store: Path) -> None:
    done = launch(TRACKER_RANKS="all")
    assert [process.returncode for process in done] == [0] * RANKS, done
    assert [process.stdout for process in done] == [""] * RANKS
    assert ["records" in process.stderr or "recording" in process.stderr for process in done] == [True] + [False] * 7
    (run,) = tracker.runs(dir=str(store))
    assert run.state == "finished"
    assert run.points == RANKS * 200
    assert [rank.rank for rank in run.ranks()] == list(range(RANKS))
    assert {rank.last_step for rank in run.ranks()} == {99}
    assert {writer.attempt for writer in run.writers} == {1}
    assert run.history("loss").values.tolist() == [float(step) for step in range(100)], "rank 0 by default"
    rows = run.history("loss", all=True)
    for rank in range(RANKS):
        assert rows.values[rows.ranks == rank].tolist() == [step + rank / 8 for step in range(100)]
    across = run.across_ranks("loss")
    assert across.steps.tolist() == list(range(100))
    assert across.ranks == list(range(RANKS))
    assert np.array_equal(across.min, np.arange(100.0))
    assert np.array_equal(across.max, np.arange(100.0) + 7 / 8)
    assert np.array_equal(across.mean, np.arange(100.0) + 3.5 / 8)
    assert set(across.min_rank.tolist()) == {0}
    assert set(across.max_rank.tolist()) == {7}
    assert set(across.count.tolist()) == {RANKS}
    assert "8 ranks" in repr(across)


def test_a_killed_rank_keeps_its_rows_and_is_named(store: Path) -> None:
    done = launch(TRACKER_RANKS="all", KILL="1")
    assert [process.returncode for process in done] == [0, 0, 0, -9, 0, 0, 0, 0], done
    (run,) = tracker.runs(dir=str(store))
    assert (run.state, run.state_detail) == ("finished", "rank 3 crashed")
    dead = run.ranks()[3]
    assert (dead.state, dead.last_step, dead.points) == ("crashed", 40, 82)
    across = run.across_ranks("loss")
    assert across.count.tolist() == [RANKS] * 41 + [RANKS - 1] * 59
    shown = subprocess.run(
        [sys.executable, "-m", "tracker", "show", run.uid], capture_output=True, text=True, check=True
    ).stdout
    assert "rank 3 last logged step 40, 59 behind rank 0" in shown


def test_observed_ranks_leave_a_sign_of_life_and_no_metric(store: Path) -> None:
    done = launch(TRACKER_RANKS="observe")
    assert [process.returncode for process in done] == [0] * RANKS, done
    for rank, process in enumerate(done[1:], start=1):
        assert f"rank {rank} of 8 (from RANK) records no metrics" in process.stderr
    (run,) = tracker.runs(dir=str(store))
    assert run.points == 200
    assert run.config == {"lr": 0.1, "rank": 0}
    assert [rank.observed for rank in run.ranks()] == [False] + [True] * 7
    assert {rank.state for rank in run.ranks()} == {"finished"}
    assert all(rank.last_seen is not None and rank.last_step is None for rank in run.ranks()[1:])


def test_ranks_without_a_common_run_are_refused_with_a_line(store: Path) -> None:
    program = """
import tracker
with tracker.init(project="p", ranks="all") as run:
    run.log({"x": 1}, step=0)
    print(run.status().recording)
"""
    for rank, recording in ((3, "False"), (0, "True")):
        env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "8"}
        done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == recording
        if rank == 3:
            line = "tracker: rank 3 of 8 (from RANK) records nothing: nothing names the run that the ranks share"
            assert done.stderr.startswith(line)
            assert not store.exists()
    (run,) = tracker.runs(dir=str(store))
    assert run.points == 1
