# SPDX-License-Identifier: MIT
"""Fixtures: a store of its own for each test, runs that are always ended, and scripts in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tracker

PACKAGE_ROOT = str(Path(tracker.__file__).parent.parent)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store of the test; TRACKER_DIR names it, nothing else of TRACKER_* is set."""
    for name in list(os.environ):
        if name.startswith(("TRACKER_", "SLURM_", "OMPI_", "PMI_")) or name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
            monkeypatch.delenv(name)
    path = tmp_path / "store"
    monkeypatch.setenv("TRACKER_DIR", str(path))
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture(autouse=True)
def no_run_is_left() -> Iterator[None]:
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


Script = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def script(store: Path, tmp_path: Path) -> Script:
    """Runs Python source in a process of its own, in tmp_path, with the store of the test."""

    def run_script(source: str, *arguments: str, timeout: float = 60, **extra: Any) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(source))
        env = {**os.environ, "PYTHONPATH": PACKAGE_ROOT, **extra.pop("env", {})}
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
