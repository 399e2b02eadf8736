# SPDX-License-Identifier: MIT
"""Gate: instructions that one log call executes, counted by valgrind, against the committed benchmarks/baseline.json.

    .venv/bin/python benchmarks/gate/hot_calls.py            counts and compares; exit code 1 when a call got 5 % worse
    .venv/bin/python benchmarks/gate/hot_calls.py --update   writes the baseline

What is counted is the code of this library alone, by the object file it lies in: what CPython executes for us depends
on how that interpreter was built. Times are no gate: a shared machine doubles them, an instruction count does not
change.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASELINE = ROOT / "benchmarks" / "baseline.json"
WORSE_MAX = 0.05
CALLS = 2000  # with the warm-up less than half of the first ring, where the slow path begins to look around
NATIVE = ROOT / "build" / "benchmarks" / "bin" / "gate_calls"

# name: functions within which to collect, function that zeroes, command before "<store> <calls>"
CASES: dict[str, tuple[str, str, list[str]]] = {
    "cpp_handle": ("measured_handle*", "begin*", [str(NATIVE), "handle"]),
    "cpp_by_name": ("measured_name*", "begin*", [str(NATIVE), "name"]),
    "cpp_disabled": ("measured_handle*", "begin*", [str(NATIVE), "disabled"]),
    "python_one_key": (
        "*run_log*",
        "*make_metric*",
        [sys.executable, str(Path(__file__).with_name("python_calls.py"))],
    ),
}
OURS = ("libtracker.so", "gate_calls", "_core.")


def own_instructions(profile: str) -> int:
    """Sum of the self cost of all functions whose object file is ours, from a callgrind.out file."""
    names: dict[str, str] = {}
    total, ours, after_calls = 0, False, False
    for line in profile.splitlines():
        if match := re.match(r"ob=\((\d+)\)(?: (.*))?$", line):
            if match[2]:
                names[match[1]] = match[2]
            ours = Path(names[match[1]]).name.startswith(OURS)
        elif match := re.match(r"cob=\((\d+)\)(?: (.*))?$", line):
            if match[2]:
                names[match[1]] = match[2]
        elif line.startswith("calls="):
            after_calls = True  # the next line is the cost of the callee
        elif re.match(r"[+\-*\d]", line):
            if ours and not after_calls:
                total += int(line.split()[1])
            after_calls = False
    return total


def count(name: str) -> float:
    """Instructions of ours a call. Exits with a message when the program fails or its points do not arrive."""
    within, zero, command = CASES[name]
    with tempfile.TemporaryDirectory(prefix="tracker-gate-") as folder:
        out = Path(folder) / "callgrind.out"
        valgrind = ["valgrind", "--tool=callgrind", "--collect-atstart=no", f"--toggle-collect={within}"]
        valgrind += [f"--zero-before={zero}", f"--callgrind-out-file={out}", "--quiet"]
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "build" / "python"),
            "LD_BIND_NOW": "1",  # the first call of a function would be counted with the search for it
            "PYTHONHASHSEED": "0",
        }
        done = subprocess.run(
            [*valgrind, *command, f"{folder}/store", str(CALLS)],
            env=environment, cwd=folder, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        if done.returncode != 0 or done.stdout.split()[-1:] != [str(CALLS)]:
            sys.exit(f"{name}: {' '.join(command)} returned {done.returncode}\n{done.stdout}\n{done.stderr}")
        return own_instructions(out.read_text()) / CALLS


def compiler() -> str:
    version = subprocess.run(["c++", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    return f"gcc {version.split('.')[0]} {os.uname().machine}"


def verdict(name: str, now: float, baseline: float | None) -> tuple[bool, str]:
    """Whether the gate is passed, and the line that says so."""
    if baseline is None:
        return True, f"{name:<16} {now:8.1f} instructions a call; no baseline for {compiler()}"
    change = now / baseline - 1
    words = "worse than the baseline allows" if change > WORSE_MAX else "ok"
    if change < -WORSE_MAX:
        words = "better: make it the baseline with --update"
    line = f"{name:<16} {now:8.1f} instructions a call, baseline {baseline:.1f} ({change:+.1%}): {words}"
    return change <= WORSE_MAX, line


def main() -> int:
    if shutil.which("valgrind") is None:
        sys.exit("hot_calls: valgrind is missing; make deps installs it")
    stored: dict[str, dict[str, float]] = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    counts = {name: count(name) for name in CASES}
    known = stored.get(compiler(), {})
    passed = True
    for name, now in counts.items():
        good, line = verdict(name, now, known.get(name))
        passed = passed and good
        print(line)
    if "--update" in sys.argv:
        stored[compiler()] = {name: round(now, 1) for name, now in counts.items()}
        BASELINE.write_text(json.dumps(stored, indent=2) + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
