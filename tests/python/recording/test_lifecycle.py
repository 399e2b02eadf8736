# SPDX-License-Identifier: MIT
"""Goal: a run begins, is current, and ends as its block or finish() says; two may live at once.
Method: in this process, through the public names alone."""

from __future__ import annotations

import gc
import sys
import threading
import time
from pathlib import Path

import pytest
import tracker


def state_of(run: tracker.Run) -> tuple[str, str]:
    r = tracker.open_run(run.uid)
    return r.state, r.state_detail


def test_the_first_lines_of_the_documentation_work(store: Path) -> None:
    run = tracker.init(project="mnist", config={"lr": 0.1}, tags=["a", "b"], notes="why", quiet=True)
    assert tracker.run is run
    for i in range(3):
        run.log({"loss": 0.3 / (i + 1), "val/acc": 0.9}, step=i)
    tracker.log({"loss": 0.05}, step=3)
    tracker.summary["best_acc"] = 0.98
    assert tracker.config["lr"] == 0.1
    assert tracker.flush() is True
    tracker.finish()
    assert tracker.run is None
    r = tracker.open_run(f"mnist/{run.id}")
    assert (r.state, r.config, r.tags, r.notes) == ("finished", {"lr": 0.1}, ("a", "b"), "why")
    assert r.summary["best_acc"] == 0.98
    assert r.summary["loss"] == 0.05
    assert Path(run.dir).is_dir()
    assert Path(run.dir).is_relative_to(store)
    assert len(run.uid) == 32
    assert run.url is None


def test_a_block_that_ends_finishes_the_run() -> None:
    with tracker.init(quiet=True) as run:
        run.log({"loss": 1.0}, step=0)
    assert state_of(run) == ("finished", "")
    assert run.project == "default"


def test_an_exception_leaves_the_block_and_fails_the_run() -> None:
    with pytest.raises(ValueError, match="boom"), tracker.init(quiet=True) as run:
        raise ValueError("boom")
    state, detail = state_of(run)
    assert state == "failed"
    assert "ValueError: boom" in detail


def test_ctrl_c_interrupts_the_run() -> None:
    with pytest.raises(KeyboardInterrupt), tracker.init(quiet=True) as run:
        raise KeyboardInterrupt
    assert state_of(run)[0] == "interrupted"


@pytest.mark.parametrize("code, state", [(0, "finished"), (None, "finished"), (2, "failed"), ("text", "failed")])
def test_sys_exit_in_a_block_gives_its_code(code: object, state: str) -> None:
    with pytest.raises(SystemExit), tracker.init(quiet=True) as run:
        sys.exit(code)  # type: ignore[arg-type]
    assert state_of(run)[0] == state


@pytest.mark.parametrize("code, state", [(None, "finished"), (0, "finished"), (1, "failed"), (137, "failed")])
def test_finish_takes_the_exit_code(run: tracker.Run, code: int | None, state: str) -> None:
    run.finish(code)
    assert state_of(run)[0] == state
    run.finish(1)  # the second call does nothing
    assert state_of(run)[0] == state


def test_two_live_runs_keep_their_points_apart() -> None:
    first = tracker.init(project="p", quiet=True)
    second = tracker.init(project="p", quiet=True)
    assert tracker.run is second
    for step in range(10):
        first.log({"x": 1.0}, step=step)
        tracker.log({"x": 2.0, "y": step}, step=step)
    second.finish()
    assert tracker.run is first
    tracker.log({"x": 1.0}, step=10)
    first.finish()
    assert tracker.open_run(first.uid).history("x").values.tolist() == [1.0] * 11
    assert tracker.open_run(second.uid).series() == ["x", "y"]
    assert len(tracker.runs(project="p")) == 2


def test_status_accounts_for_every_point(run: tracker.Run) -> None:
    for step in range(100):
        run.log({"x": 1.0, "y": 2.0}, step=step)
    status = run.status()
    assert status.points_logged == 200
    assert status.points_logged == status.points_stored + status.points_dropped + status.points_pending
    assert run.flush()
    status = run.status()
    assert (status.points_stored, status.points_pending, status.recording) == (200, 0, True)
    assert "process" in status.survives
    assert "200 points logged = 200 stored" in str(status)
    run.finish()
    assert "not recording: finished" in str(run.status())


