# SPDX-License-Identifier: MIT
"""Goal: whatever launched eight processes, one run exists, rank 0 wrote it, and the others neither raise, block nor
write (F11). Method: real processes at the same time with the environment of each launcher, stdin closed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker

RANKS = 8
TIMEOUT_S = 60

# Every rank calls the whole interface; what it raises would end it with another exit code.
PROGRAM = """
import tracker
run = tracker.init(project="job", config={"lr": 0.1}, tags=["t"], strict=True)
for step in range(20):
    run.log({"loss": 1.0 / (1 + step), "rank": run.rank}, step=step)
run.metric("handle").log(1.0, 0)
run.config["more"] = 1
run.summary["best"] = run.rank
assert run.config["more"] == 1 and run.config["lr"] == 0.1
assert run.flush() and run.status() is not None and run.dir and run.name is not None
run.finish()
"""


def torchrun_2x4(rank: int) -> dict[str, str]:
    return {
        "RANK": str(rank),
        "WORLD_SIZE": "8",
        "LOCAL_RANK": str(rank % 4),
        "LOCAL_WORLD_SIZE": "4",
        "GROUP_RANK": str(rank // 4),
        "MASTER_ADDR": "10.0.0.1",
        "MASTER_PORT": "29500",
        "TORCHELASTIC_RUN_ID": "none",
        "TORCHELASTIC_RESTART_COUNT": "0",
    }


def srun(rank: int) -> dict[str, str]:
    return {
        "SLURM_JOB_ID": "4711",
        "SLURM_STEP_ID": "0",
        "SLURM_PROCID": str(rank),
        "SLURM_NTASKS": "8",
        "SLURM_LOCALID": str(rank % 4),
        "SLURM_NODEID": str(rank // 4),
    }


def mpirun(rank: int) -> dict[str, str]:
    return {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_LOCAL_RANK": str(rank)}


def mpich(rank: int) -> dict[str, str]:
    return {"PMI_RANK": str(rank), "PMI_SIZE": "8"}


def jsrun(rank: int) -> dict[str, str]:
    return {"JSM_NAMESPACE_RANK": str(rank), "JSM_NAMESPACE_SIZE": "8"}


def pytorch_job(rank: int) -> dict[str, str]:
    return {"RANK": str(rank), "WORLD_SIZE": "8", "LOCAL_RANK": "0", "MASTER_ADDR": "master-0", "MASTER_PORT": "23456"}


# Promise P7: In a distributed job one run exists and rank 0 writes it, without `if rank == 0`.
@pytest.mark.parametrize("launcher", [torchrun_2x4, srun, mpirun, mpich, jsrun, pytorch_job])
def test_eight_processes_of_a_launcher_make_one_run_that_rank_0_wrote(
    launcher: Callable[[int], dict[str, str]], store: Path
) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, **launcher(rank)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(RANKS)
    ]
    ends = [process.communicate(timeout=TIMEOUT_S) for process in processes]
    assert [process.returncode for process in processes] == [0] * RANKS, ends
    (run,) = tracker.runs(dir=str(store))
    assert run.state == "finished"
    assert run.history("rank").values.tolist() == [0] * 20
    assert run.summary["best"] == 0
    for rank, (out, err) in enumerate(ends):
        assert out == ""
        said = [line for line in err.splitlines() if "records nothing" in line]
        assert len(said) == (0 if rank == 0 else 1), err
        if rank > 0:
            assert f"rank {rank} of 8" in said[0]


def test_a_variable_of_one_process_alone_gates_no_process(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    monkeypatch.setenv("SLURM_PROCID", "0")
    monkeypatch.setenv("SLURM_NTASKS", "1")
    with tracker.init(project="p", quiet=True) as run:
        run.log({"x": 1.0}, step=0)
    assert tracker.open_run(run.id).series() == ["x"]


def test_a_local_rank_alone_is_not_rank_0() -> None:
    # In a process of its own: the line is said once a process.
    program = """
import tracker
run = tracker.init()
run.log({"x": 1.0}, step=0)
print(run.status().recording, run.rank, run.world_size, run.dir)
"""
    env = {**os.environ, "LOCAL_RANK": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False -1 0 "), "its rank is not known: 1 is that of its node"
    assert done.stdout.rstrip().endswith("/LOCAL_RANK-1")
    assert "not rank 0 (LOCAL_RANK=1)" in done.stderr


def test_a_rank_that_is_no_number_is_named_once_and_the_process_records() -> None:
    program = """
import tracker
for _ in range(2):
    with tracker.init(quiet=True) as run:
        run.log({"x": 1.0}, step=0)
    print(run.status().points_stored)
"""
    env = {**os.environ, "RANK": "x", "WORLD_SIZE": "8"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n1\n"
    assert done.stderr.startswith("tracker: RANK is 'x', which is no number from 0 (WORLD_SIZE is 8)")
    assert done.stderr.count("\n") == 1
