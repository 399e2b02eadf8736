# SPDX-License-Identifier: MIT
"""Goal: what somebody copies into a run's folder, or a run's folder beside it, is distinguished from the run.
Method: files and folders are copied as `cp` does; commands and readers say what they take for the run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import tracker
from commands import AS_USER, command, run_script
from conditions import SETPRIV, needs


def make(run_id: str, metric: str, rows: int = 3, project: str = "p") -> Path:
    with tracker.init(project=project, id=run_id, resume="allow", quiet=True) as run:
        for _ in range(rows):
            run.log({metric: 1.0})
        return Path(run.dir)


@pytest.fixture
def folder(store: Path) -> Path:
    """Of the run p/a, which has two attempts with three rows of x each."""
    make("a", "x")
    return make("a", "x")


@pytest.fixture
def live(folder: Path) -> Iterator[tracker.Run]:
    with tracker.init(project="p", id="live", quiet=True) as run:
        run.log({"z": 1.0}, step=0)
        run.flush()
        yield run


def test_a_copy_of_a_live_run_is_not_asked_to_stop(live: tracker.Run) -> None:
    shutil.copytree(live.dir, Path(live.dir).with_name("copy"))
    asked = command("stop", "p/copy")
    assert asked.returncode == 1
    assert 'no run "p/copy"' in asked.stderr
    assert command("show", "p/copy").returncode == 0
    assert command("stop", "p/live").returncode == 0


KILLED = """
import os, signal, tracker
run = tracker.init(project="p", id="a", quiet=True)
for step in range(100): run.log({"x": 1.0}, step=step)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def copies(store: Path, own_shm: Path) -> tuple[Path, Path]:
    """Of a run whose process was killed; none is in the run's own place."""
    run_script(KILLED)
    copy, moved = (store / "runs" / "p" / name for name in ("b", "ff"))
    (store / "runs" / "p" / "a").rename(moved)
    shutil.copytree(moved, copy)
    return copy, moved


# Bug: the rows were stored in the copy, and removed with it.
def test_rm_of_a_copy_that_was_just_given_what_waited_for_the_run_is_refused_once(copies: tuple[Path, Path]) -> None:
    refused = command("rm", "p/b", "--yes")
    assert refused.returncode == 1
    assert "recovered 100 points of p/a in p/b" in refused.stderr
    assert "p/a in p/b was recovered into p/b just now, and p/ff lacks it" in refused.stderr
    assert all(folder.exists() for folder in copies)
    assert len(tracker.open_run("p/b").history("x").values) == 100
    assert command("rm", "p/b", "--yes").returncode == 0
    assert [folder.exists() for folder in copies] == [False, True]


def test_ls_says_of_copies_where_they_are(copies: tuple[Path, Path]) -> None:
    listed = command("ls").stdout
    assert [f"p/a in p/{folder.name}" in listed for folder in copies] == [True, True]


@pytest.mark.parametrize("runs", [("p/ff",), ("p/b", "p/ff")], ids=["the one that was given nothing", "all of them"])
def test_rm_of_copies_that_take_nothing_from_others_is_done_at_once(
    copies: tuple[Path, Path], runs: tuple[str, ...]
) -> None:
    assert command("rm", *runs, "--yes").returncode == 0
    assert [folder.exists() for folder in copies] == [len(runs) == 1, False]


def test_a_run_goes_on_in_its_own_folder_and_not_in_a_copy(folder: Path) -> None:
    shutil.copytree(folder, folder.with_name("copy"))
    with pytest.raises(tracker.NotFoundError, match="no run"):
        tracker.init(project="p", resume_from="p/copy@2", quiet=True)
    with tracker.init(project="p", resume_from="a@2", quiet=True) as run:
        assert Path(run.dir) == folder


def test_rm_of_a_copy_says_that_it_is_one(folder: Path) -> None:
    shutil.copytree(folder, folder.with_name("copy"))
    removed = command("rm", "p/copy", "--yes")
    assert removed.returncode == 0, removed.stderr
    assert "removed p/a in p/copy" in removed.stdout
    assert tracker.open_run("p/a").history("x").steps.size == 6


