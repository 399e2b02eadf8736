# SPDX-License-Identifier: MIT
"""A store of 10,000 runs is listed, filtered and cleared out while another run logs into it.

Method: the benchmark's own generator makes the folders; the native program lists them. What it costs is measured by
benchmarks/e2e/many_runs.py; here the answers count, and that the run that logs loses nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tracker

ROOT = Path(__file__).resolve().parents[2]
RUNS = 10_000


def listing(store: Path, *arguments: str) -> dict[str, Any]:
    environment = {key: value for key, value in os.environ.items() if key != "TRACKER_PARENT_RUN"}
    command = [sys.executable, "-m", "tracker", "ls", "--json", "--dir", str(store), *arguments]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_ten_thousand_runs_are_listed_filtered_and_deleted_while_one_logs(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "benchmarks" / "e2e"))
    many_runs = pytest.importorskip("many_runs")
    store = tmp_path / "store"
    many_runs.make_store(str(store), RUNS)
    run = tracker.init(project="bench", id="live", dir=str(store), quiet=True)
    run.log({"loss": 0.0}, step=0)

    everything = listing(store, "--where", "state != running")
    assert everything["matched"] == RUNS
    newest = [found["id"] for found in everything["runs"]]
    assert newest == [f"run--{RUNS - 1 - i:07d}" for i in range(len(newest))]
    run.log({"loss": 1.0}, step=1)
    good = listing(store, "--where", "config.lr <= 0.0105 and config.optim = adam", "--limit", "3", "--sort=created")
    assert good["matched"] == sum(i % 64 < 10 and i % 2 == 0 for i in range(RUNS))
    assert [found["id"] for found in good["runs"]] == ["run--0000000", "run--0000002", "run--0000004"]

    for number in range(0, RUNS, 2):
        shutil.rmtree(store / "runs" / "bench" / f"run--{number:07d}")
        if number % 1000 == 0:
            run.log({"loss": float(number)}, step=2 + number)
    assert listing(store, "--where", "state != running")["matched"] == RUNS // 2
    live = listing(store, "--where", f"metrics.loss = {RUNS - 1000} or metrics.loss.count = 12")
    assert [found["id"] for found in live["runs"]] == ["live"]
    run.finish()
    assert tracker.open_run("bench/live", dir=str(store)).points == 2 + RUNS // 1000
