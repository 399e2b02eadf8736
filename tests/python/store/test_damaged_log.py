# SPDX-License-Identifier: MIT
"""Goal: a log of SQLite in which bytes have changed is not written again, and what is lost with it is counted.
Method: bytes of the log of a process that was killed are changed, then a command recovers the run."""

from __future__ import annotations

from pathlib import Path

import pytest
import tracker
from commands import command, run_script

POINTS = 12_000  # several times what a ring holds
DIES = f"""
import os, signal, tracker
run = tracker.init(project="p", id="r", quiet=True, config={{"lr": 0.1}})
for step in range({POINTS}):
    run.log({{"x": float(step)}}, step=step)
    if step % 1000 == 0: run.flush(20)
run.flush(20)
os.kill(os.getpid(), signal.SIGKILL)
"""
HEADER, SECOND_PAGE = 20, 5851  # bytes of a log


def only_log(store: Path) -> Path:
    (log,) = (store / "runs" / "p" / "r").glob("*-wal")
    return log


# Bug: recovery wrote commits before the damage and removed the log with all that came after. Where the journal had a
# part of it `ls` ended with 0.
@pytest.mark.parametrize("at", [HEADER, SECOND_PAGE])
def test_recovery_leaves_a_log_in_which_a_bit_has_changed_and_writes_the_next_part(
    own_shm: Path, store: Path, at: int
) -> None:
    run_script(DIES)
    log = only_log(store)
    damaged = bytearray(log.read_bytes())
    damaged[at] ^= 1
    log.write_bytes(damaged)
    assert "does not verify" in command("verify").stdout
    listed = command("ls")
    assert listed.returncode == 3, listed.stderr
    assert listed.stderr.count(f"{log} is damaged") == 1
    assert log.read_bytes() == damaged
    assert len(list(log.parent.glob("*-2.db"))) == 1
    losses = tracker.open_run("p/r").losses
    assert losses.stored + losses.dropped == POINTS
    assert losses.dropped > 0
    assert losses.pending == 0
    verified = command("verify")
    assert verified.returncode == 3
    assert str(log) in verified.stdout


def test_of_a_link_to_a_damaged_log_recovery_says_what_to_do(own_shm: Path, store: Path, tmp_path: Path) -> None:
    run_script(DIES)
    log = only_log(store)
    log.rename(tmp_path / "log")
    log.symlink_to(tmp_path / "log")
    listed = command("ls")
    assert listed.returncode == 3, listed.stderr
    assert "put the file itself in the place of a link to it" in listed.stderr
    assert "moved away" not in listed.stderr
    log.unlink()
    (tmp_path / "log").rename(log)
    assert command("ls").returncode == 0
    assert tracker.open_run("p/r").losses.stored == POINTS


def test_a_log_that_is_only_torn_at_its_end_is_written_again(own_shm: Path, store: Path) -> None:
    run_script(DIES)
    log = only_log(store)
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size - 100)
    assert command("ls").returncode == 0
    assert not list(log.parent.glob("*-2.db"))
