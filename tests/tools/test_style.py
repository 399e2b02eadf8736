# SPDX-License-Identifier: MIT
"""The pinned linters find nothing: clang-format, ruff, mypy --strict, and bash's own parser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import tidy

TOOLS = Path(sys.executable).parent


def check(*command: str) -> None:
    done = subprocess.run(command, cwd=tidy.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"\n{done.stdout}\n{done.stderr}"


def test_sources_are_formatted() -> None:
    check(sys.executable, "tools/format.py", "--check")


def test_ruff_has_nothing_to_say() -> None:
    check(str(TOOLS / "ruff"), "check", ".")


@pytest.mark.parametrize(
    "folder", ["tools", "python/tracker", "examples", "benchmarks", "tests/install", "tests/tools"]
)
def test_types_are_strict(folder: str) -> None:
    assert any((tidy.ROOT / folder).rglob("*.py"))
    check(sys.executable, "-m", "mypy", folder)


def test_shell_scripts_parse() -> None:
    scripts = [path for path, _ in tidy.load().code((".sh", ".ci/run"))]
    check("bash", "-n", *scripts)
    for script in scripts:
        check("bash", "-n", script)
