# SPDX-License-Identifier: MIT
"""Runs that end or are killed while images wait to be encoded, and what is read of them."""

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
HELD = 4  # images that wait in memory; the others are stored raw


def image(step: int) -> Any:
    return np.random.default_rng(step).integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)


LOGS = f"""
import os, signal, sys, time
import numpy as np
import tracker
tracker.Image(np.zeros((4, 4), np.uint8))
from tracker._media import encode_queue
encode_queue.HELD_BYTES_MAX = {HELD * SIDE * SIDE * 3}
encode_queue.RAW_CALL_MS_MAX = encode_queue.RAW_END_MS_MAX = 60_000
def image(step):
    return np.random.default_rng(step).integers(0, 256, ({SIDE}, {SIDE}, 3), dtype=np.uint8)
run = tracker.init(project="media", id="killed", quiet=True)
"""
STUCK = "encode_queue.Item.write = lambda *arguments: time.sleep(600)\n"
SECRET = "hf_" + "Ab3" * 12
DIES = "os.kill(os.getpid(), signal.SIGKILL)\n"


def killed(script: Script, body: str) -> Path:
    done = script(LOGS + body + DIES)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return folder_of_run()


def folder_of_run() -> Path:
    return Path(os.environ["TRACKER_DIR"]) / "runs" / "media" / "killed"


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def stored_once(stored: tracker.StoredRun, name: str = "image") -> list[int]:
    """The steps that are stored, each of them once and bit by bit as it was logged."""
    entries = stored.media(name, all=True) if name in stored.media_names() else []
    steps = [entry.step or 0 for entry in entries]
    assert len(set(steps)) == len(steps), "one is stored twice"
    for entry in entries:
        assert np.array_equal(entry.load(), image(entry.step or 0)), entry
    return sorted(steps)


def command(*arguments: str, native: bool = False) -> str:
    package = Path(tracker.__file__).parent.parent
    program = [str(package.parent / "bin" / "tracker")] if native else [sys.executable, "-m", "tracker"]
    env = {**os.environ, "PYTHONPATH": str(package)}
    return subprocess.run([*program, *arguments], env=env, capture_output=True, text=True, check=True).stdout


EVERY_KIND = """
masks = {"cars": {"mask": np.arange(2500, dtype=np.uint8).reshape(50, 50) % 3, "labels": {1: "car"}}}
boxes = {"found": [{"box": (1, 2, 3.5, 4), "label": "a cat", "score": 0.25}]}
noise = np.random.default_rng(1)
tone = (noise.random((4000, 2)) * 2 - 1).astype(np.float32)
film = noise.integers(0, 256, (3, 20, 24, 3), dtype=np.uint8)
def every_kind():
    import io
    import PIL.Image
    png = io.BytesIO()
    PIL.Image.fromarray(image(7)[:50, :50]).save(png, "PNG")
    return {
        "pixels": tracker.Image(image(1)[:50, :50], caption="a caption", boxes=boxes, masks=masks),
        "jpeg": tracker.Image(image(2)[:, :, 0], format="jpeg", quality=70),
        "file": tracker.Image(png.getvalue(), masks={"cars": masks["cars"]}),
        "sound": tracker.Audio(tone, 8000, caption="noise"),
        "mp4": tracker.Video(b"\\0\\0\\0\\x20ftypisom" + bytes(70_000)),
        "gif": tracker.Video(film, fps=7.5),
        "webp": tracker.Video(film, fps=7.5, format="webp"),
        "page": tracker.Html("<p>" + "y" * 70_000),
        "table": tracker.Table([[i, str(i)] for i in range(9000)], columns=["a", "b"]),
        "curve": tracker.pr_curve(noise.integers(0, 2, 5000), noise.random(5000), caption="c"),
        "list": [tracker.Image(image(step)[:20]) for step in range(3)],
    }
"""
