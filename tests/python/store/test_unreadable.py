# SPDX-License-Identifier: MIT
"""Goal: what a disk, rights or memory refuse to read is neither damaged nor empty: it is named, left, and read later.
Method: a killed run; strace refuses one call, or a user without root's rights to all files reads."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import tracker
from commands import AS_USER, command, only_journal, run_script
from conditions import SETPRIV, STRACE, needs

STORED, POINTS = 100, 150
DIES = f"""
import os, tracker
run = tracker.init(project="p", id="r", quiet=True, config={{"a": 1}})
for step in range({POINTS}):
    run.log({{"x": float(step)}}, step=step)
    if step == {STORED - 1}: run.flush()
os._exit(0)
"""


@pytest.fixture
def journal(own_shm: Path, store: Path) -> Path:
    run_script(DIES)
    return only_journal(own_shm)


def as_user(*arguments: str) -> subprocess.CompletedProcess[str]:
    return command(*arguments, prefix=AS_USER)


def expect_nothing_lost(journal: Path) -> None:
    listed = command("ls")
    assert listed.returncode == 0, listed.stderr
    run = tracker.open_run("p/r")
    assert run.history("x").steps.tolist() == list(range(POINTS))
    assert run.losses.dropped == 0
    assert not journal.exists()
    assert command("verify").returncode == 0


# Promise P5: A file that disk, rights or memory refuse to read is neither damaged nor empty: it is named and waits.
@pytest.mark.parametrize("name", ["ring-*", "defs"])
def test_a_file_of_a_journal_without_rights_waits_for_them(journal: Path, name: str) -> None:
    needs(SETPRIV)
    (path,) = journal.glob(name)
    path.chmod(0)
    listed = as_user("ls")
    assert listed.returncode in (1, 3)
    assert "Permission denied" in listed.stderr
    path.chmod(0o600)
    expect_nothing_lost(journal)


@pytest.mark.parametrize("call", ["openat", "read"])
def test_a_disk_that_refuses_a_ring_once_costs_nothing(journal: Path, call: str) -> None:
    needs(STRACE)
    (ring,) = journal.glob("ring-*")
    refuse = ["strace", "-f", "-o", "/dev/null", "-P", str(ring), "-e", f"inject={call}:error=EIO:when=1"]
    listed = command("ls", prefix=refuse)
    assert listed.returncode == 1, listed.stderr
    assert "Input/output error" in listed.stderr
    expect_nothing_lost(journal)


def test_a_ring_without_a_header_is_no_blank_one_while_its_data_cannot_be_read(journal: Path) -> None:
    needs(STRACE)
    (ring,) = journal.glob("ring-*")
    with ring.open("r+b") as file:
        file.write(bytes(4096))
    refuse = ["strace", "-f", "-o", "/dev/null", "-P", str(ring), "-e", "inject=pread64:error=EIO:when=1"]
    listed = command("ls", prefix=refuse)
    assert listed.returncode == 1, listed.stderr
    assert "cannot read a ring" in listed.stderr
    assert ring.exists()
    assert "unknown number of points" in command("ls").stderr


def test_one_refused_read_of_a_database_makes_it_no_damaged_one(journal: Path, store: Path, tmp_path: Path) -> None:
    needs(STRACE)
    for copied in (store, journal.parent.parent):
        shutil.copytree(copied, tmp_path / f"{copied.name}.first", symlinks=True)
    trace = tmp_path / "trace"
    command("ls", prefix=["strace", "-f", "-o", str(trace), "-e", "trace=pread64"])
    reads = trace.read_text().count("pread64(")
    assert reads > 20
    for number in range(10, reads, 3):
        for copied in (store, journal.parent.parent):
            shutil.rmtree(copied)
            shutil.copytree(tmp_path / f"{copied.name}.first", copied, symlinks=True)
        refuse = ["strace", "-f", "-o", "/dev/null", "-e", f"inject=pread64:error=EIO:when={number}"]
        command("ls", prefix=refuse)
        command("ls")
        verified = command("verify")
        assert verified.returncode == 0, (number, verified.stdout)
        assert tracker.open_run("p/r").history("x").steps.size == POINTS


@pytest.mark.parametrize("name", [".", "p", "p/r"])
def test_a_folder_that_cannot_be_listed_is_not_empty(journal: Path, store: Path, name: str) -> None:
    needs(SETPRIV)
    folder = store / "runs" / name
    folder.chmod(0o311)
    listed = as_user("ls")
    shown = as_user("show", "p/r")
    folder.chmod(0o755)
    assert listed.returncode == 1, listed.stdout
    assert "Permission denied" in listed.stderr
    if name == "p/r":
        assert "Nothing lost" not in shown.stdout
        assert shown.returncode == 1
    expect_nothing_lost(journal)


@pytest.mark.parametrize("resume", ["id='r', resume='must'", "id='r', resume='allow'", "resume_from='r@3'"])
def test_a_run_whose_files_cannot_be_listed_is_not_resumed_at_its_begin(
    journal: Path, store: Path, resume: str
) -> None:
    needs(SETPRIV)
    assert command("ls").returncode == 0
    folder = store / "runs" / "p" / "r"
    folder.chmod(0o311)
    source = f"import tracker\nrun = tracker.init(project='p', {resume}, quiet=True)\nprint(run.id)"
    begun = run_script(source, prefix=AS_USER)
    folder.chmod(0o755)
    assert "the run cannot be resumed" in begun.stderr
    assert begun.stdout.split() == (["r-2"] if "allow" in resume else [])


LAUNCHED = """
import os, tracker
run = tracker.init(project="p", quiet=True)
run.log({"x": 1.0})
print(run.id, run.attempt, run.flush())
"""


@pytest.mark.parametrize("ranks", ["first", "all"])
def test_a_launch_whose_run_cannot_be_listed_goes_on_in_another_one_unless_its_ranks_share_it(
    store: Path, monkeypatch: pytest.MonkeyPatch, ranks: str
) -> None:
    needs(SETPRIV)
    for name, value in {"TORCHELASTIC_RUN_ID": "job-7", "RANK": "0", "WORLD_SIZE": "2", "TRACKER_RANKS": ranks}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "0")
    first = run_script(LAUNCHED).stdout.split()
    assert first[1:] == ["1", "True"]
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    folder = store / "runs" / "p" / first[0]
    folder.chmod(0o311)
    again = run_script(LAUNCHED, prefix=AS_USER)
    folder.chmod(0o755)
    assert f"cannot list {folder}: Permission denied: the run cannot be resumed" in again.stderr
    if ranks == "all":
        assert "StoreError" in again.stderr
        assert again.stdout == ""
    else:
        assert "; another run is made" in again.stderr
        other, *rest = again.stdout.split()
        assert other != first[0]
        assert rest == ["1", "True"]
    assert tracker.open_run("p/" + first[0]).history("x", all=True).attempts.tolist() == [1]
    assert command("verify").returncode == 0


def test_a_store_that_cannot_be_read_begins_no_other_run_where_one_must_go_on(journal: Path, store: Path) -> None:
    needs(STRACE)
    refuse = ["strace", "-f", "-o", "/dev/null", "-P", str(store / "store.json"), "-e", "inject=read:error=EIO:when=1"]
    begun = run_script("import tracker\ntracker.init(project='p', id='r', resume='must', quiet=True)", prefix=refuse)
    assert begun.returncode == 1
    assert "Input/output error" in begun.stderr
    assert [path.name for path in (store / "runs" / "p").iterdir()] == ["r"]


def test_a_journal_elsewhere_on_this_machine_is_said_to_be_missing(
    journal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").mkdir(mode=0o700)
    monkeypatch.setenv("TRACKER_SHM_DIR", str(tmp_path / "other"))
    shown = command("show", "p/r")
    assert "Nothing lost" not in shown.stdout
    assert tracker.open_run("p/r").losses.missing_journals == 1
    with tracker.init(project="p", id="r", resume="must", quiet=True) as run:
        assert run.step == STORED - 1
    assert "of attempt 1 left no journal here" in capfd.readouterr().err


def test_a_folder_of_journals_that_cannot_be_listed_is_named(journal: Path) -> None:
    needs(SETPRIV)
    journal.parent.chmod(0o300)
    listed = as_user("ls")
    journal.parent.chmod(0o700)
    assert listed.returncode == 1
    assert "is not recovered" in listed.stderr
    expect_nothing_lost(journal)


def test_the_journal_of_a_run_says_which_store_it_is_of_where_no_database_does(own_shm: Path, store: Path) -> None:
    run_script(DIES)
    before = json.loads((store / "store.json").read_text())["id"]
    for path in (store / "runs" / "p" / "r").glob("*.db*"):
        path.unlink()
    (store / "store.json").write_text("{")
    listed = command("ls")
    assert "the store's id was taken from" in listed.stderr
    assert tracker.open_run("p/r").losses.logged == POINTS
    with tracker.init(project="p", quiet=True):
        pass
    assert json.loads((store / "store.json").read_text())["id"] == before


def test_the_journal_of_a_store_that_was_removed_says_nothing_of_the_one_in_its_place(
    own_shm: Path, store: Path
) -> None:
    run_script(DIES)
    shutil.rmtree(store)
    with tracker.init(project="p", id="new", quiet=True) as run:
        run.log({"y": 1.0}, step=0)
    (store / "store.json").write_text("{")
    for path in (store / "runs" / "p" / "new").glob("*.db"):
        path.write_bytes(b"no database" * 1000)
    listed = command("ls")
    assert listed.returncode == 3
    assert "neither a run nor a journal says" in listed.stderr
    assert [path.name for path in (store / "runs" / "p").iterdir()] == ["new"]


def test_a_ring_that_cannot_be_read_is_in_the_account(journal: Path) -> None:
    needs(SETPRIV)
    (ring,) = journal.glob("ring-*")
    ring.chmod(0)
    shown = as_user("show", "p/r", "--json")
    ring.chmod(0o600)
    losses = json.loads(shown.stdout)["losses"]
    assert losses["stored"] == STORED
    assert losses["unread_rings"] == 1
    expect_nothing_lost(journal)


def test_a_run_made_again_by_recovery_keeps_its_start(journal: Path, store: Path) -> None:
    before = json.loads((store / "runs" / "p" / "r" / "run.json").read_text())["created_us"]
    shutil.rmtree(store / "runs")
    command("ls")
    assert json.loads((store / "runs" / "p" / "r" / "run.json").read_text())["created_us"] == before


LARGE = """
import os, tracker
run = tracker.init(project="p", id="r", quiet=True)
run.log({"say": "a" * 70_000, "x": 1.0}, step=0)
run.flush()
for step in range(1, 4): run.log({"say": "b" * 70_000}, step=step)
os._exit(0)
"""


def test_texts_too_large_for_a_ring_that_a_kill_takes_are_counted(own_shm: Path, store: Path) -> None:
    run_script(LARGE)
    listed = command("ls")
    losses = tracker.open_run("p/r").losses.texts
    assert losses.logged == 4
    assert losses.stored + losses.dropped == 4
    assert losses.dropped > 0
    assert f"{losses.dropped} texts too large for a ring died" in listed.stderr
    assert listed.returncode == 0
    assert command("verify").returncode == 0


def test_texts_too_large_for_a_ring_that_were_stored_did_not_die_in_memory(own_shm: Path, store: Path) -> None:
    run_script(LARGE.replace("os._exit", "run.flush(); os._exit"))
    shutil.rmtree(store / "runs")
    listed = command("ls")
    losses = tracker.open_run("p/r").losses.texts
    assert (losses.logged, losses.stored, losses.dropped) == (4, 0, 4)
    assert "died in the memory" not in listed.stderr
    assert "is gone or damaged; what it stored is counted as lost: " in listed.stderr
    assert "4 texts; config" in listed.stderr


GOES_ON = "import tracker\nrun = tracker.init(project='p', id='r', resume='must', quiet=True)\nprint(run.step)"


def test_steps_that_wait_in_a_journal_count_where_they_cannot_be_stored_now(journal: Path, store: Path) -> None:
    needs(SETPRIV)
    folder = store / "runs" / "p" / "r"
    folder.chmod(0o555)
    for path in folder.iterdir():
        path.chmod(0o444)
    begun = run_script(GOES_ON, prefix=AS_USER)
    for path in folder.iterdir():
        path.chmod(0o644)
    folder.chmod(0o755)
    assert begun.stdout.split() == [str(POINTS - 1)], begun.stderr
    command("ls")
    assert tracker.open_run("p/r").history("x").steps.tolist() == list(range(POINTS))
