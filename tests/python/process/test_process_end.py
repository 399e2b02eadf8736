# SPDX-License-Identifier: MIT
"""Goal: however a process ends without finish(), all acknowledged records are there, the run's state says how it
ended, and the exit code is the one the program would have had.
Method: F4, a matrix of scripts in processes of their own, compared with the same script without a tracker."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker
from conditions import THREAD_LIMIT, skip_where

Script = Callable[..., "subprocess.CompletedProcess[str]"]


# Bug: it had ended when somebody looked: a run killed on Friday went on until Monday.
@pytest.mark.parametrize("files", ["sqlite", "frames"])
def test_a_killed_run_has_ended_with_its_last_sign_of_life_whenever_it_is_recovered(
    script: Script, monkeypatch: pytest.MonkeyPatch, files: str
) -> None:
    monkeypatch.setenv("TRACKER_STORE_FILES", files)
    script("""
        import os, signal, tracker
        run = tracker.init(project="ends", id="r", quiet=True)
        run.log({"x": 1.0})
        assert run.flush(20)
        run.log({"x": 2.0})
        os.kill(os.getpid(), signal.SIGKILL)
        """)
    killed = time.time()
    time.sleep(2)
    run = tracker.open_run("ends/r")
    assert run.history("x").values.tolist() == [1.0, 2.0]
    assert run.ended is not None
    assert run.ended.timestamp() < killed + 1


POINTS = 1000

# How it ends -> (last lines of the script, exit code, state, part of the state's detail).
ENDS: dict[str, tuple[str, int, str, str]] = {
    "return": ("pass", 0, "finished", ""),
    "exception": ("raise ValueError('boom on purpose')", 1, "failed", "ValueError: boom on purpose"),
    "chained exception": ("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise RuntimeError('outer') from e",
                          1, "failed", "RuntimeError: outer"),
    "own exception": ("class Mine(Exception): pass\nraise Mine('mine\\nsecond line')", 1, "failed", "Mine: mine"),
    "exception with a text that is no UTF-8": ("raise ValueError('a file ' + os.fsdecode(b'\\xff'))", 1, "failed",
                                               "ValueError: a file \\udcff"),
    "exception without a text": ("class Mute(Exception):\n    def __str__(self): raise OSError('mute')\nraise Mute",
                                 1, "failed", "Mute"),
    "sys.exit(0)": ("sys.exit(0)", 0, "finished", ""),
    "sys.exit(3)": ("sys.exit(3)", 3, "failed", "3"),
    "sys.exit(256)": ("sys.exit(256)", 0, "finished", ""),
    "sys.exit(text)": ("sys.exit('out of data')", 1, "failed", "1"),
    "SystemExit in a function": ("def f():\n    raise SystemExit(7)\nf()", 7, "failed", "7"),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", -signal.SIGINT, "interrupted", ""),
    "SIGINT": ("os.kill(os.getpid(), signal.SIGINT); time.sleep(10)", -signal.SIGINT, "interrupted", ""),
    "exception in a thread": ("t = threading.Thread(target=lambda: 1 / 0)\nt.start(); t.join()", 0, "finished", ""),
    "os._exit(5)": ("os._exit(5)", 5, "crashed", ""),
    "abort": ("os.abort()", -signal.SIGABRT, "crashed", ""),
    "segfault": ("import ctypes\nctypes.string_at(0)", -signal.SIGSEGV, "crashed", ""),
    "SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(10)", -signal.SIGTERM, "crashed", ""),
    "SIGKILL": ("os.kill(os.getpid(), signal.SIGKILL); time.sleep(10)", -signal.SIGKILL, "crashed", ""),
    "C exit": ("import ctypes\nctypes.CDLL(None).exit(4)", 4, "failed", "4"),
    "exec": ("os.execv(sys.executable, [sys.executable, '-c', 'raise SystemExit(9)'])", 9, "crashed", ""),
}  # fmt: skip

TRAINING = """
import os, signal, sys, threading, time
import resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
if sys.argv[1] == "tracked":
    import tracker
    run = tracker.init(project="ends", id="ends")
    for i in range({points}):
        run.log({{"loss": i / 3, "n": i}}, step=i)
"""


# Reaches the limit kFinishLeast.
def test_runs_whose_disk_refuses_share_two_seconds_at_exit(script: Script, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    done = script(
        """
import time
import tracker
for i in range(4):
    tracker.init(dir="file/store", id=f"r{i}", quiet=True).log({"x": 1})
