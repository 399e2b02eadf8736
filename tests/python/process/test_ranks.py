# SPDX-License-Identifier: MIT
"""Goal: in a distributed job one process records; on the others every call works and does nothing.
Method: environments of launchers, and a module that stands for torch.distributed. Real launchers: tests/torch."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest
import tracker


def use_everything(run: tracker.Run) -> None:
    run.log({"x": 1.0, "nested": {"y": 2}, "text": "t", "bad": object()}, step=0)
    run.metric("x").log(2.0)
    run.config["more"] = 1
    run.summary["best"] = 2
    assert run.config["more"] == 1
    assert run.config["lr"] == 0.1
    assert run.summary["best"] == 2
    assert Path(run.dir).is_dir()
    assert run.flush() is True
    assert run.status().recording is False
    assert run.status().points_logged == 0


def test_a_gated_rank_says_so_once_and_does_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    monkeypatch.setenv("TRACKER_RUN_ID", "shared")
    with tracker.init(project="p", config={"lr": 0.1}, strict=True) as run:
        with pytest.raises(TypeError, match="data must be a dict"):
            run.log(3)  # type: ignore[arg-type]
        use_everything(run)
        assert (run.rank, run.world_size) == (3, 8)
    lines = capfd.readouterr().err.splitlines()
    assert lines == [line for line in lines if line.startswith("tracker: rank 3 of 8 (from RANK) records nothing")]
    assert len(lines) == 1


def test_an_argument_beats_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    monkeypatch.setenv("TRACKER_RUN_ID", "shared")
    with tracker.init(project="p", rank=0, world_size=8, quiet=True) as run:
        run.log({"x": 1.0}, step=0)
    assert tracker.open_run("p/shared").series() == ["x"]


@pytest.mark.parametrize("rank", [0, 1])
def test_torch_distributed_is_asked_where_it_is_initialised(monkeypatch: pytest.MonkeyPatch, rank: int) -> None:
    torch = types.SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda: rank, get_world_size=lambda: 2
    )
    monkeypatch.setitem(sys.modules, "torch.distributed", torch)
    monkeypatch.setenv("TRACKER_RUN_ID", "shared")
    with tracker.init(project="p", quiet=True) as run:
        assert run.status().recording is (rank == 0)
        assert (run.rank, run.world_size) == (rank, 2)


def test_a_torch_that_is_half_there_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.distributed", types.SimpleNamespace())
    with tracker.init(project="p", quiet=True) as run:
        assert run.status().recording is True


def test_a_ranks_mode_that_does_not_exist_is_refused_with_a_reason() -> None:
    with pytest.raises(ValueError, match='expected one of "first", "observe", "all"'):
        tracker.init(project="p", ranks="some", quiet=True)  # type: ignore[arg-type]
