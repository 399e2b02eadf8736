# SPDX-License-Identifier: MIT
"""Goal: the tracker says what it takes from the training process, and the run keeps it.

Method: what status() says is held against a clock around the same calls; what is stored is read by every reader.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]
PACKAGE_ROOT = str(Path(tracker.__file__).parent.parent)

CALLS = 200_000


def test_time_in_calls_is_that_of_a_clock_to_a_factor_of_three(patient_run: tracker.Run) -> None:
    run = patient_run
    data = {"loss": 0.5, "acc": 0.25, "lr": 0.125, "n": 3}
    ratios, step = [], 0
    for _ in range(11):
        measured, before = 0.0, run.status().cost.call_seconds
        for _ in range(20):
            begin = time.thread_time()
            for _ in range(1000):
                step += 1
                run.log(data, step=step)
            measured += time.thread_time() - begin
            assert run.flush(60)  # a full ring is waited for, which is no CPU
        ratios.append((run.status().cost.call_seconds - before) / measured)
    # A thread that is taken off its core within a timed call makes one round long. The loop and the way of the
    # arguments into the call are in `measured` and not ours.
    assert 1 / 3 < statistics.median(ratios) < 3


def test_time_in_calls_is_counted(patient_run: tracker.Run) -> None:
    run = patient_run
    for step in range(CALLS):
        run.log({"loss": 0.5, "acc": 0.25, "lr": 0.125, "n": 3}, step=step)
    assert run.status().cost.call_seconds > 0


def test_a_run_that_does_nothing_costs_next_to_nothing(run: tracker.Run) -> None:
    time.sleep(0.5)
    cost = run.status().cost
    assert 256 * 1024 <= cost.memory_bytes <= cost.memory_bytes_max < 2**21


def test_threads_and_memory_are_counted(patient_run: tracker.Run) -> None:
    run = patient_run
    for step in range(CALLS):
        run.log({"loss": 0.5}, step=step)
    assert run.flush(60)
    cost = run.status().cost
    assert cost.thread_cpu_seconds > 0
    assert cost.memory_bytes_max <= 64 * 2**20


def show(script: Script, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return script("import sys, tracker.__main__; sys.exit(tracker.__main__.main())", "show", name, *arguments)


def test_a_run_keeps_what_it_took(patient_run: tracker.Run, script: Script) -> None:
    run = patient_run
    for step in range(CALLS):
        run.log({"loss": 0.5}, step=step)
    run.finish()
    cost = run.status().cost
    document = json.loads(show(script, run.id, "--json").stdout)
    stored = document["cost"]
    assert 0 < stored["call_ns"] <= cost.call_seconds * 1e9 + 1
    assert 0 < stored["thread_cpu_ns"] <= cost.thread_cpu_seconds * 1e9 + 1
    assert stored["memory_bytes_max"] > 0
    assert document["writers"][0]["cost"] == stored
    page = show(script, run.id).stdout
    assert "Cost of the tracker" in page
    assert "in log calls" in page


KILLED = """
import time, tracker

run = tracker.init(project="test", id="killed", quiet=True)
run.log({"loss": 0.5}, step=0)
assert run.flush()
run.log({"loss": 0.5}, step=1)
time.sleep(1.2)
assert run.flush()
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("files", ["sqlite"])
def test_a_killed_run_has_said_it_with_its_last_sign_of_life(tmp_path: Path, script: Script, files: str) -> None:
    path = tmp_path / "killed.py"
    path.write_text(KILLED)
    environment = {**os.environ, "PYTHONPATH": PACKAGE_ROOT, "TRACKER_STORE_FILES": files}
    process = subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    document = json.loads(show(script, "killed", "--json").stdout)
    assert document["state"] == "crashed"
    assert document["cost"]["thread_cpu_ns"] > 0


def test_a_frames_file_says_it_at_its_end(monkeypatch: pytest.MonkeyPatch, script: Script) -> None:
    monkeypatch.setenv("TRACKER_STORE_FILES", "frames")
    run = tracker.init(project="test", quiet=True)
    run.log({"loss": 0.5}, step=0)
    run.finish()
    assert json.loads(show(script, run.id, "--json").stdout)["cost"]["memory_bytes_max"] > 0