begin = time.monotonic()
print(begin, flush=True)
"""
    )
    ended = time.monotonic()
    assert done.returncode == 0
    assert ended - float(done.stdout.split()[-1]) < 6, "2 s and not 8"


# Promise P4: The user's exit code never changes, the traceback is printed, other hooks run.
@pytest.mark.parametrize("how", ENDS)
def test_nothing_acknowledged_is_lost_and_the_exit_code_is_unchanged(script: Script, how: str) -> None:
    last_lines, code, state, detail = ENDS[how]
    source = TRAINING.format(points=POINTS) + last_lines + "\n"
    plain = script(source, "plain")
    tracked = script(source, "tracked")
    assert plain.returncode == code
    assert tracked.returncode == code, tracked.stderr
    assert tracked.stdout == plain.stdout
    r = tracker.open_run("ends/ends")
    assert r.state == state, tracked.stderr
    assert detail in r.state_detail
    assert r.history("loss").values.tolist() == [i / 3 for i in range(POINTS)]
    assert r.history("n").values.tolist() == list(range(POINTS))
    assert r.problems == ()


# Regression: a lone surrogate in its text made TypeError of it.
# Promise P4: An exception keeps its type and its text.
@pytest.mark.parametrize("text", ["plain", "a file \udcff", "\ud800"])
def test_the_exception_that_leaves_a_with_block_is_the_one_that_was_raised(store: Path, text: str) -> None:
    def train() -> None:
        with tracker.init(project="ends", id="with", quiet=True) as run:
            run.log({"loss": 1.0})
            raise ValueError(text)

    with pytest.raises(ValueError, match=r"plain|file|^.$") as raised:
        train()
    assert raised.value.args == (text,)
    ended = tracker.open_run("ends/with")
    assert (ended.state, ended.history("loss").values.tolist()) == ("failed", [1.0])
    assert ended.state_detail.endswith("ValueError: " + text.encode(errors="backslashreplace").decode())


def test_the_traceback_is_still_printed_and_other_hooks_still_run(script: Script) -> None:
    done = script(
        """
        import sys, threading, tracker
        def mine(kind, error, trace):
            print("my hook", kind.__name__)
        sys.excepthook = mine
        thread_hook = threading.excepthook
        run = tracker.init(project="ends", id="hooks")
        assert threading.excepthook is thread_hook
        raise ValueError("seen")
        """
    )
    assert done.returncode == 1
    assert done.stdout == "my hook ValueError\n"
    assert "ValueError: seen" in tracker.open_run("ends/hooks").state_detail


def test_a_hook_installed_later_that_does_not_chain_hides_nothing(script: Script) -> None:
    done = script(
        """
        import sys, tracker
        run = tracker.init(project="ends", id="later")
        sys.excepthook = lambda *_: print("mine")
        raise ValueError("hidden")
        """
    )
    assert done.returncode == 1
    assert done.stdout == "mine\n"
    r = tracker.open_run("ends/later")
    assert r.state == "failed"
    assert "ValueError: hidden" in r.state_detail


# Bug: the hook's exception ended every run as "failed, exit code 1", also those that began after it.
@pytest.mark.parametrize("raised", ["ValueError('one bad sample')", "KeyboardInterrupt"])
def test_an_exception_that_was_handled_fails_no_run_though_the_hook_has_printed_it(script: Script, raised: str) -> None:
    done = script(
        """
        import sys, tracker
        one = tracker.init(project="ends", id="one", quiet=True)
        try:
            raise eval(sys.argv[1])
        except BaseException:
            sys.excepthook(*sys.exc_info())
        one.log({"x": 1.0})
        two = tracker.init(project="ends", id="two", quiet=True)
        """,
        raised,
    )
    assert done.returncode == 0
    assert [(r.state, r.state_detail) for r in tracker.runs("ends")] == [("finished", "")] * 2


@pytest.mark.parametrize("how", ["our hook", "another hook"])
def test_of_a_handled_exception_and_one_that_ends_the_process_the_run_names_the_latter(
    script: Script, how: str
) -> None:
    done = script(
        """
        import sys, tracker
        run = tracker.init(project="ends", id="both", quiet=True)
        try:
            raise ValueError("handled")
        except ValueError:
            sys.excepthook(*sys.exc_info())
        if sys.argv[1] == "another hook":
            sys.excepthook = lambda *_: None
        raise RuntimeError("not handled")
        """,
        how,
    )
    assert done.returncode == 1
    r = tracker.open_run("ends/both")
    assert r.state == "failed"
    assert "RuntimeError: not handled" in r.state_detail


def test_a_run_that_is_out_of_scope_still_ends_with_the_process(script: Script) -> None:
    done = script(
        """
        import gc, tracker
        def train():
            run = tracker.init(project="ends", id="scope")
            run.log({"loss": 1.0}, step=0)
        train()
        gc.collect()
        tracker.log({"loss": 2.0}, step=1)
        raise SystemExit(6)
        """
    )
    assert done.returncode == 6
    r = tracker.open_run("ends/scope")
    assert r.state == "failed"
    assert r.history("loss").values.tolist() == [1.0, 2.0]


def test_logging_from_an_exit_handler_is_recorded(script: Script) -> None:
    done = script(
        """
        import atexit, tracker
        run = tracker.init(project="ends", id="late")
        atexit.register(lambda: run.log({"late": 1.0}, step=0))
        """
    )
    assert done.returncode == 0, done.stderr
    assert tracker.open_run("ends/late").series() == ["late"]


# Promise P9: Nothing on stdout; one line at the start and one at the end on stderr, and both can be off.
def test_stderr_has_one_line_at_the_start_and_one_at_the_end(script: Script) -> None:
    source = """
        import sys, tracker
        run = tracker.init(project="ends", id=sys.argv[1], quiet=sys.argv[1] == "quiet")
        run.log({"loss": 1.0}, step=0)
        """
    loud = script(source, "loud")
    assert loud.stdout == ""
    lines = loud.stderr.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("tracker: ") for line in lines)
    quiet = script(source, "quiet")
    assert (quiet.stdout, quiet.stderr) == ("", "")


# init raised "cannot start a thread", and the end of the process then waited 2 s for no thread. What the next command
# recovers of such a process is in tests/fault/no_thread_test.cc.
def test_a_process_that_may_start_no_thread_keeps_its_points_in_the_journal_and_says_so(script: Script) -> None:
    done = script(
        """
