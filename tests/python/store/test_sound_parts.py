# SPDX-License-Identifier: MIT
"""Goal: damage of a part costs that part: what is sound beside it is read, stays where it is, and goes on.
Method: bytes and rows of a database are changed; what each metric gives alone is held against all together."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import time
import warnings
from pathlib import Path

import pytest
import tracker
from commands import command, run_script

ROWS = 2000


def exported(*arguments: str) -> list[dict[str, object]]:
    done = command("export", "p/r", "--format", "jsonl", "--all", *arguments)
    assert done.returncode in (0, 3), done.stderr
    return [row for row in map(json.loads, done.stdout.splitlines()) if "run" not in row]


@pytest.fixture
def database(store: Path) -> Path:
    """Of a finished run with the metrics a, b and c in one segment."""
    noise = random.Random(1)
    with tracker.init(project="p", id="r", quiet=True, system_interval=0) as run:
        for step in range(ROWS):
            run.log({"a": noise.random(), "b": noise.random()}, step=step)
            if step % 2:
                run.log({"c": noise.random()}, step=step)
    (path,) = (store / "runs" / "p" / "r").glob("*.db")
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM segments").fetchone()[0] > 0
    connection.close()
    return path


def test_a_damaged_part_of_a_segment_costs_the_metrics_whose_part_it_is(database: Path, tmp_path: Path) -> None:
    seed = int(os.environ.get("TRACKER_TEST_SEED", random.randrange(2**32)))
    print("TRACKER_TEST_SEED", seed)
    chosen = random.Random(seed)
    whole = tmp_path / "whole.db"
    shutil.copy(database, whole)
    apart = 0
    for _ in range(24):
        data = bytearray(whole.read_bytes())
        data[chosen.randrange(20_000, len(data))] ^= 1 << chosen.randrange(8)
        database.write_bytes(data)
        run = tracker.open_run("p/r")
        alone = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the damage is named once for each
            for name in ("a", "b", "c"):
                try:
                    alone[name] = run.history(name, all=True).steps.tolist()
                except tracker.TrackerError:
                    alone[name] = []
        together: dict[str, list[object]] = {name: [] for name in alone}
        for row in exported():
            together[str(row["metric"])].append(row["step"])
        assert together == alone
        apart += len({bool(steps) for steps in alone.values()}) == 2
    assert apart > 0


@pytest.mark.parametrize(
    "row",
    [
        "INSERT INTO frames SELECT 2000000, 5, 0, 0, zeroblob(100)",
        "INSERT INTO frames SELECT -3, 5, 0, 0, zeroblob(100)",
        "INSERT INTO segments SELECT 2000000, 2000009, 5, 0, 0, zeroblob(100)",
        "INSERT INTO segments SELECT -9, -3, 5, 0, 0, zeroblob(100)",
    ],
)
def test_rows_that_somebody_has_put_into_a_log_are_named_by_verify(database: Path, row: str) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute(row)
    connection.close()
    verified = command("verify")
    assert verified.returncode == 3
    assert "1 row of frames and segments lie outside" in verified.stdout


OVERWRITTEN = """
import os, pathlib, sys, tracker
run = tracker.init(project="p", id="r", quiet=True, system_interval=0)
for step in range(60_000):
    run.log({"x": float(step)}, step=step)
    if step % 6000 == 0: run.flush()
run.flush()
(path,) = pathlib.Path(run.dir).glob("*.db")
with path.open("r+b") as file: file.write(os.urandom(path.stat().st_size))
os._exit(0)
"""


def test_an_overwritten_database_whose_log_has_all_of_it_costs_no_row(own_shm: Path, store: Path) -> None:
    run_script(OVERWRITTEN)
    for path in (store / "runs" / "p" / "r").glob("*.db*"):
        os.utime(path, (time.time() - 60, time.time() - 60))  # no process uses it any more
    before = exported()
    command("ls")
    after = exported()
    assert len(after) >= len(before)
    losses = tracker.open_run("p/r").losses
    assert losses.stored + losses.dropped == 60_000
    assert len(after) == losses.stored


@pytest.mark.parametrize("resume", ["must", "allow"])
def test_a_run_with_an_attempt_of_a_newer_version_is_not_gone_on_with_at_its_begin(
    database: Path, capfd: pytest.CaptureFixture[str], resume: str
) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    if resume == "must":
        with pytest.raises(tracker.TrackerError, match=r"has version 99.*the run cannot be resumed"):
            tracker.init(project="p", id="r", resume="must", quiet=True)
    else:
        with tracker.init(project="p", id="r", resume="allow", quiet=True) as run:
            assert run.id == "r-2"
        assert "the run cannot be resumed; another run is made" in capfd.readouterr().err
    assert len(list(database.parent.glob("*.db"))) == 1