def test_names_notes_and_tags_may_be_set(run: tracker.Run) -> None:
    run.name = "a better name"
    run.notes = "seen"
    run.tags = ("x", "y")
    assert (run.name, run.notes, run.tags) == ("a better name", "seen", ("x", "y"))
    r = tracker.open_run(run.uid)
    assert (r.name, r.notes, r.tags) == ("a better name", "seen", ("x", "y"))
    with pytest.raises(TypeError):
        run.name = 3  # type: ignore[assignment]


def test_a_disabled_run_stores_nothing_and_every_call_works(store: Path, tmp_path: Path) -> None:
    run = tracker.init(project="p", mode="disabled", config={"lr": 1}, quiet=True)
    run.log({"x": 1.0})
    run.metric("x").log(1.0, 1)
    run.log({"bad": object(), "text": "t"})
    run.summary["best"] = 3
    assert run.config["lr"] == 1
    assert run.summary["best"] == 3
    assert run.flush() is True
    assert run.status().recording is False
    assert "disabled" in str(run.status())
    with pytest.raises(TypeError, match="data must be a dict"):
        run.log(3)  # type: ignore[arg-type]
    run.finish()
    assert not store.exists()
    assert list(tmp_path.iterdir()) == []


def test_resume_goes_on_in_the_same_run() -> None:
    with tracker.init(project="p", id="r", config={"lr": 0.1}, quiet=True) as first:
        first.log({"x": 1.0}, step=0)
    with tracker.init(project="p", id="r", resume="must", quiet=True) as second:
        assert second.uid == first.uid
        assert second.attempt == 2
        assert second.config["lr"] == 0.1
        second.log({"x": 2.0})
    h = tracker.open_run("p/r").history("x")
    assert h.steps.tolist() == [0, 1]
    assert h.attempts.tolist() == [1, 2]


def test_collecting_garbage_ends_no_run() -> None:
    uid = tracker.init(project="p", quiet=True).uid
    gc.collect()
    assert tracker.run is not None
    assert tracker.run.uid == uid
    assert tracker.open_run(uid).state == "running"


def test_a_handle_is_shared_by_threads(patient_run: tracker.Run) -> None:
    run = patient_run
    handle = run.metric("x")
    threads, calls = 8, 2000

    def work(base: int) -> None:
        for i in range(calls):
            handle.log(1.0, base + i)
            run.log({"y": 2.0, "who": base}, step=base + i)

    workers = [threading.Thread(target=work, args=(n * calls,)) for n in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    r = tracker.open_run(run.uid)
    status = run.status()
    assert status.points_logged == threads * calls * 3
    assert status.points_dropped == 0
    assert r.history("x").steps.tolist() == list(range(threads * calls))
    assert len(r.history("y")) == threads * calls


def test_many_runs_one_after_another_leak_nothing() -> None:
    before = threading.active_count()
    for _ in range(20):
        with tracker.init(project="p", quiet=True) as run:
            run.log({"x": 1.0})
    assert threading.active_count() == before
    assert len(tracker.runs("p")) == 20
    assert {r.state for r in tracker.runs("p")} == {"finished"}


# Bug: each run that had ended kept two descriptors and 256 KiB of shared memory until Python collected its object.
def test_a_run_that_has_ended_holds_no_descriptor_and_no_shared_memory(own_shm: Path) -> None:
    def shared_bytes() -> int:
        """Of mappings of journals' files, in memory."""
        total, inside = 0, False
        for line in Path("/proc/self/smaps").read_text().splitlines():
            if "-" in line.split(" ", 1)[0]:
                inside = str(own_shm) in line
            elif inside and line.startswith("Rss:"):
                total += int(line.split()[1]) * 1024
        return total

    kept = []
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(10):
        run = tracker.init(project="test", quiet=True)
        for step in range(5000):
            run.log({"loss": 1.0}, step=step)
        run.finish()
        kept.append(run)
    for _ in range(3000):  # the thread that recovers dead runs has files open for a moment
        if len(list(Path("/proc/self/fd").iterdir())) <= descriptors:
            break
        time.sleep(0.01)
    assert len(list(Path("/proc/self/fd").iterdir())) <= descriptors
    assert shared_bytes() <= 10 * 16 * 1024
    assert all(run.status().points_stored == 5000 for run in kept)
