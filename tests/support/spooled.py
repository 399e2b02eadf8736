# SPDX-License-Identifier: MIT
"""Runs whose process is killed while images wait on the disk, and what is read of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]

SIDE = 120
HELD = 4  # images that wait in memory; the others are spooled


def image(step: int) -> Any:
    return np.random.default_rng(step).integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)


# Logs `count` images with a full queue, says which calls have returned, and dies or waits to be killed.
LOGS = f"""
import os, signal, sys, time
import numpy as np
import tracker
tracker.Image(np.zeros((4, 4), np.uint8))
from tracker import _media_queue
_media_queue.HELD_BYTES_MAX = {HELD * SIDE * SIDE * 3}
_media_queue.SPOOL_CALL_MS_MAX = 60_000
def image(step):
    return np.random.default_rng(step).integers(0, 256, ({SIDE}, {SIDE}, 3), dtype=np.uint8)
run = tracker.init(project="media", id="killed", quiet=True)
"""
STUCK = "_media_queue.Item.write = lambda *arguments: time.sleep(600)\n"
DIES = "os.kill(os.getpid(), signal.SIGKILL)\n"


def killed(script: Script, body: str) -> Path:
    done = script(LOGS + body + DIES)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return folder_of_run()


def folder_of_run() -> Path:
    return Path(os.environ["TRACKER_DIR"]) / "runs" / "media" / "killed"


def spooled() -> list[Path]:
    return sorted((folder_of_run() / "media").glob("spool-*"))


def stored_once(stored: tracker.StoredRun, name: str = "image") -> list[int]:
    """The steps that are stored, each of them once and bit by bit as it was logged."""
    entries = stored.media(name, all=True) if name in stored.media_names() else []
    steps = [entry.step or 0 for entry in entries]
    assert len(set(steps)) == len(steps), "one is stored twice"
    for entry in entries:
        assert np.array_equal(entry.load(), image(entry.step or 0)), entry
    return sorted(steps)


def one_waits(script: Script) -> Path:
    killed(
        script, "_media_queue.HELD_BYTES_MAX = 0\n" + STUCK + "run.log({'image': tracker.Image(image(0))}, step=0)\n"
    )
    (path,) = spooled()
    return path


def start(source: str, folder: Path) -> subprocess.Popen[str]:
    package = str(Path(tracker.__file__).parent.parent)
    env = {**os.environ, "PYTHONPATH": package}
    return subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True, env=env, cwd=folder)
