# SPDX-License-Identifier: MIT
"""Question: how fast does a run reach a server, and how soon does its reader see a point?

Workload: `tracker server` on loopback, a process of its own; 20 metrics of float64 that no encoder foresees, logged
together. Finished: 10,000,000 points, compacted, from the start of `tracker sync` until a chart over HTTP has the last
row; a new server store each round. Live: mode="online" logs 4,000,000 points as fast as the ring takes them, from the
first call until the chart has the last row; so does a run whose process sends nothing, by `tracker sync` beside it,
which takes what is frames yet. Seen after: a call now and then, from its return until a reader that asks each 10 ms
sees it. All of it is on the same cores, so the CPU time of server and `tracker sync` stands beside: it hardly depends
on what else runs there.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import harness
import numpy as np
import tracker
from harness import Row

METRICS = [f"metric/{n}" for n in range(20)]
FINISHED_STEPS = int(os.environ.get("BENCH_STEPS", "500000"))
LIVE_STEPS = FINISHED_STEPS * 2 // 5
ROUNDS = 3
SEEN_POINTS = 30
SECONDS_MAX = 300


def tracker_command(*words: str, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tracker", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **more},
    )


def output(*words: str, **more: str) -> str:
    process = tracker_command(*words, **more)
    said, problems = process.communicate(timeout=SECONDS_MAX)
    harness.require(process.returncode == 0, f"tracker {' '.join(words)} succeeds: {problems}")
    return said


def ended_cpu() -> float:
    """Seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def server(store: str) -> Iterator[tracker.Connection]:
    """Named by TRACKER_HOST and TRACKER_TOKEN meanwhile."""
    scopes = ("--scope", "ingest", "--scope", "read")
    os.environ["TRACKER_TOKEN"] = output("server", "token", "create", "--dir", store, "--name", "b", *scopes).strip()
    process = tracker_command("server", "--dir", store, "--port", "0")
    assert process.stderr is not None
    os.environ["TRACKER_HOST"] = process.stderr.readline().strip().removeprefix("tracker: ")
    try:
        yield tracker.connect(os.environ["TRACKER_HOST"])
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=SECONDS_MAX)
        del os.environ["TRACKER_HOST"], os.environ["TRACKER_TOKEN"]


def log(run: tracker.Run, steps: int) -> None:
    values = np.random.default_rng(0).standard_normal((1000, len(METRICS))).cumsum(axis=0).tolist()
    for step in range(steps):
        run.log(dict(zip(METRICS, values[step % 1000], strict=True)), step=step)


def wait_for(connection: tracker.Connection, uid: str, step: int, metric: str = METRICS[-1]) -> None:
    """Until the chart over HTTP has this row."""
    end = time.monotonic() + SECONDS_MAX
    while time.monotonic() < end:
        try:
            if len(connection.open_run(uid).chart(metric, lo=step).last):
                return
        except tracker.NotFoundError:
            pass
        time.sleep(0.01)
    harness.require(False, f"step {step} is seen within {SECONDS_MAX} s")


def finished(folder: str) -> tuple[list[float], list[float]]:
    """M points/s of each round, by the clock and by the CPU time of server and client."""
    store, points = folder + "/finished", FINISHED_STEPS * len(METRICS)
    with tracker.init(project="bench", id="run", dir=store, quiet=True, on_full="block") as run:
        log(run, FINISHED_STEPS)
    output("gc", "--dir", store)
    out, cpu = [], []
    for turn in range(ROUNDS):
        cpu_before = ended_cpu()
        with server(f"{folder}/server{turn}") as connection:
            begin = time.monotonic()
            said = json.loads(output("sync", "run", "--dir", store, "--json"))
            wait_for(connection, run.uid, FINISHED_STEPS - 1)
            out.append(points / (time.monotonic() - begin) / 1e6)
            harness.require(said["points_sent"] == points, "all points are sent")
            harness.require(connection.open_run(run.uid)._look()["points"] == points, "and stored")
        cpu.append(points / (ended_cpu() - cpu_before) / 1e6)
    return out, cpu


def live(folder: str, mode: Literal["online", "offline"]) -> list[float]:
    """M points/s of each round; with mode "offline" by `tracker sync` beside it."""
    points, out = LIVE_STEPS * len(METRICS), []
    with server(f"{folder}/server-{mode}") as connection:
        for turn in range(ROUNDS):
            store = f"{folder}/live-{mode}{turn}"
            with tracker.init(project="bench", id="run", dir=store, mode=mode, quiet=True, on_full="block") as run:
                begin = time.monotonic()
                log(run, LIVE_STEPS)
                if mode == "offline":
                    run.flush()
                    begin = time.monotonic()
                    output("sync", "run", "--dir", store)
                wait_for(connection, run.uid, LIVE_STEPS - 1)
                out.append(points / (time.monotonic() - begin) / 1e6)
    return out


def seen_after(folder: str) -> list[float]:
    """Seconds of each point."""
    out = []
    with (
        server(f"{folder}/server-seen") as connection,
        tracker.init(project="bench", id="seen", dir=folder + "/seen", mode="online", quiet=True) as run,
    ):
        run.log({"loss": 0.0}, step=0)
        wait_for(connection, run.uid, 0, "loss")
        for step in range(1, SEEN_POINTS + 1):
            time.sleep(0.1 + 0.037 * (step % 10))  # at any moment of a commit and of a round
            run.log({"loss": float(step)}, step=step)
            begin = time.monotonic()
            wait_for(connection, run.uid, step, "loss")
            out.append(time.monotonic() - begin)
    return out


def main() -> None:
    os.environ["TRACKER_CAPTURE"] = "none"
    with harness.temporary_store() as folder:
        by_clock, by_cpu = finished(folder)
        rows = [
            Row("a finished run until its last row is read", "M points/s", by_clock, 3),
            Row("the same, by CPU of server and client", "M points/s", by_cpu),
            Row("a live run until its last row is read", "M points/s", live(folder, "online"), 0.5),
            Row("its frames, by tracker sync", "M points/s", live(folder, "offline"), 0.5),
            Row("a point is seen after", "s", seen_after(folder), 2),
        ]
        harness.report("upload", rows)


if __name__ == "__main__":
    main()
