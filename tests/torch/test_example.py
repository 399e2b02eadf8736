# SPDX-License-Identifier: MIT
"""The examples that need torch record what their READMEs say. Method: run as users run them, and read back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import tracker

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_torchrun_example_records_one_complete_run(store: Path, launch: Callable[..., object]) -> None:
    done = launch((EXAMPLES / "torchrun" / "train.py").read_text(), torchrun=["--standalone", "--nproc-per-node=2"])
    assert done.returncode == 0, done.stderr
    (run,) = tracker.runs(dir=str(store))
    assert run.state == "finished"
    assert run.config["world_size"] == 2
    assert run.history("loss").steps.tolist() == list(range(200))
    assert run.history("acc").values[-1] > 0.8


def test_watch_example_logs_gradients_and_parameters_beside_the_loss(
    store: Path, launch: Callable[..., object]
) -> None:
    done = launch((EXAMPLES / "watch" / "train.py").read_text())
    assert done.returncode == 0, done.stderr
    (run,) = tracker.runs(dir=str(store))
    assert run.history("loss").steps.tolist() == list(range(500))
    for kind in ("gradients", "parameters"):
        for what in ("norm", "mean", "std", "min", "max"):
            assert run.history(f"{kind}/0.weight/{what}").steps.tolist() == [0, 100, 200, 300, 400]
        assert [entry.step for entry in run.media(f"{kind}/2.bias/histogram")] == [0, 100, 200, 300, 400]
