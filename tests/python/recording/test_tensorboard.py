# SPDX-License-Identifier: MIT
"""Goal: init(tensorboard=folder) keeps an event file beside the run that holds each row once, live, after a kill and a
resume, and whatever happens to the folder costs the run nothing. Method: real runs, read by our own importer."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]

PATIENCE_S = 120  # kTensorBoardInterval on an idle machine


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*tfevents*"))


def imported(tmp_path: Path, folder: Path, name: str) -> Any:
    command = [sys.executable, "-m", "tracker", "import", str(folder), "--json", "--dir", str(tmp_path / name)]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)
    (run,) = report["runs"]
    return tracker.open_run(run["uid"], dir=str(tmp_path / name))


def rows(run: Any, metric: str) -> int:
    return len(run.history(metric, all=True)) if metric in run.series() else 0


def test_the_file_follows_the_run_and_is_whole_at_its_end(tmp_path: Path) -> None:
    board = tmp_path / "board"
    run = tracker.init(project="mnist", id="otter", config={"lr": 0.1}, tensorboard=board, quiet=True)
    run.log({"loss": 1.0, "note": "begun"}, step=0)
    end = time.monotonic() + PATIENCE_S
    while not (files(board) and b"loss" in files(board)[0].read_bytes()) and time.monotonic() < end:
        time.sleep(0.1)
    assert tracker.open_run("otter").state == "running"
    live = imported(tmp_path, board, "live")
    assert (rows(live, "loss"), live.config) == (1, {"lr": 0.1})
    for step in range(1, 3000):
        run.log({"loss": math.sin(step), "none": math.nan}, step=step)
    run.finish()
    assert [path.parent for path in files(board)] == [board / "mnist" / "otter"]
    held = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    assert not any(str(board) in str(path) for path in held)
    before, after = tracker.open_run("otter"), imported(tmp_path, board, "ended")
    for name in ("loss", "none"):
        a, b = before.history(name), after.history(name)
        assert a.steps.tobytes() == b.steps.tobytes()
        assert a.values.astype(np.float32).tobytes() == b.values.tobytes()
        assert a.times.tobytes() == b.times.tobytes()
    assert after.texts("note")[0].text == "begun"


def test_a_killed_run_that_is_resumed_has_each_row_once(tmp_path: Path, script: Script) -> None:
    source = """
        import os, signal, sys, time, tracker
        first = int(sys.argv[1])
        run = tracker.init(project="p", id="r", resume="allow", tensorboard="board", quiet=True)
        for step in range(first, first + 1000):
            run.log({"loss": step}, step=step)
            if step % 200 == 0:
                run.flush()
                time.sleep(0.8)
        if sys.argv[2] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
    """
    assert script(source, "0", "kill").returncode == -9
    assert len(files(tmp_path / "board")) == 1  # it had some 4 s
    assert script(source, "1000", "kill").returncode == -9
    assert script(source, "2000", "end").returncode == 0
    assert len(files(tmp_path / "board")) == 1
    after = imported(tmp_path, tmp_path / "board", "again")
    history = after.history("loss", all=True)
    assert history.values.tolist() == list(range(3000))


def test_a_folder_that_cannot_be_written_is_said_once_and_costs_the_run_nothing(tmp_path: Path, script: Script) -> None:
    (tmp_path / "board").write_text("a file")
    source = """
        import time, tracker
        run = tracker.init(project="p", id="r", tensorboard="board")
        for step in range(100):
            run.log({"loss": step}, step=step)
        time.sleep(5)
        run.finish()
        assert tracker.open_run("r").history("loss").values.tolist() == list(range(100))
    """
    done = script(source)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "the TensorBoard file cannot be written" in line]
    assert len(lines) == 1
    assert "the run goes on and loses nothing" in lines[0]
    assert "tracker export p/r --format tensorboard" in done.stderr


def test_a_folder_that_was_removed_stays_removed(tmp_path: Path, script: Script) -> None:
    source = """
        import pathlib, shutil, time, tracker
        run = tracker.init(project="p", id="r", tensorboard="board")
        run.log({"loss": 1}, step=0)
        while not list(pathlib.Path("board").rglob("*tfevents*")):
            time.sleep(0.05)
        time.sleep(0.5)
        shutil.rmtree("board")
        run.log({"loss": 2}, step=1)
        run.finish()
        assert tracker.open_run("r").history("loss").values.tolist() == [1, 2]
    """
    done = script(source)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("was removed") == 1
    assert not (tmp_path / "board").exists()


def test_forked_children_leave_the_file_alone(tmp_path: Path, script: Script) -> None:
    source = """
        import gc, os, tracker
        run = tracker.init(project="p", id="r", tensorboard="board", quiet=True)
        for step in range(200):
            run.log({"loss": step}, step=step)
            child = os.fork()
            if child == 0:
                run.log({"loss": -1}, step=step)
                gc.collect()
                (os._exit if step % 2 else exit)(0)
            assert os.waitpid(child, 0)[1] == 0
        run.finish()
    """
    done = script(source)
    assert done.returncode == 0, done.stderr
    after = imported(tmp_path, tmp_path / "board", "again")
    assert after.history("loss", all=True).values.tolist() == list(range(200))


def test_only_the_first_rank_writes_one(tmp_path: Path) -> None:
    run = tracker.init(project="p", ranks="all", id="r", rank=1, world_size=2, tensorboard=tmp_path / "b", quiet=True)
    run.log({"loss": 1}, step=0)
    run.finish()
    assert not files(tmp_path / "b")


@pytest.mark.parametrize(("bad", "error"), [(1, TypeError), ("", ValueError), (b"x", TypeError), ("a\0b", ValueError)])
def test_what_is_no_path_is_an_error_that_says_so(bad: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="tensorboard"):
        tracker.init(tensorboard=bad)
