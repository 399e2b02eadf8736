# SPDX-License-Identifier: MIT
"""Prints the CPU seconds, user and system, of compiling reference_compile.cc with g++ -std=c++20 -O2.

Times to build and to test are written as multiples of it, so that figures of two machines can be compared. With
arguments it runs them as a command and prints the command's CPU as such a multiple:
`CCACHE_DISABLE=1 python benchmarks/reference_compile.py pip install .`
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".cc")


def cpu_s(*command: str | Path) -> float:
    """CPU of a command and its children; a machine with other work on it makes it up to a third larger."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env={**os.environ, "CCACHE_DISABLE": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def reference_s() -> float:
    return cpu_s("g++", "-std=c++20", "-O2", "-c", SOURCE, "-o", os.devnull)


def main(command: list[str]) -> None:
    first = reference_s()
    if command:
        used = cpu_s(*command)
        reference = (first + reference_s()) / 2
        print(f"{used:.0f} s of CPU = {used / reference:.1f} reference compiles of {reference:.2f} s")
    else:
        print(f"{first:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
