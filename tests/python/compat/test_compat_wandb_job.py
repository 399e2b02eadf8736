# SPDX-License-Identifier: MIT
"""Goal: a job of the platform of scenarios U3 is killed, goes on in the same run, and is read while it runs.
Method: the job in a process of its own, killed by SIGKILL; the platform reads with tracker.open_run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import tracker

PACKAGE_ROOT = str(Path(tracker.__file__).parent.parent)
JOB = """
    import json, os, sys, time
    import tracker.compat.wandb as wandb

    wandb.login(key="0123456789abcdef", host="http://127.0.0.1:9")
    run = wandb.init(project="jobs", entity="platform", id=os.environ["JOB_ID"], resume="allow",
                     config={"learning_rate": 0.1, "epochs": 3, "batch_size": 32, "network": "lenet"})
    checkpoint, iterations = "checkpoint.json", 10
    epoch = json.load(open(checkpoint))["epoch"] + 1 if os.path.exists(checkpoint) else 0
    while epoch < wandb.config.epochs:
        for i in range(iterations):
            n = epoch * iterations + i
            wandb.log({"iteration": n, "trained_samples": n * 32, "total_samples": 3 * iterations * 32})
        json.dump({"epoch": epoch}, open(checkpoint, "w"))
        print("epoch", epoch, flush=True)
        if "--wait" in sys.argv and epoch == 1:
            time.sleep(60)
        epoch += 1
    wandb.finish()
"""


def test_a_killed_job_goes_on_in_the_same_run_and_is_read_while_it_runs(tmp_path: Path, store: Path) -> None:
    program = tmp_path / "job.py"
    program.write_text(textwrap.dedent(JOB))
    env = {**os.environ, "PYTHONPATH": PACKAGE_ROOT, "JOB_ID": "job-7"}
    first = subprocess.Popen([sys.executable, str(program), "--wait"], env=env, stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    with first.stdout as lines:
        for line in lines:
            if line == "epoch 1\n":
                break
        live = tracker.open_run("jobs/job-7")
        deadline = time.monotonic() + 30
        while live.points < 60 and time.monotonic() < deadline:
            time.sleep(0.05)
            live.refresh()
        table = live.history(["iteration", "trained_samples", "total_samples"])
        assert (live.state, table["iteration"].tolist()) == ("running", list(range(20)))
        assert (table["trained_samples"].tolist()[-1], table["total_samples"].tolist()[-1]) == (19 * 32, 960)
        first.send_signal(signal.SIGKILL)
        first.wait()
    again = subprocess.run([sys.executable, str(program)], env=env, capture_output=True, text=True, check=True)
    stored = tracker.open_run("jobs/job-7")
    history = stored.history("iteration")
    assert history.values.tolist() == list(range(30))
    assert history.steps.tolist() == list(range(30))
    assert len(stored.history("iteration", all=True)) == 30
    assert (stored.state, stored.config["network"], len(stored.attempts())) == ("finished", "lenet", 2)
    assert [line.text for line in stored.console(stream="stdout")] == ["epoch 0", "epoch 1", "epoch 2"]
    assert "http://127.0.0.1:9 is not contacted" in again.stderr


def test_the_example_of_the_documentation_records_what_it_logs(tmp_path: Path) -> None:
    program = Path(__file__).resolve().parents[3] / "examples" / "compat" / "train_wandb.py"
    env = {**os.environ, "PYTHONPATH": PACKAGE_ROOT, "WANDB_RUN_ID": "shown"}
    subprocess.run([sys.executable, str(program)], env=env, cwd=tmp_path, check=True)
    stored = tracker.open_run("mnist/shown")
    assert stored.series() == ["iteration", "train.loss", "val/accuracy"]
    assert len(stored.history("train.loss")) == 200
    assert stored.summary["val/accuracy"] == pytest.approx(0.85)
    assert (stored.summary["note"], stored.media_names()) == ("converged", ["errors"])
