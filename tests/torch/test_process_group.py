# SPDX-License-Identifier: MIT
"""Goal: ranks of a process group that no launcher has named find the run of rank 0 through the group's store.

Method: three processes with gloo over TCP, given their ranks by arguments alone, as plain `python` on several nodes is.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import tracker

RANKS = 3
TIMEOUT_S = 120

TRAIN = """
import sys, torch, torch.distributed as dist, tracker
rank, size, port = map(int, sys.argv[1:4])
dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
for n in range(2):
    run = tracker.init(project="group", ranks=sys.argv[4])
    for step in range(20):
        run.log({"loss": step + rank / 8, "n": n}, step=step)
    dist.barrier()
    run.finish()
    dist.barrier()
dist.destroy_process_group()
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def job(mode: str) -> None:
    port = str(free_port())
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TRAIN, str(rank), str(RANKS), port, mode],
            env=dict(os.environ),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(RANKS)
    ]
    for process in processes:
        _, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, err


@pytest.mark.parametrize("mode", ["observe", "all"])
def test_ranks_of_a_process_group_started_by_hand_make_one_run(store: Path, mode: str) -> None:
    job(mode)
    runs = list(tracker.runs(dir=str(store)))
    assert len(runs) == 2, "one for each init"
    for run in runs:
        assert [rank.rank for rank in run.ranks()] == [0, 1, 2]
        assert run.points == 2 * 20 * (RANKS if mode == "all" else 1)
        assert len(set(run.history("n", all=True).values.tolist())) == 1, "the two are not mixed"


def test_a_group_that_is_started_again_makes_other_runs(store: Path) -> None:
    job("all")
    job("all")
    runs = list(tracker.runs(dir=str(store)))
    assert [len(run.ranks()) for run in runs] == [RANKS] * 4
