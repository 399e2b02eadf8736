# SPDX-License-Identifier: MIT
"""Goal: a file of a live run in whose place an editor, rsync or a restore puts another one costs nothing.
Method: copies made at different moments, and files of others, are renamed over it while the run logs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tracker


def file_of(run: tracker.Run) -> Path:
    (path,) = (path for path in Path(run.dir).iterdir() if path.suffix in (".db", ".frames"))
    return path


def log(run: tracker.Run, first: int, last: int) -> None:
    for step in range(first, last):
        run.log({"x": float(step)}, step=step)
    assert run.flush(20), run.status().last_error


def expect_each_once(run: tracker.Run, count: int) -> None:
    assert run.status().points_dropped == 0
    assert run.status().points_stored == count
    stored = tracker.open_run("test/r")
    assert stored.history("x", all=True).values.tolist() == [float(step) for step in range(count)]
    assert stored.state == "finished"


@pytest.fixture(params=["sqlite", "frames"])
def live(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tracker.Run:
    monkeypatch.setenv("TRACKER_STORE_FILES", request.param)
    return tracker.init(project="test", id="r", quiet=True)


# Bug: all that was logged behind it stayed in the journal until the process ended.
def test_a_copy_that_takes_the_place_of_a_live_file_costs_no_point(live: tracker.Run) -> None:
    log(live, 0, 100)
    path = file_of(live)
    shutil.copy2(path, f"{path}~")
    log(live, 100, 200)  # the copy lacks them
    Path(f"{path}~").rename(path)
    log(live, 200, 300)
    live.finish()
    expect_each_once(live, 300)
    assert not list(Path(live.dir).glob("*.replaced-*"))


def test_a_killed_process_leaves_what_was_put_back_whole(script: Callable[..., Any]) -> None:
    script(
        """
        import glob, os, shutil, signal, tracker
        run = tracker.init(project="test", id="r", quiet=True)
        def log(first, last):
            for step in range(first, last):
                run.log({"x": float(step)}, step=step)
            assert run.flush(20)
        log(0, 100)
        (path,) = glob.glob(run.dir + "/*.db")
        shutil.copy2(path, path + "~")
        log(100, 200)
        os.rename(path + "~", path)
        log(200, 300)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    stored = tracker.open_run("test/r")
    assert stored.history("x", all=True).values.tolist() == [float(step) for step in range(300)]


def test_a_file_of_somebody_else_is_kept_under_another_name(live: tracker.Run) -> None:
    log(live, 0, 100)
    path = file_of(live)
    Path(f"{path}~").write_text("notes of a user")
    Path(f"{path}~").rename(path)
    log(live, 100, 200)
    live.finish()
    expect_each_once(live, 200)
    (kept,) = Path(live.dir).glob("*.replaced-*")
    assert kept.read_text() == "notes of a user"


# The log of the older state would be taken for that of the database that is put back.
def test_an_older_database_restored_with_its_log_costs_no_point() -> None:
    live = tracker.init(project="test", id="r", quiet=True)
    log(live, 0, 100)
    path = file_of(live)
    parts = [path, Path(f"{path}-wal"), Path(f"{path}-shm")]
    for part in parts:
        shutil.copy2(part, f"{part}~")
    log(live, 100, 200)
    for part in parts:
        Path(f"{part}~").rename(part)
    log(live, 200, 300)
    live.finish()
    expect_each_once(live, 300)


def test_it_is_said_once_that_a_file_was_put_back(capfd: pytest.CaptureFixture[str]) -> None:
    live = tracker.init(project="test", id="r")
    log(live, 0, 10)
    path = file_of(live)
    shutil.copy2(path, f"{path}~")
    Path(f"{path}~").rename(path)
    log(live, 10, 20)
    log(live, 20, 30)
    live.finish()
    said = capfd.readouterr().err
    assert said.count("was replaced while it is written") == 1
    assert said.count("was put back in its place") == 1
