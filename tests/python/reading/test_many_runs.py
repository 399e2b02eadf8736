# SPDX-License-Identifier: MIT
"""Goal: F27. A store of 10,000 runs, one of them of 10,000,000 points, is listed, filtered and cleared out in bounded
memory while another run logs into it and loses nothing.

Method: the benchmark's own generator makes the folders; the command line lists and removes them. What it costs is
measured by benchmarks/e2e/many_runs.py; here the answers count. TRACKER_TEST_RUNS and TRACKER_TEST_POINTS are sizes.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import tracker

ROOT = Path(__file__).resolve().parents[3]
RUNS = int(os.environ.get("TRACKER_TEST_RUNS", "2000"))
POINTS = int(os.environ.get("TRACKER_TEST_POINTS", "2000000"))
TEMPLATES = 64  # of many_runs
LISTING_MIB = 64  # resident memory of a process that lists runs, Python included
REMOVAL_MIB = 64

# The largest resident memory of a command: a process counts what its parent had before exec, hence a small one between.
BETWEEN = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[2:], stdout=open(sys.argv[1], "wb"))
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done.returncode)
"""


def command(store: Path, name: str, *arguments: str) -> tuple[dict[str, Any], float]:
    """The JSON document that a command prints, and its resident memory in MiB."""
    environment = {key: value for key, value in os.environ.items() if key != "TRACKER_PARENT_RUN"}
    document = store.parent / "document.json"
    line = [sys.executable, "-S", "-c", BETWEEN, str(document), sys.executable, "-m", "tracker", name, "--json"]
    done = subprocess.run(
        [*line, "--dir", str(store), *arguments], env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(document.read_text()), int(done.stdout) / 1024


def listing(store: Path, *arguments: str) -> dict[str, Any]:
    document, mib = command(store, "ls", *arguments)
    assert mib < LISTING_MIB + RUNS / 2000, "a hundred thousand runs may take 50 MiB more"
    return document


class Logger(threading.Thread):
    """Logs ten rows a second into a run until it is asked to stop."""

    def __init__(self, run: tracker.Run) -> None:
        super().__init__()
        self.run_, self.rows, self.longest_s = run, 0, 0.0
        self.stop = threading.Event()

    def run(self) -> None:
        while not self.stop.wait(0.1):
            start = time.perf_counter()
            self.run_.log({"live": float(self.rows)}, step=self.rows)
            self.longest_s = max(self.longest_s, time.perf_counter() - start)
            self.rows += 1


@pytest.fixture
def large_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """RUNS copied runs and one of POINTS points, which was compacted while it was written."""
    sys.path.insert(0, str(ROOT / "benchmarks" / "e2e"))
    many_runs = importlib.import_module("many_runs")
    path = tmp_path / "store"
    many_runs.make_store(str(path), RUNS)
    monkeypatch.setenv("TRACKER_DIR", str(path))
    big = tracker.init(project="big", id="big", quiet=True, on_full="block")
    metric = big.metric("loss")
    for step in range(POINTS):
        metric.log(step * 0.5, step)
    big.finish()
    return path


@pytest.mark.timeout(900)  # removing 5,000 runs is 10,000 fsyncs of folders
def test_runs_are_listed_filtered_and_removed_in_bounded_memory_while_one_logs(large_store: Path) -> None:
    run = tracker.init(project="bench", id="live", quiet=True)
    logger = Logger(run)
    logger.start()
    try:
        list_and_remove(large_store)
    finally:
        logger.stop.set()
        logger.join()
    assert logger.rows > 10
    assert run.status().points_dropped == 0
    run.finish()
    rows = tracker.open_run("bench/live").history("live")
    assert rows.steps.tolist() == list(range(logger.rows)), "it loses nothing"
    print(f"{logger.rows} rows logged meanwhile, the longest call {logger.longest_s * 1e3:.2f} ms")


def list_and_remove(store: Path) -> None:
    everything = listing(store, "--where", "state != running and project = bench")
    assert everything["matched"] == RUNS
    newest = [found["id"] for found in everything["runs"]]
    assert newest == [f"run--{RUNS - 1 - i:07d}" for i in range(len(newest))]
    good = listing(store, "--where", "config.lr <= 0.0105 and config.optim = adam", "--limit", "3", "--sort=created")
    assert good["matched"] == sum(i % TEMPLATES < 10 and i % 2 == 0 for i in range(RUNS))
    assert [found["id"] for found in good["runs"]] == ["run--0000000", "run--0000002", "run--0000004"]
    assert [found["id"] for found in listing(store, "--where", f"metrics.loss.count = {POINTS}")["runs"]] == ["big"]

    big = tracker.open_run("big/big")
    assert (big.points, big.state) == (POINTS, "finished")
    size = sum(file.stat().st_size for file in Path(big.dir).iterdir())
    assert size < 8 * POINTS, "its rows were packed while it was written"
    removed, mib = command(store, "rm", "--yes", "big/big")
    assert [found["id"] for found in removed["removed"]] == ["big"]
    assert removed["bytes"] >= size
    assert mib < REMOVAL_MIB, f"{mib} MiB to remove a run of {POINTS} points"

    half = sum(i % 2 == 0 for i in range(RUNS))
    removed, mib = command(store, "rm", "--yes", "--where", "config.optim = adam")
    assert len(removed["removed"]) == half
    assert mib < REMOVAL_MIB + RUNS / 1000, f"{mib} MiB to remove {half} runs"
    left = listing(store, "--where", "state != running")
    assert left["matched"] == RUNS - half
    live = listing(store, "--where", "state = running")
    assert [found["id"] for found in live["runs"]] == ["live"], "what logs meanwhile was left alone"
    print(f"removed {half} runs in {mib:.0f} MiB of memory")
