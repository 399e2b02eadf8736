# SPDX-License-Identifier: MIT
"""What the torch tests share: a store and a journal folder of their own, and scripts run as users run them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

LAUNCH_TIMEOUT_S = 180
Script = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store named by TRACKER_DIR; no launcher variable of outside and no login file reaches the test."""
    shm = Path("/dev/shm") / f"tracker-test-{os.getpid()}-{tmp_path.name}"
    shm.mkdir(mode=0o700)
    for name in list(os.environ):
        if name.startswith(("TRACKER_", "SLURM_", "OMPI_", "PMI", "TORCHELASTIC_")) or name in ("RANK", "WORLD_SIZE"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TRACKER_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("TRACKER_SHM_DIR", str(shm))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    yield tmp_path / "store"
    subprocess.run(["rm", "-rf", str(shm)], check=False)


@pytest.fixture
def launch(tmp_path: Path, store: Path) -> Script:
    """Runs a script's text, alone or under torchrun: launch(text, torchrun=["--nproc-per-node=2"], env={...})."""

    def run(
        text: str,
        *args: str,
        torchrun: list[str] | None = None,
        env: dict[str, str] | None = None,
        name: str = "train.py",
    ) -> subprocess.CompletedProcess[str]:
        script = tmp_path / name
        script.write_text(text)
        command = [sys.executable]
        if torchrun is not None:
            command += ["-m", "torch.distributed.run", *torchrun]
        return subprocess.run(
            [*command, str(script), *args],
            env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LAUNCH_TIMEOUT_S,
            cwd=tmp_path,
            check=False,
        )

    return run
