# SPDX-License-Identifier: MIT
"""Fixtures: a store of its own for each test, runs that are always ended, and scripts in processes of their own.

The folders are the rooms of the package: recording (calls), process (start, end, signals, forks, ranks), store (files,
damage, recovery), reading, cli, media, console, artifacts, exchange, compat (drop-ins), server; old_versions reads
tests/compat."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tracker

PACKAGE_ROOT = str(Path(tracker.__file__).parent.parent)


@pytest.fixture(autouse=True)
def own_shm() -> Iterator[Path]:
    """Where the journals of the test lie: it meets none of another test or of a real run."""
    folder = tempfile.mkdtemp(prefix="trk-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    yield Path(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, own_shm: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store of the test; TRACKER_DIR names it and TRACKER_SHM_DIR own_shm, of all else in TRACKER_*
    only that the system is not sampled. A login file of the user is neither read nor written."""
    for name in list(os.environ):
        if name.startswith(("TRACKER_", "SLURM_", "OMPI_", "PMI_")) or name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
            monkeypatch.delenv(name)
    path = tmp_path / "store"
    monkeypatch.setenv("TRACKER_DIR", str(path))
    monkeypatch.setenv("TRACKER_SHM_DIR", str(own_shm))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("TRACKER_SYSTEM_INTERVAL", "0")  # points are counted to the last one
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture(autouse=True)
def no_run_is_left(store: Path) -> Iterator[None]:
    yield
    while tracker.run is not None:
        tracker.finish()


@pytest.fixture
def run() -> tracker.Run:
    return tracker.init(project="test", quiet=True)


@pytest.fixture
def patient_run() -> tracker.Run:
    """A run for more than a ring holds: where a loaded machine drains it late, a call waits as long as it takes."""
    return tracker.init(project="test", quiet=True, on_full="block")


@pytest.fixture
def strict_run() -> tracker.Run:
    return tracker.init(project="test", quiet=True, strict=True)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of two files, one below the other, to make artifacts of."""
    folder = tmp_path / "data"
    (folder / "sub").mkdir(parents=True)
    (folder / "one.bin").write_bytes(b"a" * 100)
    (folder / "sub" / "two.bin").write_bytes(b"b" * 50)
    return folder


Script = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def script(store: Path, tmp_path: Path) -> Script:
    """Runs Python source in a process of its own, in tmp_path, with the store of the test."""

    def run_script(source: str, *arguments: str, timeout: float = 60, **extra: Any) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(source))
        env = {**os.environ, "PYTHONPATH": PACKAGE_ROOT, **extra.pop("env", {})}
        env.pop("PYTHONUNBUFFERED", None)  # what a test prints before it is killed must be flushed everywhere
        prefix = extra.pop("prefix", [])
        return subprocess.run(
            [*prefix, sys.executable, str(path), *arguments],
            capture_output=True,
            text=True,
            timeout=timeout,
            env=env,
            cwd=tmp_path,
            check=False,
            **extra,
        )

    return run_script


def read_back(run: tracker.Run) -> Any:
    """The run as a reader sees it."""
    return tracker.open_run(run.uid)
