# SPDX-License-Identifier: MIT
"""The only list of reasons for which a Python test is left out, and the only place that skips.

tests/support/conditions.h is the same for C++; `tools/tidy.py` refuses `pytest.skip` and its like elsewhere. A test
says what it needs in its first line: `needs(conditions.STRACE)`; where only a trial shows: `skip_where(..., REASON)`.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest

# Shown only by trying.
THREAD_LIMIT = "RLIMIT_NPROC binds no thread here"
INSTRUCTION_BASELINE = "benchmarks/baseline.json has no counts for this compiler"


@dataclass(frozen=True)
class Condition:
    """`holds` may start processes; it is asked once, by the first test that needs it."""

    reason: str
    holds: Callable[[], bool]


def _runs(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


GIT = Condition("there is no git here", lambda: shutil.which("git") is not None)
STRACE = Condition("strace is not installed: make deps does it", lambda: shutil.which("strace") is not None)
SETPRIV = Condition(
    "root reads all files: setpriv is needed to take that away",
    lambda: os.geteuid() != 0 or _runs("setpriv", "--bounding-set", "-dac_override", "true"),
)
OTHER_USER = ("setpriv", "--reuid=2001", "--regid=2001", "--clear-groups")


@cache
def python_for_all() -> str | None:
    """A Python of this version that every user may run: one in a home of root's they may not."""
    version = f"import sys; raise SystemExit(sys.version_info[:2] != {tuple(sys.version_info[:2])})"
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info[1]}", "/usr/bin/python3"):
        if _runs(*OTHER_USER, "sh", "-c", 'exec "$@"', "sh", python, "-c", version):
            return python
    return None


TWO_USERS = Condition(
    "becoming two users needs root, setpriv and a Python of this version that both may run",
    lambda: os.geteuid() == 0 and python_for_all() is not None,
)
NETWORK_NAMESPACE = Condition(
    "needs root and a network namespace", lambda: os.geteuid() == 0 and _runs("unshare", "-n", "true")
)
HIDDEN_FILES = Condition(
    "hiding the system's libraries needs root and a mount namespace",
    lambda: os.geteuid() == 0 and _runs("unshare", "-m", "mount", "--bind", "/dev/null", "/etc/hostname"),
)
SUBINTERPRETERS = Condition(
    "only CPython 3.11 and 3.12 have _xxsubinterpreters",
    lambda: importlib.util.find_spec("_xxsubinterpreters") is not None,
)


def _has_gpu() -> bool:
    if importlib.util.find_spec("torch") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())


GPU = Condition("there is no GPU here that torch can use", _has_gpu)


@cache
def _holds(condition: Condition) -> bool:
    return condition.holds()


def needs(condition: Condition) -> None:
    """Skips the test, with the reason, where the condition does not hold."""
    skip_where(not _holds(condition), condition.reason)


def skip_where(missing: bool, reason: str) -> None:
    if missing:
        pytest.skip(reason)
