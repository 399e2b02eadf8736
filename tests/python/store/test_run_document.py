# SPDX-License-Identifier: MIT
"""Goal: a run whose run.json is gone or damaged goes on as itself, and one that cannot be read says why.
Method: the file is removed or overwritten, before a resume or under a live run, with its databases whole or not."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tracker
from commands import command, environment, run_script

LARGE = "x" * 70_000  # more than a document may hold
RESTORED_MAX_S = 20.0  # it is checked each second, with a commit


@pytest.fixture
def document(store: Path) -> Path:
    """run.json of the run p/r, which has the steps 0 to 9 of x."""
    with tracker.init(project="p", id="r", quiet=True) as run:
        for step in range(10):
            run.log({"x": float(step)}, step=step)
    return store / "runs" / "p" / "r" / "run.json"


@pytest.mark.parametrize("resume", ["allow", "must", "from"])
@pytest.mark.parametrize("damage", ["gone", "cut", "empty", "folder", "large"])
def test_a_run_goes_on_as_itself_and_its_document_is_written_again(
    document: Path, capfd: pytest.CaptureFixture[str], resume: str, damage: str
) -> None:
    before = json.loads(document.read_text())
    document.unlink()
    if damage == "cut":
        document.write_text('{"format": "tracker-r')
    if damage == "empty":
        document.touch()
    if damage == "folder":
        document.mkdir()
    if damage == "large":
        document.write_text(json.dumps({**before, "more": LARGE}))
    named = {"resume_from": "r@4"} if resume == "from" else {"id": "r", "resume": resume}
    with tracker.init(project="p", quiet=True, **named) as run:
        assert (run.id, run.uid, run.attempt) == ("r", before["uid"], 2)
        run.log({"x": 100.0})
    said = capfd.readouterr().err
    assert "the run's identity is from" in said
    assert ("it is complete again" if damage == "gone" else f"the damaged one is {document}.damaged-1") in said
    steps = tracker.open_run("p/r").history("x").steps.tolist()
    assert steps == ([0, 1, 2, 3, 4, 5] if resume == "from" else list(range(11)))
    now = json.loads(document.read_text())
    assert {key: now[key] for key in ("uid", "project", "id", "created_us", "launch")} == {
        key: before[key] for key in ("uid", "project", "id", "created_us", "launch")
    }
    verified = command("verify")
    assert verified.returncode == 0, verified.stdout


@pytest.mark.parametrize("text", ["", None])
def test_a_run_of_which_no_file_says_who_it_is_is_not_resumed_in_silence(
    document: Path, capfd: pytest.CaptureFixture[str], text: str | None
) -> None:
    document.unlink()
    if text is not None:
        document.write_text(text)
    for database in document.parent.glob("*.db"):
        database.write_bytes(b"no database" * 1000)
    why = f"{'damaged' if text is not None else 'missing'} and no database beside it says that it is this run"
    with pytest.raises(tracker.CorruptError, match=why):
        tracker.init(project="p", id="r", resume="must", quiet=True)
    with tracker.init(project="p", id="r", resume="allow", quiet=True) as other:
        assert other.id == "r-2"
    assert f"{why}, so it cannot be resumed; another run is made" in capfd.readouterr().err


RESUMES = """
import pathlib, sys, time, tracker
go = pathlib.Path(sys.argv[1])
while not go.exists(): time.sleep(0.001)
with tracker.init(project="p", id="r", resume="must", quiet=True) as run: print(run.uid, run.attempt)
"""


def test_of_processes_that_resume_together_one_keeps_the_damaged_document(document: Path, tmp_path: Path) -> None:
    before = json.loads(document.read_text())
    document.write_text("{")
    script = [sys.executable, "-c", RESUMES, str(tmp_path / "go")]
    processes = [subprocess.Popen(script, env=environment(), stdout=subprocess.PIPE, text=True) for _ in range(6)]
    (tmp_path / "go").touch()
    said = [process.communicate(timeout=60)[0].split() for process in processes]
    assert {uid for uid, _ in said} == {before["uid"]}
    assert sorted(int(attempt) for _, attempt in said) == [2, 3, 4, 5, 6, 7]
    assert [path.name for path in document.parent.glob("run.json.*")] == ["run.json.damaged-1"]
    assert json.loads(document.read_text())["uid"] == before["uid"]


def test_a_document_that_cannot_be_read_is_not_taken_for_a_damaged_one(
    document: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    document.unlink()
    document.symlink_to(document.name)  # for root all else can be read
    with tracker.init(project="p", id="r", resume="must", quiet=True) as run:
        assert run.attempt == 2
    assert "the run's identity is from" in capfd.readouterr().err
    assert document.is_symlink()
    assert not list(document.parent.glob("run.json.*"))


RANK = """
import tracker
with tracker.init(project="p", id="r", resume="allow", ranks="all", quiet=True) as run:
    run.log({"y": 1.0}, step=0)
    print(run.id, run.uid, run.flush())
