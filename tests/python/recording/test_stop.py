# SPDX-License-Identifier: MIT
"""Goal: `tracker stop` asks, the run's own code stops, and the run says who asked. Method: the command in a process of
its own beside loops that ask should_stop()."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]
Done = subprocess.CompletedProcess[str]

PATIENCE_S = 120  # a second on an idle machine
REASON_BYTES_MAX = 4096  # kStopReasonBytesMax; kStopLookInterval is what becomes() waits for


def stop(*arguments: str) -> Done:
    return subprocess.run(
        [sys.executable, "-m", "tracker", "stop", *arguments], capture_output=True, text=True, check=False, timeout=120
    )


def becomes(wanted: bool, run: tracker.Run) -> bool:
    """Waits until should_stop() answers that."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if run.should_stop() is wanted:
            return True
        time.sleep(0.02)
    return False


def test_a_run_that_is_asked_to_stop_knows_who_asked_and_why(run: tracker.Run) -> None:
    assert run.should_stop() is False
    done = stop(run.id, "--reason", "loss is NaN", "--json")
    assert done.returncode == 0, done.stderr
    asked = json.loads(done.stdout)
    assert (asked["id"], asked["attempt"], asked["reason"]) == (run.id, 1, "loss is NaN")
    assert becomes(True, run)
    reason = run.stop_reason
    assert reason is not None
    assert reason.startswith(f"loss is NaN ({asked['by']}, ")
    request = tracker.open_run(run.id).stop_request
    assert request == ("loss is NaN", asked["by"], asked["requested_us"] / 1e6, 1)
    folder = run.dir
    run.finish()
    page = subprocess.run([sys.executable, "-m", "tracker", "show", run.id], capture_output=True, text=True, check=True)
    assert "loss is NaN" in page.stdout
    assert "stop_asked" in notes_of(folder)


# Bug: the first call only began to look, and a script that asks once never saw it.
def test_the_first_question_sees_what_was_asked_before(run: tracker.Run) -> None:
    run.log({"x": 1})
    assert stop(run.id, "--reason", "good enough").returncode == 0
    assert run.should_stop() is True
    reason = run.stop_reason
    assert reason is not None
    assert reason.startswith("good enough (")


# Bug: the reason was gone.
def test_a_further_request_without_a_reason_takes_none_away(run: tracker.Run) -> None:
    assert stop(run.id, "--reason", "loss is NaN").returncode == 0
    done = stop(run.id)
    assert (done.returncode, "it was asked before: loss is NaN (" in done.stdout) == (0, True), done.stdout
    assert json.loads(stop(run.id, "--json").stdout)["reason"] == "loss is NaN"
    assert run.should_stop() is True
    assert "loss is NaN" in str(run.stop_reason)
    assert stop(run.id, "--reason", "too slow").returncode == 0  # the last reason counts
    request = tracker.open_run(run.id).stop_request
    assert request is not None
    assert request[0] == "too slow"


