# SPDX-License-Identifier: MIT
"""The packages of other tools, in an environment of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RIVALS = Path(__file__).resolve().parent
VENV = RIVALS.parents[1] / ".venv-rivals"


def make_environment() -> str:
    """The interpreter of .venv-rivals, which is made anew when its lock file has changed."""
    lock = RIVALS / "requirements.lock"
    stamp = VENV / "stamp"
    python = VENV / "bin" / "python"
    if not stamp.is_file() or stamp.read_text() != lock.read_text():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
        options = ["-q", "--disable-pip-version-check", "--require-hashes", "--only-binary", ":all:"]
        subprocess.run([str(python), "-m", "pip", "install", *options, "-r", str(lock)], check=True)
        stamp.write_text(lock.read_text())
    return str(python)
