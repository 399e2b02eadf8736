# SPDX-License-Identifier: MIT
"""Goal: each writer writes its own files and no other, and a finished run is plain files.
Method: the files themselves, before and after."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]

WRITE_VERSION, READ_VERSION = 18, 19  # bytes of SQLite's header: 2 where it is in WAL mode


def databases(run: tracker.Run | tracker.StoredRun) -> list[Path]:
    return sorted(path for path in Path(run.dir).iterdir() if path.suffix == ".db")


# Promise P3: `finish()` and recovery leave WAL mode: a finished run is plain files.
def test_a_finished_run_is_plain_files_out_of_wal_mode(run: tracker.Run) -> None:
    run.log({"x": 1.0}, step=0)
    run.flush()
    (database,) = databases(run)
    assert database.read_bytes()[WRITE_VERSION : READ_VERSION + 1] == b"\2\2"
    run.finish()
    assert database.read_bytes()[WRITE_VERSION : READ_VERSION + 1] == b"\1\1"
    assert sorted(path.name for path in Path(run.dir).iterdir()) == sorted([database.name, "run.json"])
    assert len(database.stem) == 32
    assert set(database.stem) <= set("0123456789abcdef")


def test_a_run_that_was_recovered_is_plain_files_too(script: Script) -> None:
    done = script(
        """
        import os, tracker
        run = tracker.init(project="p", id="r", quiet=True)
        for step in range(100):
            run.log({"x": step}, step=step)
        run.flush()
        os._exit(0)
        """
    )
    assert done.returncode == 0, done.stderr
    (stored,) = tracker.runs()
    (database,) = databases(stored)
    assert database.read_bytes()[WRITE_VERSION : READ_VERSION + 1] == b"\1\1"
    assert sorted(path.suffix for path in Path(stored.dir).iterdir()) == [".db", ".json"]


def test_sequence_numbers_begin_at_1_in_each_writers_database() -> None:
    for _ in range(2):
        with tracker.init(project="p", id="r", resume="allow", quiet=True) as run:
            for step in range(3):
                run.log({"x": step})
                run.flush()
    written = databases(run)
    assert len(written) == 2
    for database in written:
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
            query = "SELECT min(seq) FROM (SELECT seq FROM frames UNION SELECT first_seq FROM segments)"
            assert connection.execute(query).fetchone() == (1,)


# Promise P11: Readers unite the files of a run; a resume opens no old file for writing.
def test_resume_writes_no_file_that_was_there() -> None:
    with tracker.init(project="p", id="r", quiet=True) as first:
        first.log({"x": 1.0}, step=0)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in Path(first.dir).iterdir()}
    with tracker.init(project="p", id="r", resume="must", quiet=True) as second:
        second.log({"x": 2.0}, step=1)
        second.flush()
        for path, (data, changed) in before.items():
            assert (path.read_bytes(), path.stat().st_mtime_ns) == (data, changed), path
    for path, (data, changed) in before.items():
        assert (path.read_bytes(), path.stat().st_mtime_ns) == (data, changed), path
    assert len(databases(second)) == 2


def test_two_live_writers_of_one_run_are_legal_and_shown() -> None:
    first = tracker.init(project="p", id="r", quiet=True)
    first.log({"x": 1.0}, step=0)
    assert first.flush(), "a resume counts the attempts that are in the store"
    second = tracker.init(project="p", id="r", resume="must", quiet=True)
    for step in range(1, 10):
        first.log({"x": 1.0}, step=step)
        second.log({"x": 2.0, "only": step}, step=step + 4)
    assert first.flush()
    assert second.flush()

    def shown() -> str:
        command = [sys.executable, "-m", "tracker", "show", "p/r"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert "attempt 1, rank 0 of 1: running, 10 points" in shown()
    assert "attempt 2, rank 0 of 1: running, 18 points" in shown()
    second.finish()
    r = tracker.open_run("p/r")
    assert r.state == "running", "one of them still is"
    assert r.history("x").values.tolist() == [1.0] * 5 + [2.0] * 9
    assert len(r.history("x", all=True)) == 19
    first.finish()
    assert r.state == "finished"
    assert "attempt 1, rank 0 of 1: finished, 10 points" in shown()
    assert "attempt 2, rank 0 of 1: finished, 18 points" in shown()


# Promise P3: A copied run that both sides resume can be united again.
def test_a_copied_run_that_both_sides_resume_can_be_put_together_again(store: Path, tmp_path: Path) -> None:
    with tracker.init(project="p", id="r", quiet=True) as run:
        run.log({"x": 0.0}, step=0)
    shutil.copytree(store, tmp_path / "elsewhere")
    for folder, value in ((store, 1.0), (tmp_path / "elsewhere", 2.0)):
        with tracker.init(project="p", id="r", resume="must", dir=folder, quiet=True) as side:
            side.log({"x": value}, step=int(value))
    for database in databases(tracker.open_run("p/r", dir=str(tmp_path / "elsewhere"))):
        shutil.copy(database, Path(run.dir))  # names that are there already are the same file
    together = tracker.open_run("p/r")
    assert len(databases(together)) == 3
    assert together.history("x", all=True).values.tolist() == [0.0, 1.0, 2.0]


def test_a_second_run_of_a_label_shows_as_another() -> None:
    ids = []
    for _ in range(3):
        with tracker.init(project="p", id="baseline", quiet=True) as run:
            ids.append(run.id)
    assert ids == ["baseline", "baseline-2", "baseline-3"]
    assert len({r.uid for r in tracker.runs()}) == 3


@pytest.mark.parametrize("label", ["..", ".", "a/b", "../../up", "x" * 256, "grün %2F"])
def test_no_label_leaves_the_folder_of_runs(store: Path, label: str) -> None:
    name = label[:100]  # the folder of the run has a longest path
    with tracker.init(project=label, id=name, quiet=True) as run:
        run.log({"x": 1.0}, step=0)
    folder = Path(run.dir).resolve()
    assert folder.parent.parent == (store / "runs").resolve()
    assert sorted(path.name for path in store.parent.iterdir()) == ["store"]
    r = tracker.open_run(run.uid)
    assert (r.project, r.id) == (label, name)
