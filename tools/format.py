# SPDX-License-Identifier: MIT
"""Formats every C++ and Python source with the pinned tools of .venv; `--check` only says what would change."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import tidy

TOOLS = Path(sys.executable).parent


def unformatted(cpp: list[str]) -> list[str]:
    """The C++ files that clang-format would change; its own report repeats every line of them."""
    command = [str(TOOLS / "clang-format"), "--dry-run", "--Werror", *cpp]
    report = subprocess.run(command, cwd=tidy.ROOT, check=False, capture_output=True, text=True).stderr
    return sorted({line.split(":")[0] for line in report.splitlines() if ": error: " in line})


def run(*command: str) -> int:
    return subprocess.run([str(TOOLS / command[0]), *command[1:]], cwd=tidy.ROOT, check=False).returncode


def main(arguments: list[str]) -> int:
    repo = tidy.load()
    cpp = [path for path, _ in repo.code(tidy.CPP_SUFFIXES)]
    python = [path for path, _ in repo.code((".py", ".pyi"))]
    if "--check" not in arguments:
        return (
            run("clang-format", "-i", *cpp)
            or run("ruff", "check", "--fix-only", "-q", *python)
            or run("ruff", "format", "-q", *python)
        )
    changed = unformatted(cpp)
    for path in changed:
        print(f"make format would change {path}")
    return run("ruff", "format", "--check", *python) or int(bool(changed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
