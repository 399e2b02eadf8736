# SPDX-License-Identifier: MIT
"""examples/torchrun records one complete run, as its README says. Method: torchrun with two processes, read back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import tracker

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "torchrun" / "train.py"


def test_torchrun_example_records_one_complete_run(store: Path, launch: Callable[..., object]) -> None:
    done = launch(EXAMPLE.read_text(), torchrun=["--standalone", "--nproc-per-node=2"])
    assert done.returncode == 0, done.stderr
    (run,) = tracker.runs(dir=str(store))
    assert run.state == "finished"
    assert run.config["world_size"] == 2
    assert run.history("loss").steps.tolist() == list(range(200))
    assert run.history("acc").values[-1] > 0.8
