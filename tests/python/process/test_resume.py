# SPDX-License-Identifier: MIT
"""Goal: a resumed run is one curve and keeps every row (F14), and what a resume names wrongly is said at once.
Method: the scenario of failures.md with its sizes, processes killed at random; and init() with wrong arguments."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]

TRAINING = """
import os, sys, tracker
first, last, attempt = map(int, sys.argv[2:5])
resume_from = sys.argv[5] if len(sys.argv) > 5 else None
run = tracker.init(project=sys.argv[1], id=None if resume_from else "train", resume_from=resume_from, quiet=True)
kill_at = int(os.environ["KILL_AT"])
for step in range(first, last + 1):
    run.log({"loss": attempt + step / 10000, "attempt": attempt}, step=step)
    if step == kill_at:
        print(step, flush=True)
        os.kill(os.getpid(), 9)
"""


def train_and_resume_twice(script: Script, project: str, rng: random.Random) -> None:
    model: dict[int, float] = {}
    rows = 0
    for attempt, (first, last) in enumerate([(0, 1000), (601, 1200), (601, 1200)], start=1):
        kill_at = rng.randrange(700, last)
        arguments = [project, str(first), str(last), str(attempt)] + (["train@600"] if attempt > 1 else [])
        done = script(TRAINING, *arguments, env={"KILL_AT": str(kill_at)})
        assert done.stdout == f"{kill_at}\n", done.stderr
        if attempt > 1:
            model = {step: value for step, value in model.items() if step <= 600}
        for step in range(first, kill_at + 1):
            model[step] = attempt + step / 10000
            rows += 1
    run = tracker.open_run(f"{project}/train")
    shown = run.history("loss")
    assert shown.steps.tolist() == sorted(model)
    assert shown.values.tolist() == [model[step] for step in sorted(model)]
    everything = run.history("loss", all=True)
    assert len(everything) == rows
    first_attempt = everything.steps[everything.attempts == 1]
    assert first_attempt.tolist() == list(range(first_attempt[-1] + 1)), "the earlier segment stays readable"
    assert [(a.continues, a.resume_step, a.shown_up_to) for a in run.attempts()] == [
        (0, None, 600),
        (1, 600, 600),
        (1, 600, None),
    ]
    assert run.summary["attempt"] == 3


# The scenario once; the soak says how often.
ROUNDS = int(os.environ.get("TRACKER_TEST_KILLS", "1"))


def test_a_training_killed_and_resumed_twice_shows_what_the_model_shows(script: Script) -> None:
    seed = random.randrange(10**9)
    print(f"seed {seed}")
    rng = random.Random(seed)
    for number in range(ROUNDS):
        train_and_resume_twice(script, f"p{number}", rng)


RACE = """
import multiprocessing, sys, tracker

def begin(barrier, name):
    barrier.wait()
    run = tracker.init(project="p", id=name, resume="allow", quiet=True)
    run.log({"x": 1.0})
    run.finish()

if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    for turn in range(6):
        barrier = context.Barrier(4)
        children = [context.Process(target=begin, args=(barrier, f"same{turn}")) for _ in range(4)]
        for child in children:
            child.start()
        for child in children:
            child.join()
    print(sorted(f"{run.id} {len(run.history('x', all=True))}" for run in tracker.runs(project="p")))
"""


def test_processes_that_begin_a_run_at_the_same_moment_share_it(script: Script) -> None:
    done = script(RACE)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{[f'same{turn} 4' for turn in range(6)]}\n", done.stderr
    assert "damaged" not in done.stderr


RESUMED_AT_ONCE = """
import multiprocessing, tracker

def resume(barrier):
    barrier.wait()
    run = tracker.init(project="p", id="r", resume="must", quiet=True)
    run.log({"x": 1.0})
    run.finish()

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(8)
    children = [context.Process(target=resume, args=(barrier,)) for _ in range(8)]
    for child in children:
        child.start()
    for child in children:
        child.join()
