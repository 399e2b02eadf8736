# SPDX-License-Identifier: MIT
"""Goal: a run in a store of a newer version says what becomes of what it logs, and that is true. Method: a store whose
document says a version that this program does not know."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]


def set_version(store: Path, before: int, after: int) -> None:
    document = store / "store.json"
    text = document.read_text()
    assert f'"version": {before}' in text
    document.write_text(text.replace(f'"version": {before}', f'"version": {after}'))


RUN = """
import sys, tracker
run = tracker.init(project="p", id="new", journal=sys.argv[1])
run.log({"x": 1.5})
print(run.flush(timeout=0.5))
run.finish(timeout=1)
"""


# Bug: it said that logging goes on in memory and is stored as soon as it can.
@pytest.mark.parametrize("journal", ["shm", "memory"])
def test_what_is_logged_into_a_newer_store_waits_for_a_newer_tracker(store: Path, script: Script, journal: str) -> None:
    tracker.init(project="p", id="old", quiet=True).finish()
    set_version(store, 1, 2)
    done = script(RUN, journal)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr
    assert "as soon as it can" not in done.stderr
    (said,) = [line for line in done.stderr.splitlines() if "cannot write the store" in line]
    assert "has version 2, this program knows up to 1" in said
    set_version(store, 2, 1)  # this is the newer one now
    if journal == "memory":
        assert said.endswith("is kept in memory, within its bound, and is lost when the process ends")
        assert [run.id for run in tracker.runs()] == ["old"]
        return
    assert said.endswith("waits in the journal, within its bound, for a newer one to store it")
    assert "the next run or command of a newer tracker stores it" in done.stderr
    assert tracker.open_run("p/new").history("x").values.tolist() == [1.5]
