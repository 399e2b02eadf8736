# SPDX-License-Identifier: MIT
"""Goal: what waits in journals is named where it cannot be recovered; what a recovery has kept is no damage any more.
Method: the journal of a dead process whose folder is open to others, or that is damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tracker
from commands import command, only_journal, run_script

POINTS = 300
DIES = f"""
import os, tracker
run = tracker.init(project="p", id="r", quiet=True)
for step in range({POINTS}):
    run.log({{"loss": step * 0.5}}, step=step)
    if step == 0: run.flush()
os._exit(0)
"""


def dead_journal(shm: Path) -> Path:
    run_script(DIES)
    return only_journal(shm)


def test_journals_in_a_folder_that_is_open_to_others_are_named_and_wait(own_shm: Path, tmp_path: Path) -> None:
    with tracker.init(project="q", id="other", dir=str(tmp_path / "other"), quiet=True) as run:
        run.log({"x": 1.0}, step=0)
    journal = dead_journal(own_shm)
    journal.parent.chmod(0o777)
    assert command("ls", "--dir", str(tmp_path / "other")).returncode == 0
    listed = command("ls")
    assert listed.returncode == 1
    assert "is not recovered" in listed.stderr
    assert f"chmod 700 {journal.parent}" in listed.stderr
    advice = json.loads(command("doctor", "--json").stdout)["advice"]
    assert [item["to_do"] for item in advice if "the journal is" in item["problem"]] == [f"chmod 700 {journal.parent}"]
    journal.parent.chmod(0o700)
    assert command("ls").returncode == 0
    assert tracker.open_run("p/r").history("loss").steps.size == POINTS


@pytest.mark.parametrize("name", ["defs", "ring"])
def test_a_journal_that_a_recovery_has_kept_is_no_damage_of_any_store(own_shm: Path, tmp_path: Path, name: str) -> None:
    journal = dead_journal(own_shm)
    (path,) = journal.glob(f"{name}*")
    data = bytearray(path.read_bytes())
    data[20 if name == "defs" else 4096 + 40 * 150 + 30] ^= 0xFF
    path.write_bytes(data)
    assert command("ls").returncode == 3
    assert list(journal.parent.glob("damaged-*"))
    with tracker.init(project="q", id="other", dir=str(tmp_path / "other"), quiet=True) as run:
        run.log({"x": 1.0}, step=0)
    for place in ([], ["--dir", str(tmp_path / "other")]):
        examined = command("doctor", "--json", *place)
        assert examined.returncode == 0, examined.stdout
        report = json.loads(examined.stdout)
        assert report["journals"]["kept_damaged"]["count"] == 1
        assert report["journals"]["unreadable"]["count"] == report["journals"]["of_other_stores"]["count"] == 0
        assert command("ls", *place).returncode == 0
        assert command("verify", *place).returncode == 0


@pytest.mark.parametrize("remove", [("rm", "p/r", "--yes"), ("gc", "--max-disk", "1", "--unsynced")])
def test_a_run_whose_journal_is_of_a_newer_version_is_not_removed(
    own_shm: Path, store: Path, remove: list[str]
) -> None:
    journal = dead_journal(own_shm)
    (ring,) = journal.glob("ring-*")
    with ring.open("r+b") as file:
        file.seek(8)
        file.write((7).to_bytes(4, "little"))
    assert command(*remove).returncode == 4
    examined = command("doctor", "--json")
    assert examined.returncode == 4, examined.stdout
    assert json.loads(examined.stdout)["journals"]["unreadable"]["count"] == 1
    shown = command("show", "p/r", "--json")
    assert shown.returncode == 4
    assert json.loads(shown.stdout)["losses"]["unread_rings"] == 0  # it waits, and is not lost
    with ring.open("r+b") as file:
        file.seek(8)
        file.write((1).to_bytes(4, "little"))
    assert command("ls").returncode == 0
    assert tracker.open_run("p/r").history("loss").steps.size == POINTS


def expect_rings_are_missed(said: str) -> None:
    verified = command("verify")
    assert verified.returncode == 3
    assert said in verified.stdout
    shown = command("show", "p/r")
    assert shown.returncode == 3
    assert "Nothing lost" not in shown.stdout


@pytest.mark.parametrize("files", ["sqlite", "frames"])
@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("damage", ["removed", "cut"])
def test_a_ring_that_is_gone_is_missed_whether_anything_was_committed_or_not(
    own_shm: Path, damage: str, committed: bool, files: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKER_STORE_FILES", files)
    run_script(DIES if committed else DIES.replace("if step == 0: run.flush()", "pass"))
    journal = only_journal(own_shm)
    (ring,) = journal.glob("ring-*")
    if damage == "removed":
        ring.unlink()
    else:
        ring.write_bytes(b"")
    expect_rings_are_missed("none of its rings is left")
    assert tracker.open_run("p/r").losses.unread_rings == 1


TWO_RINGS = """
import os, threading, tracker
run = tracker.init(project="p", id="r", quiet=True)
run.log({"first": 1.0}, step=0)
other = threading.Thread(target=lambda: [run.log({"second": float(step)}, step=step) for step in range(100)] and wait())
done = threading.Event()
def wait(): done.set(); threading.Event().wait()
other.daemon = True
other.start()
done.wait()
os._exit(0)
"""


def test_one_ring_of_several_that_is_gone_is_missed(own_shm: Path) -> None:
    run_script(TWO_RINGS)
    journal = only_journal(own_shm)
    rings = sorted(journal.glob("ring-*"))
    assert len(rings) == 2
    rings[0].unlink()
    expect_rings_are_missed("1 of its 2 rings is gone: an unknown number of points may be lost")


RINGS_HELD_MAX = 1024  # kRingsHeldMax


@pytest.mark.parametrize("held", [RINGS_HELD_MAX, RINGS_HELD_MAX + 1])
def test_a_count_of_rings_that_cannot_be_says_nothing_of_rings_that_are_gone(own_shm: Path, held: int) -> None:
    journal = dead_journal(own_shm)
    (ring,) = journal.glob("ring-*")
    with ring.open("r+b") as file:
        file.seek(104)
        file.write(held.to_bytes(8, "little"))
    listed = command("ls")
    assert ("rings are gone" in listed.stderr) == (held == RINGS_HELD_MAX)
    assert listed.returncode == (3 if held == RINGS_HELD_MAX else 0)
    assert tracker.open_run("p/r").history("loss").steps.size == POINTS


@pytest.mark.parametrize("damage", ["longer", "size"])
def test_a_ring_whose_length_is_not_what_it_says_is_read(own_shm: Path, damage: str) -> None:
    journal = dead_journal(own_shm)
    (ring,) = journal.glob("ring-*")
    data = bytearray(ring.read_bytes())
    if damage == "longer":
        data += b"\n"
    else:
        data[31] ^= 0x40
    ring.write_bytes(data)
    listed = command("ls")
    assert listed.returncode == 3
    assert ("longer than it was made" if damage == "longer" else "the header is damaged") in listed.stderr
    run = tracker.open_run("p/r")
    assert run.history("loss").steps.size == POINTS
    assert run.losses.dropped == 0


@pytest.mark.parametrize("lock", [True, False])
def test_a_journal_whose_files_are_gone_and_whose_folder_is_there_is_missed(own_shm: Path, lock: bool) -> None:
    for path in dead_journal(own_shm).iterdir():  # as what cleans /tmp does
        if path.name != "lock" or lock:
            path.unlink()
    shown = command("show", "p/r")
    assert shown.returncode == 0
    assert "Nothing lost" not in shown.stdout
    assert "its journal is not here" in shown.stdout