"""


def attempts_of(name: str) -> list[int]:
    return sorted(writer.attempt for writer in tracker.open_run(name).writers)


# Promise P3: Each resume is an attempt of its own, however many start at one moment.
@pytest.mark.parametrize("files", ["sqlite", "frames"])
def test_processes_that_resume_a_run_at_the_same_moment_are_attempts_of_their_own(
    script: Script, files: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKER_STORE_FILES", files)
    tracker.init(project="p", id="r", quiet=True).finish()
    done = script(RESUMED_AT_ONCE)
    assert done.returncode == 0, done.stderr
    assert attempts_of("p/r") == list(range(1, 10))
    verified = subprocess.run([sys.executable, "-m", "tracker", "verify", "--json"], capture_output=True, text=True)
    assert verified.returncode == 0, verified.stdout
    assert json.loads(verified.stdout)["findings"] == [], "what claims an attempt belongs to a run"


KILLED_AT_ONCE = """
import os, tracker
run = tracker.init(project="p", id="r", resume="allow", journal="memory", quiet=True)
os.kill(os.getpid(), 9)
"""


def test_an_attempt_that_was_killed_before_it_stored_anything_keeps_its_number(script: Script) -> None:
    for _ in range(2):  # the one that makes the run, and one that resumes it
        assert script(KILLED_AT_ONCE).returncode == -9
    tracker.init(project="p", id="r", resume="must", quiet=True).finish()
    assert attempts_of("p/r") == [3]


STOPPED_AT_ONCE = """
import os, signal, tracker
run = tracker.init(project="p", id="r", resume="allow", quiet=True)
os.kill(os.getpid(), signal.SIGSTOP)
run.finish()
"""


def test_a_run_whose_first_process_lives_and_has_stored_nothing_is_resumed_as_another_attempt() -> None:
    first = subprocess.Popen([sys.executable, "-c", STOPPED_AT_ONCE])
    os.waitpid(first.pid, os.WUNTRACED)
    tracker.init(project="p", id="r", resume="must", quiet=True).finish()
    assert attempts_of("p/r") == [2]
    first.send_signal(signal.SIGCONT)
    assert first.wait(timeout=60) == 0
    assert attempts_of("p/r") == [1, 2]


def test_the_step_goes_on_after_the_one_resumed_from() -> None:
    with tracker.init(project="p", id="r", quiet=True) as run:
        for step in range(11):
            run.log({"x": step}, step=step)
    with tracker.init(project="p", resume_from="r@4", quiet=True) as run:
        assert (run.step, run.attempt, run.id) == (4, 2, "r")
        run.log({"x": 100})
    stored = tracker.open_run("p/r")
    assert stored.history("x").values.tolist() == [0, 1, 2, 3, 4, 100]
    assert len(stored.history("x", all=True)) == 12
    assert stored.summary["x"] == 100


# Regression: a resumed run continued after its rows alone, and its texts hid those of the attempt before.
@pytest.mark.parametrize("files", ["sqlite", "frames"])
def test_steps_of_texts_and_media_count_as_those_of_numbers(files: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_STORE_FILES", files)
    image = tracker.Image([[0.0, 1.0], [0.5, 0.2]])
    largest = -1
    for entry in ({"note": "a"}, {"img": image}, {"note": "x" * 100_000}, {"loss": 1.0}, {"note": "b"}):
        with tracker.init(project="p", id="r", resume="allow", quiet=True) as run:
            assert run.step == largest
            largest += 10
            run.log(entry, step=largest)
            run.alert("an alert has a step too", "and moves none")
    for _ in range(2):
        with tracker.init(project="p", id="chat", resume="allow", quiet=True) as run:
            for i in range(10):
                run.log({"note": f"text {i}"})
    assert len(tracker.open_run("p/chat").texts("note")) == 20


# Regression: what the first had logged was still in its rings, and the second one began at step 0 and hid it.
@pytest.mark.parametrize("on_exit", ["finish", "leave"])
def test_a_second_init_of_a_run_in_one_process_goes_on_after_the_first(on_exit: str) -> None:
    first = tracker.init(project="p", id="a", config={"lr": 0.1}, on_exit=on_exit, quiet=True)
    for step in range(10):
        first.log({"x": float(step)}, step=step)
    second = tracker.init(project="p", id="a", resume="allow", quiet=True)
    assert (second.attempt, second.step, dict(second.config)) == (2, 9, {"lr": 0.1})
    second.log({"x": 10.0})
    at_a_step = tracker.init(project="p", resume_from="a@5", quiet=True)
    assert at_a_step.step == 5
    for run in (first, second, at_a_step):
        run.finish()
    assert tracker.open_run("p/a").history("x").steps.tolist() == list(range(6))


def test_texts_after_the_step_that_is_resumed_from_do_not_count() -> None:
    with tracker.init(project="p", id="r", quiet=True) as run:
        run.log({"note": "late"}, step=100)
    tracker.init(project="p", resume_from="r@5", quiet=True).finish()
    with tracker.init(project="p", resume_from="r", quiet=True) as run:
        assert run.step == 5


def test_steps_of_texts_that_a_recovery_has_stored_count(script: Script) -> None:
    done = script(
        """
        import os, tracker
        run = tracker.init(project="p", id="r", quiet=True)
        run.log({"note": "hello"}, step=50)
        os.kill(os.getpid(), 9)
        """
    )
    assert done.returncode == -9
    with tracker.init(project="p", id="r", resume="must", quiet=True) as run:
        assert run.step == 50


def test_resume_from_a_run_alone_hides_nothing() -> None:
    for attempt in (1, 2):
        again = {"resume_from": "r"} if attempt == 2 else {"id": "r"}
        with tracker.init(project="p", quiet=True, **again) as run:
            run.log({"x": attempt}, step=1)
            run.log({"x": attempt}, step=10 - attempt)
    assert tracker.open_run("p/r").history("x").steps.tolist() == [1, 8, 9]
    assert tracker.open_run("p/r").history("x").values.tolist() == [2, 2, 1]


def test_resume_from_may_begin_a_run_where_allowed() -> None:
    with pytest.raises(tracker.NotFoundError, match="no run p/r"):
        tracker.init(project="p", resume_from="r@4", quiet=True)
    with tracker.init(project="p", resume_from="r@4", resume="allow", quiet=True) as run:
        assert (run.step, run.attempt) == (-1, 1)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("r@x", "no whole number"),
        ("r@", "no whole number"),
        ("@4", "no run is named"),
        ("r@99999999999999999999", "beyond int64"),
        ("", "must not be empty"),
    ],
)
def test_a_bad_resume_from_is_an_error_that_says_what_was_expected(value: str, message: str, store: Path) -> None:
    with pytest.raises(ValueError, match=message):
        tracker.init(project="p", resume_from=value)
    assert not store.exists()


def test_the_start_line_says_that_the_id_exists_and_how_to_go_on_with_it(script: Script) -> None:
    source = "import tracker; tracker.init(project='p', id='sim-1', console='off', {}).finish()"
    script(source.format("quiet=True"))
    first = script(source.format("")).stderr.splitlines()[0]
    assert first.startswith("tracker: sim-1 exists; recording p/sim-1-2 in ")
    assert first.endswith('; resume="allow" goes on with sim-1')
    named = script(source.replace("id='sim-1', ", "").format(""), env={"TRACKER_RUN_ID": "sim-1"}).stderr
    assert named.startswith("tracker: sim-1 exists; recording p/sim-1-3 in "), "a variable names it"
    resumed = script(source.format("resume='allow'")).stderr
    assert resumed.startswith("tracker: recording p/sim-1 in ")
    assert script(source.format("")).stderr.startswith("tracker: sim-1 exists; recording p/sim-1-4 in ")
    assert "exists" not in script(source.replace("sim-1", "sim-2").format("")).stderr


# Bug: the advice put two jobs into one run.
def test_the_start_line_names_the_process_that_records_a_run_of_that_id_now(script: Script) -> None:
    source = "import tracker; tracker.init(project='p', id='same', console='off').finish()"
    with tracker.init(project="p", id="same", quiet=True):
        first = script(source).stderr.splitlines()[0]
    who = f"pid {os.getpid()} on {socket.gethostname()} writes it"
    assert first.startswith(f"tracker: same is recorded now: {who}; recording p/same-2 in ")
    assert "resume=" not in first


@pytest.mark.parametrize("resume", ["allow", "must"])
def test_one_line_names_the_process_that_records_the_run_already(script: Script, resume: str) -> None:
    source = f"import tracker; tracker.init(project='p', id='r', resume='{resume}', quiet=True).finish()"
    with tracker.init(project="p", id="r", quiet=True) as run:
        run.log({"x": 1.0})
        said = script(source).stderr
    who = f"pid {os.getpid()} on {socket.gethostname()} writes it"
    what = "nothing of either is lost; another id keeps them apart"
    assert said == f"tracker: p/r is recorded by another process too: {who}; {what}\n"
    assert script(source).stderr == "", "it has ended"


def test_resume_from_and_what_contradicts_it() -> None:
    with pytest.raises(TypeError, match="resume_from must be a str"):
        tracker.init(project="p", resume_from=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="exclude each other"):
        tracker.init(project="p", resume_from="r@4", resume="never")
    with pytest.raises(ValueError, match="name two runs"):
        tracker.init(project="p", resume_from="r@4", id="other")


def test_the_first_row_of_a_step_is_shown_where_the_run_says_so() -> None:
    with pytest.raises(ValueError, match='expected one of "last", "first"'):
        tracker.init(project="p", duplicate_policy="mean")  # type: ignore[arg-type]
    with tracker.init(project="p", id="r", duplicate_policy="first", quiet=True) as run:
        for value in (1, 2, 3):
            run.log({"x": value}, step=0)
    assert tracker.open_run("p/r").history("x").values.tolist() == [1]
    assert tracker.open_run("p/r").history("x", all=True).values.tolist() == [1, 2, 3]


def test_an_attached_child_belongs_to_the_attempt_of_its_parent(script: Script) -> None:
    done = script("""
        import os, tracker
        run = tracker.init(project="p", id="r", quiet=True)
        run.log({"x": 1}, step=0)
        pid = os.fork()
        if pid == 0:
            mine = run.attach()
            mine.log({"y": 1}, step=0)
            mine.finish(1)
            os._exit(0)
        os.waitpid(pid, 0)
        run.finish()
        """)
    assert done.returncode == 0, done.stderr
    run = tracker.open_run("p/r")
    assert [writer.attempt for writer in run.writers] == [1, 1]
    assert run.state == "finished", "the parent's end is the run's"
    assert os.getpid() not in [writer.pid for writer in run.writers]


def test_where_the_first_row_of_a_step_counts_texts_are_those_of_the_writer_whose_numbers_are_shown(
    script: Script,
) -> None:
    done = script("""
        import os, tracker
        run = tracker.init(project="p", id="r", duplicate_policy="first", quiet=True)
        run.log({"x": 1, "t": "parent"}, step=0)
        run.log({"x": 5, "t": "parent again"}, step=0)
        run.flush()
        pid = os.fork()
        if pid == 0:
            mine = run.attach()
            mine.log({"x": 2, "t": "child"}, step=0)
            mine.log({"x": 3, "t": "child again"}, step=0)
            mine.finish()
            os._exit(0)
        os.waitpid(pid, 0)
        run.finish()
        """)
    assert done.returncode == 0, done.stderr
    run = tracker.open_run("p/r")
    assert run.history("x").values.tolist() == [2]
    assert [row.text for row in run.texts("t")] == ["child"]


def test_a_run_that_was_seen_finished_is_seen_going_on_by_the_process_that_resumes_it() -> None:
    with tracker.init(project="p", id="r", quiet=True) as run:
        run.log({"x": 1.0}, step=1)
    stored = tracker.open_run("p/r")
    assert stored.state == "finished"
    with tracker.init(project="p", id="r", resume="allow", quiet=True) as run:
        run.log({"x": 2.0}, step=2)
        assert stored.state == "running"
        assert stored.history("x").steps.tolist() == [1, 2]
    assert stored.state == "finished"
    with tracker.init(project="p", id="r", resume="allow", quiet=True) as run:
        run.log({"x": 3.0}, step=3)
    assert stored.history("x").steps.tolist() == [1, 2, 3], "it was not read while it went on"
    assert stored.summary["x"] == 3.0


STOPPED = """
import sys, time, tracker
run = tracker.init(project="p", id="r", resume="allow", quiet=True)
run.log({"x": float(run.attempt)}, step=run.attempt)
run.flush()
print("ready", flush=True)
if sys.argv[1] == "stopped":
    sys.stdin.readline()
    run.log({"x": 10.0}, step=10)
    run.flush()
    print("went on", flush=True)
    time.sleep(60)
