# SPDX-License-Identifier: MIT
"""Goal: a run that is preempted says so, by mark_preempting() or init(on_sigterm="mark"); the handler that was there
before and the exit code are as without a tracker; on_exit="leave" leaves a run as if its process were killed.
Method: scripts in processes of their own, which signal themselves or are signalled."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]

POINTS = 100
BEGIN = f"""
import os, signal, sys, threading, time
import tracker
def train(**options):
    run = tracker.init(project="test", id="r", quiet=True, **options)
    for i in range({POINTS}):
        run.log({{"loss": i / 3}}, step=i)
    return run
def term():
    os.kill(os.getpid(), signal.SIGTERM)
"""

# What comes before init, what after the points -> exit code, state, detail.
SIGTERMS: dict[str, tuple[str, str, int, str, str]] = {
    "no handler": ("", "term(); time.sleep(30)", -signal.SIGTERM, "preempted", "SIGTERM"),
    "a handler that exits": ("signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))", "term(); time.sleep(30)", 7,
                             "preempted", "exit code 7: SIGTERM"),
    "a handler that raises": ("def stop(*_): raise RuntimeError('terminated')\nsignal.signal(signal.SIGTERM, stop)",
                              "term(); time.sleep(30)", 1, "preempted", "exit code 1: RuntimeError: terminated"),
    "a handler that finishes": ("signal.signal(signal.SIGTERM, lambda *_: (tracker.finish(), os._exit(0)))",
                                "term(); time.sleep(30)", 0, "preempted", "SIGTERM"),
    "a handler that goes on": ("signal.signal(signal.SIGTERM, lambda *_: None)", "term()", 0, "preempted", "SIGTERM"),
    "a handler that is killed": ("signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))",
                                 "term(); time.sleep(30)", -signal.SIGKILL, "preempted", "SIGTERM"),
    "ignored": ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", "term()", 0, "preempted", "SIGTERM"),
    "none comes": ("", "pass", 0, "finished", ""),
    "another signal": ("", "os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, "crashed", ""),
    "after the end": ("", "run.finish(); term(); time.sleep(30)", -signal.SIGTERM, "finished", ""),
    "a handler installed later": ("", "signal.signal(signal.SIGTERM, lambda *_: (run.mark_preempting(), sys.exit(3)))\n"
                                  "term(); time.sleep(30)", 3, "preempted", "exit code 3"),
}  # fmt: skip


@pytest.mark.parametrize("how", SIGTERMS)
def test_sigterm_marks_the_run_and_changes_nothing_else(script: Script, how: str) -> None:
    before, after, code, state, detail = SIGTERMS[how]
    done = script(f'{BEGIN}\n{before}\nrun = train(on_sigterm="mark")\n{after}\n')
    assert done.returncode == code, done.stderr
    r = tracker.open_run("test/r")
    assert (r.state, r.state_detail) == (state, detail)
    assert r.history("loss").values.tolist() == [i / 3 for i in range(POINTS)]
    assert r.problems == ()


# Promise P9: `on_sigterm="mark"` chains to the earlier handler; without it there is no handler; a forked child marks
# nothing.
def test_sigterm_is_left_alone_without_mark_and_after_the_end(script: Script) -> None:
    done = script(
        BEGIN
        + """
def caught():
    bits = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("SigCgt:"))
    return bool(int(bits, 16) >> (signal.SIGTERM - 1) & 1)
seen = [caught()]
first = train()
seen.append(caught())
marked = [tracker.init(project="test", quiet=True, on_sigterm="mark") for _ in range(2)]
for run in marked:
    seen.append(caught())
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    run.finish()
seen.append(caught())
with tracker.init(project="test", quiet=True, on_sigterm="mark"):
    seen.append(caught())