# Reaches the limit kStopFirstLook.
def test_the_first_question_waits_no_longer_than_it_says_for_a_stuck_disk(
    store: Path, script: Script, tmp_path: Path
) -> None:
    (tmp_path / "slow.c").write_text(
        "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <string.h>\n#include <sys/stat.h>\n#include <unistd.h>\n"
        "int stat(const char *path, struct stat *out) {\n"
        '  while (strstr(path, "stop-request") && access("stuck", F_OK) == 0) usleep(5000);\n'
        "  return fstatat(AT_FDCWD, path, out, 0);\n}\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "slow.so", tmp_path / "slow.c"], check=True)
    loaded = f"{os.environ.get('LD_PRELOAD', '')} {tmp_path / 'slow.so'}"  # after a sanitizer's, which must be first
    done = script(
        """
        import pathlib, threading, time, tracker
        run = tracker.init(project="test", quiet=True)
        pathlib.Path("stuck").touch()
        threading.Timer(0.02, lambda: print("the GIL is free")).start()
        begin = time.monotonic()
        first = run.should_stop()
        print("first", first, 0.09 < time.monotonic() - begin < 5)
        begin = time.monotonic()
        print([run.should_stop() for i in range(5)], time.monotonic() - begin < 0.05)
        pathlib.Path("stuck").unlink()
        """,
        env={"LD_PRELOAD": loaded.strip()},
    )
    lines = ["the GIL is free", "first False True", "[False, False, False, False, False] True"]
    assert done.stdout.splitlines() == lines, done.stdout + done.stderr


def notes_of(folder: str) -> list[str]:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import run, pathlib\n"
        "r = run.read_run(pathlib.Path(sys.argv[2]))\n"
        "print(*[e.payload['kind'] for w in r.writers for e in w.events() if e.kind == 5])"
    )
    reader = str(Path(__file__).parents[2] / "second_reader")
    done = subprocess.run([sys.executable, "-c", code, reader, folder], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_request_that_is_taken_back_counts_no_more(run: tracker.Run) -> None:
    assert stop(run.id, "--cancel").returncode == 1
    assert stop(run.id).returncode == 0
    assert becomes(True, run)
    done = stop(run.id, "--cancel")
    assert (done.returncode, "took back" in done.stdout) == (0, True)
    assert becomes(False, run)
    assert run.stop_reason is None


def test_a_run_that_is_not_running_is_not_asked(run: tracker.Run) -> None:
    run.finish()
    done = stop(run.id)
    assert done.returncode == 1
    assert "is not running but finished" in done.stderr
    assert not (Path(run.dir) / "stop-request.json").exists()
    assert stop("missing").returncode == 1


def test_a_resumed_run_is_not_stopped_by_an_old_request() -> None:
    first = tracker.init(project="test", id="again", quiet=True)
    assert stop("again").returncode == 0
    assert becomes(True, first)
    first.finish()
    second = tracker.init(project="test", id="again", resume="must", quiet=True)
    for _ in range(60):  # longer than it takes to be seen
        assert second.should_stop() is False
        time.sleep(0.05)
    assert stop("again").returncode == 0
    assert becomes(True, second)


RANK = """
import sys, time, tracker
run = tracker.init(project="test", id="job", rank=int(sys.argv[1]), world_size=2, quiet=True)
run.log({"loss": 1.0})
print(run.rank, flush=True)
end = time.monotonic() + 100
while not run.should_stop() and time.monotonic() < end: time.sleep(0.05)
print(run.stop_reason)
"""


def test_a_rank_that_records_nothing_sees_the_request_to_its_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "job-7")
    ranks = [
        subprocess.Popen([sys.executable, "-c", RANK, rank], stdout=subprocess.PIPE, text=True) for rank in ("0", "1")
    ]
    for number, rank in enumerate(ranks):
        assert rank.stdout is not None
        assert rank.stdout.readline().strip() == str(number)
    assert stop("job", "--reason", "enough").returncode == 0
    for rank in ranks:
        out, _ = rank.communicate(timeout=PATIENCE_S)
        assert out.startswith("enough ("), out


def test_a_forked_child_is_not_asked(run: tracker.Run) -> None:
    stop(run.id)
    assert becomes(True, run)
    child = os.fork()
    if child == 0:
        os._exit(3 if run.should_stop() is False and run.stop_reason is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


def test_a_run_that_never_asks_has_no_thread_for_it(script: Script) -> None:
    done = script(
        """
        import contextlib, pathlib, tracker
        def threads():
            for comm in pathlib.Path("/proc/self/task").glob("*/comm"):
                with contextlib.suppress(OSError):  # it has ended since the folder was listed
                    yield comm.read_text().strip()
        run = tracker.init(project="test", quiet=True)
        before = "trk-stop" in threads()
        run.should_stop()
        after = "trk-stop" in threads()
        print(before, after)
        """
    )
    assert done.stdout.split() == ["False", "True"]


def test_a_bad_request_is_refused_or_ignored(run: tracker.Run) -> None:
    done = stop(run.id, "--reason", "x" * (REASON_BYTES_MAX + 1))
    assert done.returncode == 2
    assert "4096 at most" in done.stderr
    assert stop(run.id, "--cancel", "--reason", "why").returncode == 2
    (Path(run.dir) / "stop-request.json").write_text("{}")
    time.sleep(2)
    assert run.should_stop() is False
    assert stop(run.id).returncode == 0  # takes its place
    assert becomes(True, run)


def test_verify_knows_the_request(run: tracker.Run) -> None:
    assert stop(run.id).returncode == 0
    run.finish()
    done = subprocess.run([sys.executable, "-m", "tracker", "verify"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "stop-request" not in done.stdout