"""


def two_ranks(script: str) -> list[list[str]]:
    """The words that each of two ranks prints."""
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            env=environment(RANK=rank, WORLD_SIZE="2"),
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in ("0", "1")
    ]
    return [rank.communicate(timeout=60)[0].split() for rank in ranks]


@pytest.mark.parametrize("text", ["{", None, LARGE])
def test_ranks_that_resume_an_unreadable_run_share_another_run(document: Path, text: str | None) -> None:
    document.unlink()
    if text is not None:
        document.write_text(text)
    for database in document.parent.glob("*.db"):
        database.write_bytes(b"no database" * 1000)
    with tracker.init(project="p", id="r-2", quiet=True) as run:
        run.log({"mine": 1.0}, step=0)
    before = sorted(path.name for path in document.parent.iterdir())
    said = two_ranks(RANK)
    assert said[0] == said[1]
    assert (said[0][0], said[0][2]) == ("r-3", "True")
    assert tracker.open_run("p/r-2").series() == ["mine"]
    assert sorted(path.name for path in document.parent.iterdir()) == before
    assert tracker.open_run("p/r-3").series() == ["y"]


@pytest.mark.parametrize("resume", ["allow", "never"])
def test_ranks_pass_over_a_folder_that_another_run_was_moved_to(document: Path, resume: str) -> None:
    document.parent.rename(document.parent.with_name("s"))
    said = two_ranks(RANK.replace('id="r", resume="allow"', f'id="s", resume="{resume}"'))
    assert said[0] == said[1]
    assert (said[0][0], said[0][2]) == ("s-2", "True")
    assert tracker.open_run("p/r").series() == ["x"]
    assert tracker.open_run("p/s-2").series() == ["y"]


DIES = """
import os, tracker
run = tracker.init(project="p", id="dead", quiet=True)
run.log({"x": 1.0}, step=0)
run.flush()
run.log({"x": 2.0}, step=1)
os._exit(0)
"""


@pytest.mark.parametrize("taken_by", ["a large document", "another run"])
def test_recovery_makes_another_folder_where_the_runs_own_is_not_its_own_any_more(
    document: Path, own_shm: Path, taken_by: str
) -> None:
    run_script(DIES)
    folder = document.parent.with_name("dead")
    uid = json.loads((folder / "run.json").read_text())["uid"]
    shutil.rmtree(folder)
    if taken_by == "another run":
        shutil.copytree(document.parent, folder)
    else:
        folder.mkdir()
        (folder / "run.json").write_text('"' + LARGE + '"')
    before = sorted(path.name for path in folder.iterdir())
    assert "recovered 2 points of p/dead-2" in command("ls").stderr
    assert sorted(path.name for path in folder.iterdir()) == before
    run = tracker.open_run("p/dead-2")
    assert run.uid == uid
    assert run.history("x").values.tolist() == [1.0, 2.0]
    assert run.losses.dropped == 0


def test_a_database_of_another_run_in_its_folder_is_named_and_not_read(
    document: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with tracker.init(project="p", id="other", quiet=True) as run:
        run.log({"y": 1.0}, step=0)
    (database,) = document.parent.with_name("other").glob("*.db")
    shutil.copy(database, document.parent)
    listed = command("ls", "--json")
    assert listed.returncode == 3
    assert "belongs to another run, p/other, uid " in listed.stderr
    rows = {row["id"]: row for row in json.loads(listed.stdout)["runs"]}
    assert (rows["r"]["points"], rows["r"]["state"]) == (10, "finished")
    assert tracker.open_run("p/r").series() == ["x"]
    assert "belongs to another run" in capfd.readouterr().err
    verified = command("verify")
    assert verified.returncode == 3
    assert "belongs to another run: p/other" in verified.stdout


def test_a_document_that_is_removed_under_a_live_run_is_put_back(
    store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = tracker.init(project="p", id="r", quiet=True)
    run.log({"x": 0.0}, step=0)
    run.flush()
    document = store / "runs" / "p" / "r" / "run.json"
    before = json.loads(document.read_text())
    document.unlink()
    end = time.monotonic() + RESTORED_MAX_S
    while not document.exists() and time.monotonic() < end:
        run.log({"x": 0.0})
        time.sleep(0.05)
    assert json.loads(document.read_text()) == before
    document.unlink()
    run.finish()
    assert json.loads(document.read_text()) == before
    assert capfd.readouterr().err.count("was removed while the run is recorded; it was written again") == 1
    assert tracker.open_run("p/r").state == "finished"


def test_a_run_of_a_newer_version_is_named_with_it_by_every_reader(document: Path) -> None:
    for path in document.parent.glob("*.db"):
        with sqlite3.connect(path) as database:
            database.execute("PRAGMA user_version = 99")
        database.close()
    listed = command("ls", "--json")
    assert listed.returncode == 4
    (row,) = json.loads(listed.stdout)["runs"]
    assert row["state"] == "damaged"
    assert "has version 99" in listed.stderr
    run = tracker.open_run("p/r")
    assert run.state == "damaged"
    with pytest.raises(tracker.CorruptError, match="has version 99, this program reads up to"):
        run.history("x")
    shown = command("show", "p/r")
    assert shown.returncode == 4
    assert "has version 99" in shown.stdout


def test_a_resume_from_a_run_that_is_not_there_speaks_of_what_was_asked() -> None:
    with pytest.raises(tracker.NotFoundError, match='resume_from="q@3", but there is no run p/q') as missing:
        tracker.init(project="p", resume_from="q@3", quiet=True)
    assert 'resume="must"' not in str(missing.value)
    with tracker.init(project="p", resume_from="q@3", resume="allow", quiet=True) as run:
        assert run.id == "q"
