# SPDX-License-Identifier: MIT
"""Goal: what was logged is read back complete and exact, live and ended, from this process and from another.
Method: write with tracker, read with tracker.runs and tracker.open_run."""

from __future__ import annotations

import ctypes
import math
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]
PACKAGE_ROOT = str(Path(tracker.__file__).parent.parent)
IN_OPEN = 0x20  # of inotify


def test_a_live_run_is_read_by_its_own_process_after_each_call(run: tracker.Run) -> None:
    r = tracker.open_run(run.uid)
    for step in range(5):
        run.log({"x": step * 0.5}, step=step)
        assert r.history("x").values.tolist() == [i * 0.5 for i in range(step + 1)]
        assert r.state == "running"
    run.finish()
    assert r.state == "finished"
    assert r.ended is not None


def test_a_live_run_is_read_by_another_process(run: tracker.Run, script: Script) -> None:
    run.log({"x": 1.5}, step=3)
    assert run.flush()
    reader = script(
        """
        import sys, tracker
        r = tracker.open_run(sys.argv[1])
        print(r.state, r.history("x").values.tolist(), r.history("x").steps.tolist(), len(tracker.runs()))
        """,
        run.id,
    )
    assert reader.stdout == "running [1.5] [3] 1\n", reader.stderr
    run.log({"x": 2.5}, step=4)
    assert run.flush()
    assert tracker.open_run(run.uid).history("x").values.tolist() == [1.5, 2.5]


def test_a_killed_writer_is_crashed_and_complete(tmp_path: Path) -> None:
    source = (
        "import sys, time, tracker\n"
        "run = tracker.init(project='p', id='killed', quiet=True)\n"
        "for i in range(5000): run.log({'x': float(i)}, step=i)\n"
        "print('ready', flush=True); time.sleep(60)\n"
    )
    env = {**os.environ, "PYTHONPATH": PACKAGE_ROOT}
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True, env=env) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        writer.kill()
        writer.wait()
    r = tracker.open_run("p/killed")
    assert r.state == "crashed"
    assert r.history("x").values.tolist() == [float(i) for i in range(5000)]


def test_a_history_has_steps_values_times_ranks_and_attempts(run: tracker.Run) -> None:
    before = time.time()
    for step in (5, 1, 3, 3):
        run.log({"x": float(step), "f": np.float32(step), "n": step}, step=step)
    h = tracker.open_run(run.uid).history("x")
    assert (h.steps.dtype, h.values.dtype, h.times.dtype) == (np.int64, np.float64, np.float64)
    assert h.steps.tolist() == [1, 3, 5]
    assert np.all((h.times > before - 1) & (h.times < time.time() + 1))
    assert h.ranks.tolist() == [0, 0, 0]
    assert h.attempts.tolist() == [1, 1, 1]
    assert h.has_step.tolist() == [True, True, True]
    assert len(h) == 3
    rows = tracker.open_run(run.uid).history("x", all=True)
    assert rows.steps.tolist() == [5, 1, 3, 3]
    frame = h.to_pandas()
    assert list(frame.columns) == ["step", "value", "time", "attempt", "rank"]
    assert frame["value"].tolist() == [1.0, 3.0, 5.0]


def test_several_metrics_are_aligned_by_step(run: tracker.Run) -> None:
    run.log({"a": 1.0, "n": 2**53 + 1}, step=0)
    run.log({"a": math.nan}, step=1)
    run.log({"b": np.float32(0.5), "n": 7}, step=2)
    table = tracker.open_run(run.uid).history(["a", "b", "n"])
    assert table.steps.tolist() == [0, 1, 2]
    assert table.present["a"].tolist() == [True, True, False]
    np.testing.assert_array_equal(table["b"], np.array([np.nan, np.nan, 0.5], np.float32))
    frame = table.to_pandas()
    assert frame.index.name == "step"
    assert frame["n"].dtype == pd.Int64Dtype()
    assert frame["n"][0] == 2**53 + 1
    assert frame["n"][1] is pd.NA
    assert list(frame.columns) == ["a", "b", "n"]


def test_the_arrays_of_a_history_are_ours_to_change(run: tracker.Run) -> None:
    run.log({"x": 1.0}, step=0)
    r = tracker.open_run(run.uid)
    h = r.history("x")
    h.values *= 2
    assert r.history("x").values.tolist() == [1.0]