print(seen + [caught()])
"""
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[False, False, True, True, False, True, False]\n"


def test_the_mark_is_made_while_native_code_holds_the_interpreter(store: Path, tmp_path: Path) -> None:
    source = BEGIN + textwrap.dedent(
        """
        import ctypes
        signal.signal(signal.SIGTERM, lambda *_: None)  # Python calls it when the native code has returned: never
        thread = threading.Thread(target=lambda: train(on_sigterm="mark"))  # from any thread
        thread.start(); thread.join()
        print("ready", flush=True)
        ctypes.PyDLL(None).pause()
        ctypes.PyDLL(None).pause()
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", source],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(tracker.__file__).parent.parent)},
        cwd=tmp_path,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):  # the second pause() goes on
            process.wait(0.5)
        process.kill()
    r = tracker.open_run("test/r")
    assert (r.state, r.state_detail) == ("preempted", "SIGTERM")
    assert len(r.history("loss")) == POINTS


def test_the_mark_is_stored_with_the_points_where_the_container_goes_with_the_process(
    script: Script, own_shm: Path
) -> None:
    done = script(
        BEGIN
        + """
signal.signal(signal.SIGTERM, lambda *_: None)
run = train(on_sigterm="mark")
term()
time.sleep(0.2)
run.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    for journal in own_shm.iterdir():
        shutil.rmtree(journal)
    r = tracker.open_run("test/r")
    assert (r.state, r.state_detail, len(r.history("loss"))) == ("preempted", "SIGTERM", POINTS)


def test_a_forked_child_that_is_terminated_marks_nothing_of_its_parents(script: Script) -> None:
    done = script(
        BEGIN
        + """
run = train(on_sigterm="mark")
child = os.fork()
if child == 0:
    time.sleep(30)
os.kill(child, signal.SIGTERM)
print(os.WTERMSIG(os.waitpid(child, 0)[1]))
child = os.fork()
if child == 0:
    run.attach()
    run.log({"child": 1.0}, step=0)
    term()
print(os.WTERMSIG(os.waitpid(child, 0)[1]))
"""
    )
    assert (done.returncode, done.stdout) == (0, f"{signal.SIGTERM:d}\n" * 2), done.stderr
    r = tracker.open_run("test/r")
    assert r.state == "finished"
    assert r.history("child").values.tolist() == [1.0]


def test_every_run_of_the_process_that_asked_is_marked(script: Script) -> None:
    done = script(
        BEGIN
        + """
for name, how in (("a", "mark"), ("b", None), ("c", "mark")):
    tracker.init(project="test", id=name, quiet=True, on_sigterm=how).log({"x": 1})
term()
"""
    )
    assert done.returncode == -signal.SIGTERM, done.stderr
    assert [tracker.open_run(f"test/{name}").state for name in "abc"] == ["preempted", "crashed", "preempted"]


def test_a_handler_that_took_the_place_of_ours_is_reported_and_left_alone(script: Script) -> None:
    done = script(
        BEGIN
        + """
first = train(on_sigterm="mark")
signal.signal(signal.SIGTERM, lambda *_: print("mine", flush=True))
first.finish()
second = tracker.init(project="test", id="second", quiet=True, on_sigterm="mark")
term()
second.finish()
term()
"""
    )
    assert (done.returncode, done.stdout) == (0, "mine\nmine\n"), done.stderr
    assert "another handler of SIGTERM" in done.stderr
    assert tracker.open_run("test/second").state == "finished"


@pytest.mark.parametrize("order", ["ended", "live"])
@pytest.mark.parametrize("before", ["none", "a handler"])
def test_a_handler_that_was_there_for_a_while_does_not_keep_ours_away(script: Script, order: str, before: str) -> None:
    done = script(
        BEGIN
        + f"""
if {before!r} == "a handler":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
first = train(on_sigterm="mark")
old = signal.signal(signal.SIGTERM, lambda *_: None)
signal.signal(signal.SIGTERM, old)
if {order!r} == "ended":
    first.finish()
second = tracker.init(project="test", id="second", quiet=True, on_sigterm="mark")
term()
time.sleep(30)
"""
    )
    assert done.returncode == (7 if before == "a handler" else -signal.SIGTERM), done.stderr
    assert "another handler" not in done.stderr
    assert tracker.open_run("test/second").state == "preempted"
    assert tracker.open_run("test/r").state == ("finished" if order == "ended" else "preempted")


def test_a_run_with_a_preemption_notice_is_preempted_until_a_further_attempt_is_not(script: Script) -> None:
    source = BEGIN + "run = train(resume='allow')\nif sys.argv[1] == 'mark': run.mark_preempting()\n"
    killed = source + "os.kill(os.getpid(), signal.SIGKILL)"
    states = []
    for text, mark in ((killed, "mark"), (source + "raise ValueError('late')", "mark"), (source, "mark"), (source, "")):
        script(text, mark)
        r = tracker.open_run("test/r")
        states.append((r.state, r.state_detail))
    assert states == [
        ("preempted", ""),
        ("preempted", "exit code 1: ValueError: late"),
        ("preempted", ""),
        ("finished", ""),
    ]


def test_marking_after_the_end_or_where_nothing_is_recorded_does_nothing() -> None:
    run = tracker.init(project="test", quiet=True)
    run.finish()
    run.mark_preempting()
    assert tracker.open_run(run.uid).state == "finished"
    strict = tracker.init(project="test", quiet=True, strict=True)
    strict.mark_preempting()
    strict.mark_preempting()
    strict.finish()
    assert tracker.open_run(strict.uid).state == "preempted"
    with pytest.raises(tracker.TrackerError, match="could not be marked"):
        strict.mark_preempting()
    tracker.init(project="test", mode="disabled", strict=True, on_sigterm="mark").mark_preempting()


# How it ends with on_exit="leave" -> exit code, state.
LEFT: dict[str, tuple[str, int, str]] = {
    "return": ("pass", 0, "crashed"),
    "sys.exit(3)": ("sys.exit(3)", 3, "crashed"),
    "exception": ("raise ValueError('seen')", 1, "crashed"),
    "finish": ("run.finish()", 0, "finished"),
    "with": ("with run: pass", 0, "finished"),
    "marked": ("run.mark_preempting()", 0, "preempted"),
    "out of scope": ("del run; import gc; gc.collect()", 0, "crashed"),
}


# Promise P1: `on_exit="leave"` leaves the run as a kill would, and nothing is lost.
@pytest.mark.parametrize("how", LEFT)
def test_a_run_that_is_left_at_exit_is_as_if_its_process_were_killed(script: Script, how: str) -> None:
    last, code, state = LEFT[how]
    done = script(f'{BEGIN}\nrun = train(on_exit="leave")\nrun.log({{"loss": 7.0}}, step={POINTS})\n{last}\n')
    assert done.returncode == code, done.stderr
    assert ("ValueError: seen" in done.stderr) == (how == "exception")
    r = tracker.open_run("test/r")
    assert r.state == state
    assert r.history("loss").values.tolist() == [*(i / 3 for i in range(POINTS)), 7.0]


def test_the_other_runs_of_the_process_end_with_it(script: Script) -> None:
    done = script(BEGIN + "left = train(on_exit='leave')\ntracker.init(project='test', id='other', on_exit='finish')")
    assert done.returncode == 0, done.stderr
    assert tracker.open_run("test/other").state == "finished"
    assert tracker.open_run("test/r").state == "crashed"


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"on_sigterm": "finish"}, ValueError, 'on_sigterm="finish": expected one of "mark"'),
        ({"on_sigterm": ""}, ValueError, "on_sigterm must not be empty"),
        ({"on_sigterm": True}, TypeError, 'on_sigterm must be "mark", got True'),
        ({"on_exit": "later"}, ValueError, 'on_exit="later": expected one of "finish", "leave"'),
        ({"on_exit": 0}, TypeError, 'on_exit must be "finish" or "leave", got 0'),
    ],
)
def test_a_value_that_is_none_of_theirs_is_an_error_at_once(options: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        tracker.init(project="test", **options)
    assert tracker.run is None
