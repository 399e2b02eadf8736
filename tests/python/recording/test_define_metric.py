# SPDX-License-Identifier: MIT
"""Goal: define_metric() decides what stands for a metric in the summary, for readers, the command line and to_pandas.
Method: runs that log a few values; wrong arguments."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tracker


def read_back(run: tracker.Run) -> Any:
    return tracker.open_run(run.uid)


def test_summary_kinds_are_in_the_summary(run: tracker.Run) -> None:
    run.define_metric("loss", summary="min", goal="minimize", step_metric="epoch")
    run.define_metric("val/*", summary=["best", "mean"], goal="maximize")
    for epoch, (loss, acc) in enumerate([(3.0, 0.5), (1.0, 0.9), (2.0, 0.7)]):
        run.log({"loss": loss, "val/acc": acc, "epoch": epoch})
    run.finish()
    stored = read_back(run)
    assert stored.summary["loss"] == 1.0
    assert stored.summary["val/acc"] == stored.summary["val/acc.best"] == 0.9
    assert stored.summary["val/acc.mean"] == pytest.approx(0.7)
    assert stored.summary["epoch"] == 2
    loss = next(metric for metric in stored.metrics() if metric.name == "loss")
    assert (loss.step_metric, loss.summary, loss.goal) == ("epoch", ("min",), "minimize")


def test_a_chart_is_over_the_step_metric_unless_it_says_otherwise(run: tracker.Run) -> None:
    run.define_metric("loss", step_metric="epoch")
    run.define_metric("acc", step_metric="never logged")
    for step in range(6):
        run.log({"loss": float(step), "acc": 0.0, "epoch": step // 2 / 10}, step=step)
    run.log({"loss": 9.0}, step=9)
    run.finish()
    stored = read_back(run)
    over = stored.chart("loss")
    assert (over.x_name, over.rows, over.left_out) == ("epoch", 6, 1)
    assert over.x0.min() == 0.0
    assert over.x1.max() == 0.2
    assert stored.chart("loss", x="step").x0.tolist() == [0, 1, 2, 3, 4, 5, 9]
    assert stored.chart("acc").x_name == stored.chart("epoch").x_name == "step"


def test_the_live_summary_of_the_run_follows_the_definition(run: tracker.Run) -> None:
    run.define_metric("loss", summary="max")
    for value in (1.0, 5.0, 2.0):
        run.log({"loss": value})
    assert run.summary["loss"] == 5.0
    run.summary["loss"] = -1
    assert run.summary["loss"] == -1


def test_the_module_function_acts_on_the_current_run(run: tracker.Run) -> None:
    tracker.define_metric("x", summary="min")
    tracker.log({"x": 1})
    tracker.log({"x": 2})
    run.finish()
    assert read_back(run).summary["x"] == 1
    with pytest.raises(RuntimeError, match="there is no run"):
        tracker.define_metric("x")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"name": "a", "summary": "median"}, ValueError, 'expected "min", "max", "mean", "last", "best"'),
        ({"name": "a", "summary": ["min", 3]}, TypeError, "a list of str"),
        ({"name": "a", "summary": 3}, TypeError, "a list of str"),
        ({"name": "a", "goal": "min"}, ValueError, 'expected "minimize" or "maximize"'),
        ({"name": "a", "summary": "best"}, ValueError, "needs goal"),
        ({"name": ""}, ValueError, "empty"),
        ({"name": 3}, TypeError, "name must be a str"),
        ({"name": "a", "step_metric": "e*"}, ValueError, "the name of one metric"),
    ],
)
def test_wrong_arguments_are_errors_at_once(
    run: tracker.Run, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        run.define_metric(**arguments)


def test_a_gated_rank_checks_and_records_nothing(monkeypatch: pytest.MonkeyPatch, store: Path) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with tracker.init(project="p", quiet=True) as run:
        run.define_metric("a", summary="min")
        with pytest.raises(ValueError, match="median"):
            run.define_metric("a", summary="median")
    assert not (store / "runs").exists()


def test_show_json_names_the_definition(run: tracker.Run) -> None:
    run.define_metric("loss", summary=["min", "last"], goal="minimize", step_metric="epoch")
    run.log({"loss": 1.0})
    run.finish()
    done = subprocess.run(
        [sys.executable, "-m", "tracker", "show", run.uid, "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (loss,) = json.loads(done.stdout)["metrics"]
    assert loss["definition"] == {"step_metric": "epoch", "summary": ["min", "last"], "goal": "minimize"}