"""


# The run was "finished", and nothing said that a process of it had gone on and died.
def test_an_attempt_that_was_stopped_and_dies_after_the_end_of_the_next_is_reported(
    script: Script, tmp_path: Path
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED, "stopped"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(tracker.__file__).parent.parent)},
        cwd=tmp_path,
    ) as first:
        assert first.stdin is not None
        assert first.stdout is not None
        assert first.stdout.readline() == "ready\n"
        first.send_signal(signal.SIGSTOP)
        assert script(STOPPED, "next").returncode == 0
        assert tracker.open_run("p/r").state == "running"
        first.send_signal(signal.SIGCONT)
        first.stdin.write("\n")
        first.stdin.flush()
        assert first.stdout.readline() == "went on\n"
        assert [attempt.state for attempt in tracker.open_run("p/r").attempts()] == ["running", "finished"]
        first.kill()
    expected = ("finished", "attempt 1 went on after the end of attempt 2: crashed")
    r = tracker.open_run("p/r")
    assert (r.state, r.state_detail) == expected
    assert r.history("x").steps.tolist() == [1, 2, 10]
    attempts = r.attempts()
    assert [(a.state, a.points) for a in attempts] == [("crashed", 2), ("finished", 1)]
    assert attempts[0].last_seen > attempts[1].last_seen
    (listed,) = tracker.runs("p")
    assert (listed.state, listed.state_detail) == expected


def test_names_and_charts_of_a_resumed_run_read_no_row_of_other_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them had all numbers of all metrics made, after a resume out of all rows."""
    with tracker.init(project="p", id="train", quiet=True, capture="none", system_interval=0) as run:
        for step in range(100):
            run.log({"loss": float(step), "lr": 1.0}, step=step)
    with tracker.init(project="p", resume_from="train@49", quiet=True, capture="none", system_interval=0) as run:
        run.log({"loss": -1.0, "lr": 2.0}, step=50)
    read = tracker.open_run("p/train")
    assert read.summary["loss"] == -1.0

    def refuse(*_: object) -> list[dict[str, object]]:
        raise AssertionError("all numbers were asked for")

    monkeypatch.setattr(tracker._core.RunView, "metrics", refuse)
    assert read.series() == ["loss", "lr"]
    assert read.series("system/*") == []
    assert read.chart("loss", x="time").rows == 51
    assert read.chart("loss", x="lr").rows == 51
    with pytest.raises(tracker.NotFoundError, match="lss"):
        read.history("lss")


def test_an_attempt_that_logged_nothing_after_its_cut_moves_no_step() -> None:
    with tracker.init(project="p", id="cut", quiet=True) as run:
        run.log({"x": 0.0}, step=0)
    tracker.init(project="p", resume_from="p/cut@600", quiet=True).finish()
    with tracker.init(project="p", id="cut", resume="allow", quiet=True) as run:
        assert run.step == 0
        run.log({"x": 1.0})
    assert tracker.open_run("p/cut").history("x").steps.tolist() == [0, 1]
