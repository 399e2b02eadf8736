# SPDX-License-Identifier: MIT
"""The command line of the package under test, in a process of its own, and what a process that died has left."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import tracker

SECONDS_MAX = 60
# In front of a program: as root all may be read; without these capabilities its files are its own as anybody's are. For
# anybody else nothing (conditions.SETPRIV).
AS_USER = (
    []
    if os.geteuid() != 0
    else [
        "setpriv",
        "--bounding-set",
        "-dac_override,-dac_read_search",
        "--inh-caps",
        "-dac_override,-dac_read_search",
    ]
)


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(tracker.__file__).parent.parent), **more}


def _run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=SECONDS_MAX, check=False)


def command(*arguments: str, prefix: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """`prefix`: a program that runs it, such as strace."""
    return _run([*prefix, sys.executable, "-m", "tracker", *arguments])


def run_script(source: str, *arguments: str, prefix: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    return _run([*prefix, sys.executable, "-c", source, *arguments])


def only_journal(shm: Path) -> Path:
    (journal,) = (shm / f"tracker-{os.geteuid()}").iterdir()
    return journal