def test_the_place_of_a_copy_has_its_projects_name(folder: Path) -> None:
    own = make("b", "y", project="q/z")
    shutil.copytree(own, own.with_name("copy"))
    for name in ("q/z/copy", "q%2Fz/copy"):
        assert json.loads(command("show", name, "--json").stdout)["id"] == "b"


def test_a_copy_is_not_shown_for_a_run_that_cannot_be_read(folder: Path) -> None:
    shutil.copytree(folder, folder.with_name("copy"))
    for path in folder.iterdir():
        path.write_bytes(b"no database" * 1000)
    shown = command("show", "p/a")
    assert shown.returncode == 3
    assert str(folder / "run.json") in shown.stderr
    assert command("show", "p/copy").returncode == 0


def test_a_run_whose_document_is_gone_is_not_the_one_whose_database_was_copied_there(folder: Path) -> None:
    for name in ("b", "c", "d"):  # one of them sorts before those of a
        for database in make(name, "y").glob("*.db"):
            shutil.copy(database, folder)
    uid = tracker.open_run("p/a").uid
    (folder / "run.json").unlink()
    with tracker.init(project="p", id="a", resume="must", quiet=True) as run:
        assert (run.id, run.uid) == ("a", uid)
    assert tracker.open_run("p/a").series() == ["x"]


@pytest.mark.parametrize("over", [True, False])
def test_a_bundle_without_databases_of_other_runs_can_be_imported(folder: Path, tmp_path: Path, over: bool) -> None:
    (database,) = make("b", "y").glob("*.db")
    shutil.copy(database, min(folder.glob("*.db")) if over else folder)
    exported = command("export", "p/a", "--bundle", str(tmp_path / "a.bundle"), "--json")
    assert exported.returncode == 3, exported.stderr
    assert len(json.loads(exported.stdout)["left_out"]) == 1
    imported = command("import", str(tmp_path / "a.bundle"), "--dir", str(tmp_path / "other"))
    assert imported.returncode == 0, imported.stderr
    run = tracker.open_run("p/a", dir=str(tmp_path / "other"))
    assert run.series() == ["x"]
    assert len(run.attempts()) == (1 if over else 2)


def test_an_open_database_of_another_run_keeps_no_run_from_being_exported(
    folder: Path, live: tracker.Run, tmp_path: Path
) -> None:
    for path in Path(live.dir).glob("*.db*"):
        shutil.copy(path, folder)
    exported = command("export", "p/a", "--bundle", str(tmp_path / "a.bundle"))
    assert exported.returncode == 3, exported.stderr
    assert "belongs to another run, p/live" in exported.stderr


def test_a_project_that_cannot_be_read_makes_no_run_of_another_one_unreadable(folder: Path) -> None:
    needs(SETPRIV)
    make("b", "y", project="q")
    folder.parent.chmod(0)
    try:
        there = command("show", "q/nope", prefix=AS_USER)
        own = command("show", "p/a", prefix=AS_USER)
    finally:
        folder.parent.chmod(0o755)
    assert (there.returncode, own.returncode) == (1, 1)
    assert 'no run "q/nope"' in there.stderr
    assert "Permission denied" in own.stderr


GOES_ON = "import tracker\nrun = tracker.init(project='p', id='a', resume='allow', quiet=True)\nrun.log({'x': 1.0})"


def test_a_run_that_cannot_be_listed_where_nothing_can_be_made_is_recorded_all_the_same(folder: Path) -> None:
    needs(SETPRIV)
    folder.chmod(0o311)
    folder.parent.chmod(0o555)
    try:
        begun = run_script(GOES_ON, prefix=AS_USER)
    finally:
        folder.chmod(0o755)
        folder.parent.chmod(0o755)
    assert begun.returncode == 0, begun.stderr
    assert "the run cannot be resumed; another run is made" in begun.stderr
    assert command("ls").returncode == 0
    assert tracker.open_run("p/a-2").history("x").values.tolist() == [1.0]


def test_verify_follows_no_link_to_what_is_no_run(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    folder.with_name("link").symlink_to(tmp_path / "mine")
    verified = command("verify")
    assert verified.returncode == 0
    assert "is a link to what is no run's folder" in verified.stdout
    assert "notes.txt" not in verified.stdout
