# SPDX-License-Identifier: MIT
"""Goal: a copy of a ring in the journal of a killed run doubles no point, and a renamed one loses none.
Method: a child that was killed leaves its journal; its ring is copied or renamed before anybody recovers it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tracker

PACKAGE_ROOT = str(Path(tracker.__file__).parent.parent)
KILLED = """
import os, signal, tracker
run = tracker.init(project="test", id="r", quiet=True)
run.log({"x": 0.0}, step=0)
run.flush()
for step in range(1, 1000):
    run.log({"x": float(step)}, step=step)
os.kill(os.getpid(), signal.SIGKILL)
"""


def ring_of_a_killed_run(script: Callable[..., Any], shm: Path) -> Path:
    script(KILLED)
    (ring,) = shm.glob("*/*/ring-*")
    return ring


def values() -> list[float]:
    return [float(value) for value in tracker.open_run("test/r").history("x", all=True).values]


# Bug: each point of the ring was stored once more for each copy.
# Promise P3: A copy of a ring doubles no point, and a renamed ring loses none.
@pytest.mark.parametrize("name", ["{ring}.bak", "{folder}/ring-0123456789abcdef", "{folder}/ring-0000000000000001"])
def test_a_copy_of_a_ring_is_named_and_stored_once(script: Callable[..., Any], own_shm: Path, name: str) -> None:
    ring = ring_of_a_killed_run(script, own_shm)
    shutil.copy2(ring, name.format(ring=ring, folder=ring.parent))
    listed = subprocess.run(
        [sys.executable, "-m", "tracker", "ls"],
        env={**os.environ, "PYTHONPATH": PACKAGE_ROOT},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"a copy of {ring}; what it holds is not stored twice" in listed.stdout + listed.stderr
    assert values() == [float(step) for step in range(1000)]
    (kept,) = own_shm.glob("*/damaged-*")
    assert len(list(kept.glob("ring-*"))) == 2


def test_a_ring_under_another_name_alone_loses_no_point(script: Callable[..., Any], own_shm: Path) -> None:
    ring = ring_of_a_killed_run(script, own_shm)
    ring.rename(f"{ring}.bak")
    assert values() == [float(step) for step in range(1000)]