def test_missing_runs_and_metrics_are_named_with_what_is_close(run: tracker.Run) -> None:
    run.log({"train/loss": 1.0}, step=0)
    r = tracker.open_run(run.uid)
    with pytest.raises(tracker.NotFoundError, match="train/loss"):
        r.history("train/los")
    with pytest.raises(tracker.NotFoundError):
        r.history(["train/loss", "nothing"])
    with pytest.raises(tracker.NotFoundError):
        r.texts("nothing")
    with pytest.raises(tracker.NotFoundError):
        tracker.open_run("test/missing")
    with pytest.raises(LookupError):
        tracker.open_run("missing")
    with pytest.raises(TypeError, match="name must be a str"):
        tracker.open_run(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a name or a list of names"):
        r.history([])
    with pytest.raises(ValueError, match="all=True"):
        r.history(["train/loss"], all=True)  # type: ignore[call-overload]


def test_a_store_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(tracker.NotFoundError, match="nowhere"):
        tracker.runs(dir=str(tmp_path / "nowhere"))
    with pytest.raises(tracker.NotFoundError):
        tracker.open_run("x", dir=str(tmp_path / "nowhere"))
    monkeypatch.delenv("TRACKER_DIR")
    assert list(tracker.runs()) == []


def test_runs_are_a_sequence_newest_first() -> None:
    for name in ("one", "two", "three"):
        with tracker.init(project="a" if name == "two" else "b", id=name, config={"n": len(name)}, quiet=True) as run:
            run.log({"x": 1.0}, step=0)
    runs = tracker.runs()
    assert [r.id for r in runs] == ["three", "two", "one"]
    assert [r.id for r in runs[:2]] == ["three", "two"]
    assert runs[-1].id == "one"
    assert [r.id for r in tracker.runs(project="a")] == ["two"]
    frame = runs.to_pandas()
    assert frame["config.n"].tolist() == [5, 3, 3]
    assert frame["state"].tolist() == ["finished"] * 3


def test_a_run_opens_by_label_by_id_and_by_uid(run: tracker.Run) -> None:
    for name in (f"test/{run.id}", run.id, run.uid, run.uid[:8]):
        assert tracker.open_run(name).uid == run.uid


# Bug: the run was searched among all runs of the store, whose run.json files were read one by one.
def test_the_summary_of_the_own_run_reads_no_file_of_another_run(run: tracker.Run) -> None:
    other = tracker.init(project="test", quiet=True)
    other.finish()
    run.log({"loss": 0.5})
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    try:
        assert libc.inotify_add_watch(watch, os.fsencode(other.dir), IN_OPEN) >= 0
        assert run.summary["loss"] == 0.5
        with pytest.raises(BlockingIOError):
            os.read(watch, 4096)
        assert tracker.open_run(run.uid).id == run.id
        assert b"run.json" in os.read(watch, 4096)
    finally:
        os.close(watch)


def test_the_summary_of_a_run_whose_folder_was_renamed_is_that_of_the_run(run: tracker.Run) -> None:
    run.log({"loss": 0.5})
    run.finish()
    Path(run.dir).rename(Path(run.dir).with_name("elsewhere"))
    other = tracker.init(project="test", id=run.id, quiet=True)
    assert other.dir == run.dir
    assert run.summary["loss"] == 0.5


# Bug: a training was blocked while another thread searched for a run in a store of many.
def test_other_threads_run_during_the_search_for_a_run(run: tracker.Run) -> None:
    folder = Path(run.dir)
    for i in range(300):
        other = folder.with_name(f"copy{i}")
        other.mkdir()
        shutil.copy(folder / "run.json", other)
    store = tracker._core.Store.open(run._core.store_path)
    rounds, stop = 0, threading.Event()

    def work() -> None:
        nonlocal rounds
        while not stop.wait(0.0001):
            rounds += 1

    before = sys.getswitchinterval()
    thread = threading.Thread(target=work)
    thread.start()
    try:
        sys.setswitchinterval(1000)  # the GIL goes to another thread where it is released, and nowhere else
        time.sleep(0.01)
        for _ in range(100):
            begun = rounds
            with pytest.raises(tracker.NotFoundError):
                store.find("no such run")
            if rounds > begun:
                break
        assert rounds > begun
    finally:
        sys.setswitchinterval(before)
        stop.set()
        thread.join()


def test_a_long_history_is_complete(patient_run: tracker.Run) -> None:
    run = patient_run
    count = 200_000
    for step in range(count):
        run.log({"x": step * 0.5}, step=step)
    assert run.status().points_dropped == 0
    h = tracker.open_run(run.uid).history("x")
    np.testing.assert_array_equal(h.steps, np.arange(count))
    np.testing.assert_array_equal(h.values, np.arange(count) * 0.5)


def test_a_reason_that_is_no_utf8_is_shown_with_marks() -> None:
    run = tracker.init(project="test", id="latin", quiet=True)
    run._core.finish("failed", 1, b"caf\xe9", -1.0)  # as trk_finish() takes the message of a C++ exception
    stored = tracker.open_run("test/latin")
    assert stored.state_detail == "exit code 1: caf\ufffd"
    assert "caf\ufffd" in stored._repr_html_()
    assert [attempt.state for attempt in stored.attempts()] == ["failed"]
    assert tracker.runs()[0].state_detail == stored.state_detail
