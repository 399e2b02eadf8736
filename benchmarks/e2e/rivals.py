# SPDX-License-Identifier: MIT
"""Question: what do other ways to record the same points cost, side by side on this machine?

Workload: benchmarks/rivals/measure.py, each measurement in a process of its own, the tools in turn within each round,
so that what disturbs the machine disturbs all. Mode: Python, one metric of noisy float32 values unless said otherwise,
files in build/ (a disk), each tool as its documentation advises; what it makes durable is not the same and stands
beside its numbers. The rivals live in .venv-rivals, made here from benchmarks/rivals/requirements.lock. Informational.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import harness
from harness import Row
from rivals.environment import make_environment

ROOT = Path(__file__).resolve().parents[2]
RIVALS = ROOT / "benchmarks" / "rivals"
ADAPTERS = ["nothing", "write_call", "sqlite_rows", "tensorboardx", "ours"]
ROUNDS = {"imports": 7, "first": 7, "tight": 3, "paced": 1, "until_finished": 5}
ROUNDS |= {"stored_one": 1, "stored_twenty": 1, "reads": 3, "load": 1}
KILLS = 20
READ_POINTS = 100_000  # of measure.py
UNITS = {"imports": "ms", "first": "ms", "tight": "ns", "paced": "ns", "until_finished": "ms", "reads": "ms"}


def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("TRACKER_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)  # no tool is imported from its sources each time
    return {**kept, "PYTHONPATH": f"{ROOT / 'build' / 'python'}:{ROOT / 'benchmarks'}"}


def measure(python: str, task: str, adapter: str, folder: str) -> list[float]:
    command = [python, str(RIVALS / "measure.py"), task, adapter, folder]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    harness.require(done.returncode == 0, f"{task} of {adapter} ends well: {done.stderr}")
    numbers: list[float] = json.loads(done.stdout.splitlines()[-1])
    return numbers


def kill_one(python: str, adapter: str, folder: str, delay_s: float) -> tuple[float, float]:
    """% of the points whose call had returned that are missing after kill -9, and % counted as dropped (full ring)."""
    shared = Path(folder, "acknowledged")
    shared.write_bytes(bytes(8))
    data = Path(folder, "data")
    data.mkdir()
    command = [python, str(RIVALS / "measure.py"), "until_killed", adapter, str(data)]
    child = subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while int.from_bytes(shared.read_bytes(), "little") == 0 and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(delay_s)
    child.send_signal(signal.SIGKILL)
    child.wait()
    acknowledged = int.from_bytes(shared.read_bytes(), "little")
    harness.require(acknowledged > 0, f"{adapter} has logged before it is killed")
    there, dropped = measure(python, "left", adapter, str(data))
    return 100 * max(0.0, acknowledged - dropped - there) / acknowledged, 100 * dropped / acknowledged


def kills(python: str, adapter: str) -> tuple[list[float], list[float]]:
    """What kill_one says, a number a kill."""
    rng = random.Random(adapter)
    out = []
    for _ in range(KILLS):
        with harness.temporary_store() as folder:
            out.append(kill_one(python, adapter, folder, rng.uniform(0.05, 0.4)))
    return [lost for lost, _ in out], [dropped for _, dropped in out]


def all_tasks(python: str) -> dict[str, dict[str, list[float]]]:
    """adapter -> task -> numbers of all rounds."""
    out: dict[str, dict[str, list[float]]] = {adapter: {} for adapter in ADAPTERS}
    for task, rounds in ROUNDS.items():
        for _ in range(rounds):
            for adapter in ADAPTERS:
                with harness.temporary_store() as folder:
                    out[adapter].setdefault(task, []).extend(measure(python, task, adapter, folder))
        print(f"measured {task}", file=sys.stderr, flush=True)
    for adapter in ADAPTERS:
        if adapter != "nothing":
            out[adapter]["lost"], out[adapter]["dropped"] = kills(python, adapter)
            for task in ("stored_one", "stored_twenty"):
                harness.require(
                    out[adapter][task][1] == READ_POINTS, f"all points of {task} of {adapter} are read back"
                )
    return out


def rows_of(name: str, numbers: dict[str, list[float]]) -> list[Row]:
    # Of the 30,000 calls of a tight loop every third is kept in the file; the table is made of all.
    rows = [Row(f"{name}: {task}", unit, numbers[task][:: 3 if task == "tight" else 1]) for task, unit in UNITS.items()]
    rows.append(Row(f"{name}: 1 key", "B/point", numbers["stored_one"][:1]))
    rows.append(Row(f"{name}: 20 keys", "B/point", numbers["stored_twenty"][:1]))
    loads = (("CPU", "% core"), ("beyond the interpreter", "MiB"), ("beyond the module", "MiB"))
    for at, (what, unit) in enumerate(loads):
        rows.append(Row(f"{name}: 100 metrics at 10 Hz, {what}", unit, numbers["load"][at : at + 1]))
    for what, key in (("lost by kill -9", "lost"), ("counted as dropped by then", "dropped")):
        if key in numbers:
            rows.append(Row(f"{name}: {what}", "%", numbers[key]))
    return rows


def table(names: dict[str, str], numbers: dict[str, dict[str, list[float]]]) -> list[str]:
    """For benchmarks/README.md."""
    out = [
        "| tool | import ms | init + first point ms | log p50 / p99.9 µs | every 2 ms p50 µs "
        "| 10 k calls until finished ms | B/point 1 key / 20 keys | read 100 k ms "
        "| MiB beyond interpreter / module | CPU at 100 metrics × 10 Hz "
        "| acknowledged points lost by kill −9 |",
        "|---" * 11 + "|",
    ]
    floor = numbers["nothing"]["load"][0]
    for adapter, name in names.items():
        of = numbers[adapter]
        p50, p999 = statistics.median(of["tight"]) / 1e3, harness.percentile(of["tight"], 99.9) / 1e3
        lost = f"{statistics.mean(of['lost']):.3g} %" if "lost" in of else "–"
        cells = [
            f"{statistics.median(of['imports']):.3g}",
            f"{statistics.median(of['first']):.3g}",
            f"{p50:.2g} / {p999:.3g}",
            f"{statistics.median(of['paced']) / 1e3:.3g}",
            f"{statistics.median(of['until_finished']):.3g}",
            f"{of['stored_one'][0]:.3g} / {of['stored_twenty'][0]:.3g}",
            f"{statistics.median(of['reads']):.3g}",
            f"{of['load'][1]:.3g} / {of['load'][2]:.3g}",
            f"{max(0.0, of['load'][0] - floor):.2g} %",
            lost,
        ]
        out.append(f"| {name} | " + " | ".join(cells) + " |")
    return out


def main() -> None:
    python = make_environment()
    modules = {adapter: importlib.import_module(f"rivals.{adapter}") for adapter in ADAPTERS}
    names = {adapter: module.NAME for adapter, module in modules.items()}
    numbers = all_tasks(python)
    rows: list[Row] = []
    for adapter, name in names.items():
        rows += rows_of(name, numbers[adapter])
    harness.report("rivals", rows)
    print("\n".join(table(names, numbers)))
    for adapter, name in names.items():
        print(f"{name}: {modules[adapter].DURABLE}. Settings: {modules[adapter].SETTINGS}.")


if __name__ == "__main__":
    main()
