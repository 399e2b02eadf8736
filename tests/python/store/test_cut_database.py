# SPDX-License-Identifier: MIT
"""Goal: of a database that ends within its first page the commands say so, and nothing that is not true.
Method: the file of a finished run is cut, and each command that reads runs is asked. Cuts after the first page:
tests/unit/storage/cut_test.cc."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import tracker
from commands import command


def finished_database() -> Path:
    with tracker.init(project="p", id="r", quiet=True) as run:
        for step in range(300):
            run.log({"loss": step * 0.5}, step=step)
        folder = Path(run.dir)
    (database,) = folder.glob("*.db")
    return database


# The bug: SQLite takes bytes that are missing for zeros, and a torn file was said to have a table that somebody added.
@pytest.mark.parametrize("size", [0, 15, 99, 100, 200, 4095, 4096])
def test_a_database_cut_within_its_first_page_is_said_to_be_cut_and_nothing_else(size: int) -> None:
    database = finished_database()
    whole = database.stat().st_size
    os.truncate(database, size)
    for arguments in (["ls"], ["show", "p/r"], ["verify"]):
        done = command(*arguments)
        said = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == 3, (arguments, said)
        assert f"is cut: {size} " in said, (arguments, said)
        assert str(whole) in said if size >= 100 else "fewer than the header of a database has" in said
        assert "from a copy" in said, (arguments, said)
        assert "nothing of " in said, (arguments, said)
        assert not any(words in said for words in ("added", "changed it", "sqlite3", "is not ours")), said
    assert database.stat().st_size == size
