# SPDX-License-Identifier: MIT
"""An installed copy of the library, made once from build/ (which `tools/test.py build` fills)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., str]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def run() -> Run:
    """Runs a command and returns its stdout; a failure shows all that it printed."""

    def call(command: Sequence[str | Path], cwd: Path = ROOT, **env: str) -> str:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        if done.returncode != 0:
            pytest.fail(f"{command} returned {done.returncode}:\n{done.stdout}\n{done.stderr}", pytrace=False)
        return done.stdout

    return call


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Path:
    """An installed tree that was moved after the installation: nothing in it may remember where it was made."""
    installed = tmp_path_factory.mktemp("install") / "first"
    run(["cmake", "--install", ROOT / "build", "--prefix", installed])
    return installed.rename(installed.with_name("moved"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These tests compile the library: the limit of other tests would stop them on a busy machine."""
    for item in items:
        if item.path.is_relative_to(ROOT / "tests" / "install"):
            item.add_marker(pytest.mark.timeout(1200))
