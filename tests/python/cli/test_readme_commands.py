# SPDX-License-Identifier: MIT
"""Goal: the commands that README shows are those of the program.

Method: each block of README without a `file:` mark, whose samples are files that run, has lines of `tracker …` and what
they are for after two blanks; each line runs, in README's order, with event files and runs of the names that it says.
A block that is neither, but for the installation, fails.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tracker

README = Path(__file__).resolve().parents[3] / "README.md"


def blocks() -> list[list[str]]:
    """The lines of each block without a mark in front, but those that install, which other tests run."""
    found = re.findall(r"^([^\n]*)\n```\w*\n(.*?)^```$", README.read_text(), flags=re.MULTILINE | re.DOTALL)
    lines = [text.splitlines() for before, text in found if not before.startswith("<!-- file: ")]
    return [block for block in lines if not block[0].startswith("make deps")]


def commands() -> list[str]:
    return [re.split(r"  +", line)[0] for block in blocks() for line in block]


@pytest.fixture
def live(tmp_path: Path) -> Iterator[tracker.Run]:
    """A run that lives, another one of mnist that has ended, and its event files in runs/."""
    with tracker.init(project="mnist", id="heron", quiet=True, tensorboard=tmp_path / "runs") as ended:
        ended.log({"loss": 0.5}, step=1)
    run = tracker.init(project="mnist", id="brisk-otter-417", config={"lr": 0.1}, quiet=True)
    run.log({"loss": 0.25}, step=7)
    run.flush(60)
    return run


def said_by(line: str, live: tracker.Run) -> str:
    """`tail -f` goes on until its run ends: then the run is one that has ended."""
    if line.endswith(" -f"):
        live.finish()
    done = subprocess.run(
        [sys.executable, "-m", *line.split()], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
    return done.stdout


# What shows that the command has done what README says of it.
SHOWN = {
    "ls": "brisk-otter-417",
    "show": "lr",
    "tail": "loss 0.25",
    "stop": "brisk-otter-417",
    "doctor": "journal",
    "import": "1 point",
    "export": "loss,7,",
}


def test_every_block_of_commands_has_commands_only() -> None:
    for line in (line for block in blocks() for line in block):
        assert line.startswith("tracker "), line


def test_every_command_of_readme_runs_and_does_what_it_is_shown_for(tmp_path: Path, live: tracker.Run) -> None:
    found = commands()
    # What asks a live run comes first; README has them in an order that reads well.
    for line in sorted(found, key=lambda line: line.endswith(" -f")):
        name = line.split()[1]
        out = said_by(line, live)
        assert SHOWN[name] in out, f"{line}: {out}"
    assert {line.split()[1] for line in found} == set(SHOWN)
