# SPDX-License-Identifier: MIT
"""Goal: a run goes on as itself while its store takes nothing: each process has an attempt and steps of its own, and
what is stored later reads as if the disk had been there.

Method: a store without rights to write, by processes without root's; rights come back, and the run is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker
from commands import AS_USER, command, only_journal, run_script
from conditions import SETPRIV, needs

LOGS = """
import os, sys, tracker
where, value, count, end = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
named = {"resume_from": where} if "@" in where else {"id": where, "resume": sys.argv[5]}
run = tracker.init(project="p", **named)
for step in range(run.step + 1, run.step + 1 + count): run.log({"m": value}, step=step)
print(run.uid, run.attempt)
if end == "store, kill": run.flush()
if "kill" in end: os.kill(os.getpid(), 9)
run.finish()
"""
TWICE = """
import os, sys, tracker
for value in (2.0, 3.0):
    run = tracker.init(project="p", id="r", resume="allow")
    for step in range(run.step + 1, run.step + 11): run.log({"m": value}, step=step)
    print(run.attempt, flush=True)
    if sys.argv[1] == "finish": run.finish()
"""


@pytest.fixture
def locked(store: Path) -> Callable[[bool], None]:
    def lock(taken: bool) -> None:
        for folder in [path for path in sorted(store.rglob("*")) if path.is_dir()] + [store]:
            folder.chmod(0o555 if taken else 0o755)
        for file in store.rglob("*.db"):
            file.chmod(0o444 if taken else 0o644)

    needs(SETPRIV)
    return lock


def log(where: str, value: float, count: int, end: str = "finish", resume: str = "allow") -> list[str]:
    done = run_script(LOGS, where, str(value), str(count), end, resume, prefix=AS_USER)
    assert done.returncode == (-9 if "kill" in end else 0), done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("end", ["finish", "kill"])
def test_each_resume_on_a_disk_that_takes_nothing_is_an_attempt_of_its_own(
    locked: Callable[[bool], None], end: str
) -> None:
    log("r", 1, 10)
    locked(True)
    second, third = log("r", 2, 10, end), log("r@12", 3, 3)
    locked(False)
    assert (second[1], third[1]) == ("2", "3")
    command("ls")
    run = tracker.open_run("p/r")
    rows = run.history("m")
    assert rows.steps.tolist() == list(range(16))
    assert rows.values.tolist() == [1.0] * 10 + [2.0] * 3 + [3.0] * 3
    assert run.state == "finished"
    shown = json.loads(command("show", "p/r", "--json").stdout)
    assert [attempt["continues"] for attempt in shown["attempts"]] == [0, 1, 2]


def test_attempts_that_log_nothing_on_a_disk_that_takes_nothing_have_numbers_too(
    locked: Callable[[bool], None],
) -> None:
    log("r", 1, 5)
    locked(True)
    attempts = [log("r", 0, 0)[1], log("r@1", 0, 0)[1], log("r", 2, 3)[1]]
    locked(False)
    assert attempts == ["2", "3", "4"]
    command("ls")
    rows = tracker.open_run("p/r").history("m")
    assert rows.values.tolist() == [1.0, 1.0, 2.0, 2.0, 2.0]
    assert rows.steps.tolist() == list(range(5))


def test_steps_of_texts_that_wait_count(locked: Callable[[bool], None]) -> None:
    log("r", 1, 1)
    locked(True)
    text = LOGS.replace('run.log({"m": value}, step=step)', 'run.log({"t": "hi"}, step=40)')
    run_script(text, "r", "0", "1", "kill", "allow", prefix=AS_USER)
    log("r", 2, 1)
    locked(False)
    command("ls")
    assert tracker.open_run("p/r").history("m").steps.tolist() == [0, 41]


# The journal of a run is its folder's, wherever that was moved: a second folder of it took what waited, and called what
# the first one had stored lost.
def test_a_run_whose_folder_was_renamed_is_not_begun_again_beside_it(own_shm: Path, store: Path) -> None:
    first = log("r", 1, 10, "store, kill")
    (store / "runs/p/r").rename(store / "runs/p/r-old")
    second = log("r", 2, 10)
    assert second[0] != first[0]
    assert second[1] == "1"
    command("ls")
    for run, value in (first, 1.0), (second, 2.0):
        read = tracker.open_run(run[0])
        assert read.history("m").values.tolist() == [value] * 10
        assert read.losses.dropped == 0


@pytest.mark.parametrize("end", ["finish", "open"])
def test_a_resume_in_the_same_process_goes_on_after_what_it_has_not_stored(
    locked: Callable[[bool], None], end: str
) -> None:
    log("r", 1, 10)
    locked(True)
    done = run_script(TWICE, end, prefix=AS_USER)
    locked(False)
    assert done.stdout.split() == ["2", "3"], done.stderr
    command("ls")
    rows = tracker.open_run("p/r").history("m")
    assert rows.steps.tolist() == list(range(30))
    assert rows.values.tolist() == [1.0] * 10 + [2.0] * 10 + [3.0] * 10


@pytest.mark.parametrize("resume", ["allow", "must"])
def test_a_run_that_is_in_a_journal_alone_is_resumed_as_itself(locked: Callable[[bool], None], resume: str) -> None:
    log("other", 0, 1)
    locked(True)
    first = log("r", 1, 10)
    second = log("r", 2, 10, "kill", resume)
    locked(False)
    third = log("r", 3, 10, "finish", resume)
    assert first[0] == second[0] == third[0]
    assert [each[1] for each in (first, second, third)] == ["1", "2", "3"]
    rows = tracker.open_run("p/r").history("m")
    assert rows.steps.tolist() == list(range(30))
    assert rows.attempts.tolist() == [1] * 10 + [2] * 10 + [3] * 10
    assert len(json.loads(command("ls", "--json").stdout)["runs"]) == 2


@pytest.mark.parametrize("name", ["r", "p/r", "uid"])
def test_a_run_that_is_in_a_journal_alone_is_known_by_each_of_its_names(
    locked: Callable[[bool], None], name: str
) -> None:
    log("other", 0, 1)
    locked(True)
    first = log("r", 1, 10)
    second = log(f"{first[0] if name == 'uid' else name}@5", 2, 3)
    locked(False)
    assert second == [first[0], "2"]
    command("ls")
    assert tracker.open_run("p/r").history("m").values.tolist() == [1.0] * 6 + [2.0] * 3


def test_a_run_that_waits_in_a_journal_of_a_newer_version_is_not_gone_on_with(own_shm: Path, store: Path) -> None:
    log("r", 1, 10, "kill")
    (ring,) = only_journal(own_shm).glob("ring-*")
    with ring.open("r+b") as file:
        file.seek(8)
        file.write((7).to_bytes(4, "little"))
    refused = run_script(LOGS, "r", "2", "1", "finish", "must")
    assert refused.returncode == 1
    assert "newer version" in refused.stderr
    another = log("r", 2, 1)
    with ring.open("r+b") as file:
        file.seek(8)
        file.write((1).to_bytes(4, "little"))
    command("ls")
    run = tracker.open_run("p/r")
    assert run.uid != another[0]
    assert run.history("m").steps.size == 10


def test_a_run_with_a_claim_or_definitions_of_a_newer_version_is_not_removed(own_shm: Path, store: Path) -> None:
    log("r", 1, 10)
    claim = store / "runs/p/r/attempt-2.json"
    claim.write_text(json.dumps({"format": "tracker-attempt", "version": 2, "attempt": 2}))
    removed = command("rm", "p/r", "--yes")
    assert removed.returncode == 4
    assert str(claim) in removed.stderr
    refused = run_script(LOGS, "r", "2", "1", "finish", "must")
    assert refused.returncode == 1
    assert "version 2" in refused.stderr
    claim.unlink()
    log("r", 2, 10, "store, kill")  # its database names the journal
    definitions = only_journal(own_shm) / "defs"
    sound = definitions.read_bytes()
    definitions.write_bytes(sound[:7] + b"2" + sound[8:])
    removed = command("rm", "p/r", "--yes")
    assert removed.returncode == 4, removed.stdout + removed.stderr
    assert (store / "runs/p/r/run.json").exists()