import os, resource, tempfile, threading, tracker, tracker._recording.status
folder = tempfile.mkdtemp(dir="/dev/shm")
os.environ["TRACKER_SHM_DIR"] = folder
os.chmod(folder, 0o777)
if os.geteuid() == 0:  # is bound by no such limit
    os.setresuid(54321, 54321, 54321)
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
try:
    threading.Thread(target=print).start()
    print("threads start here")
except RuntimeError:
    run = tracker.init(project="test", id="r", dir=folder + "/store", quiet=True)
    for i in range(1000):
        run.log({"x": float(i)}, step=i)
    status = run.status()
    assert "no thread" in status.last_error and status.points_pending == 1000
    flushed = run.flush(timeout=10)
    run.finish()
    print(flushed, folder)
"""
    )
    assert done.returncode == 0, done.stderr
    skip_where("threads start here" in done.stdout, THREAD_LIMIT)
    flushed, folder = done.stdout.split()
    shutil.rmtree(folder)
    assert flushed == "False"
    assert done.stderr.count("no thread can be started") == 1


EXIT_HANDLER = """
import atexit

def last():
    run.log({{"final": {medium}, "score": 0.9}}, step=1)

{before_import}
import tracker
{before_init}
run = tracker.init(project="ends", id="ends")
run.log({{"x": 1}}, step=0)
{after_init}
"""
PICTURE = "tracker.Image([[0.5] * 256] * 256)"


@pytest.mark.parametrize("where", ["before_import", "before_init", "after_init"])
@pytest.mark.parametrize(("medium", "count"), [(PICTURE, 1), (f"[{PICTURE}, {PICTURE}]", 2), ("tracker.Html('x')", 1)])
def test_a_picture_that_an_exit_handler_logs_is_stored(script: Script, where: str, medium: str, count: int) -> None:
    lines = {"before_import": "", "before_init": "", "after_init": "", where: "atexit.register(last)"}
    done = script(EXIT_HANDLER.format(medium=medium, **lines))
    run = tracker.open_run("ends/ends")
    assert run.media_account["stored"] == run.media_account["logged"] == count, done.stderr
    assert run.history("score").values.tolist() == [0.9]
    stored = f"2 points and {count_of_media(count)} stored, nothing lost"
    assert done.stderr.splitlines()[-1] == f"tracker: ends/ends finished: {stored}; tracker show ends/ends"


def count_of_media(count: int) -> str:
    return "1 medium" if count == 1 else f"{count} media"


REFUSED = {
    "a list": ("run.log({'loss': [0.5], 'lr': 0.1}, step=i)", 1000, 1000),
    "a key that is too long": ("run.log({'k' * 2000: 1.0, 'lr': 0.1}, step=i)", 1000, 1000),
    "an object": ("run.log({'a': object(), 'b': object()}, step=i)", 0, 2000),
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_last_line_says_how_many_values_were_not_taken(script: Script, what: str) -> None:
    line, points, refused = REFUSED[what]
    done = script(f"""
        import tracker
        run = tracker.init(project="ends", id="ends")
        for i in range(1000):
            {line}
        run.finish()
        """)
    last = done.stderr.splitlines()[-1]
    hint = "their keys are named above; strict=True raises"
    account = f"{points:,} points stored, {refused:,} values not taken ({hint}); tracker show ends/ends"
    assert last == f"tracker: ends/ends finished: {account}"
