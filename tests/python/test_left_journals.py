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
