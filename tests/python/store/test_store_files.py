# SPDX-License-Identifier: MIT
"""Goal: where SQLite cannot be written live a run is complete all the same, and says what it is written as.
Method: TRACKER_STORE_FILES=frames; the run is read while it lives, after it has ended, and after kill -9."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]


def suffixes(run_dir: str) -> set[str]:
    return {path.suffix for path in Path(run_dir).iterdir()} - {".json"}


def test_a_run_of_frames_is_read_live_and_ends_as_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_STORE_FILES", "frames")
    run = tracker.init(project="test", config={"lr": 0.1}, quiet=True)
    run.log({"x": 1.5}, step=3)
    assert run.flush()
    status = run.status()
    assert (status.store_files, status.store_parts) == ("frames", 1)
    assert "written as .frames files" in str(status)
    assert suffixes(run.dir) == {".frames"}
    r = tracker.open_run(run.uid)
    assert r.history("x").values.tolist() == [1.5]
    run.log({"x": 2.5}, step=4)
    assert r.history("x").values.tolist() == [1.5, 2.5]
    run.finish()
    assert suffixes(run.dir) == {".db"}
    assert r.state == "finished"
    assert r.history("x").values.tolist() == [1.5, 2.5]
    assert tracker.open_run(run.uid).config["lr"] == 0.1


def test_a_killed_run_of_frames_is_recovered_and_resumed(monkeypatch: pytest.MonkeyPatch, script: Script) -> None:
    monkeypatch.setenv("TRACKER_STORE_FILES", "frames")
    script(
        """
        import os, signal, tracker
        run = tracker.init(project="test", id="r", quiet=True)
        for step in range(1000):
            run.log({"x": step}, step=step)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    run = tracker.init(project="test", id="r", resume="must", quiet=True)
    assert run.status().recovered_points == 1000
    assert run.step == 999
    run.log({"x": 1000})
    run.finish()
    assert suffixes(run.dir) == {".db"}
    assert tracker.open_run("test/r").history("x").values.tolist() == list(range(1001))


def test_a_wrong_value_of_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_STORE_FILES", "csv")
    with pytest.raises(ValueError, match="TRACKER_STORE_FILES"):
        tracker.init(project="test", quiet=True)


def test_a_part_that_is_gone_is_printed_once_in_a_process_and_has_its_own_reason(
    capfd: pytest.CaptureFixture[str],
) -> None:
    run = tracker.init(project="test", quiet=True)
    run.log({"x": 1.5}, step=1)
    assert run.flush()
    for path in Path(run.dir).glob("*.db*"):
        path.unlink()
    run.log({"x": 2.5}, step=2)
    assert run.flush()
    assert run.status().store_parts == 2
    run.finish()
    capfd.readouterr()
    runs = [tracker.open_run(run.uid) for _ in range(3)]
    assert capfd.readouterr().err.count("part 1 of 2 is missing") == 1
    assert all(len(r.problems) == 1 for r in runs)
    assert runs[0].losses.by_reason == {"file removed or changed by another program": 1}
