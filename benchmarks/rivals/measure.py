# SPDX-License-Identifier: MIT
"""One measurement of one adapter in a process of its own: python measure.py TASK ADAPTER FOLDER, a JSON list of numbers
on stdout. benchmarks/e2e/rivals.py starts them and says what the numbers are."""

from __future__ import annotations

import importlib
import json
import mmap
import os
import random
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CALLS = 10_000
BURST = 4_000  # 3/4 of the first ring of tracker; then flush(), outside of the clock, for every tool
PACED_CALLS = 1_000
PAUSE_S = 0.002
READ_POINTS = 100_000
METRICS = 100
SECONDS = 10


def value_of(step: int) -> float:
    """A loss as trainings have it: noisy, float32."""
    import struct

    noisy = 2.0 / (1 + step / 1000) + random.Random(step).gauss(0, 0.05)
    return float(struct.unpack("<f", struct.pack("<f", noisy))[0])


def cpu_s() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def children_of(pid: int) -> list[int]:
    out = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) == pid:
                out += [int(entry.name), *children_of(int(entry.name))]
        except OSError:
            continue
    return out


def resident_mib(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / (1 << 20)


def bytes_in(folder: str) -> int:
    return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())


def imports(tool: Any, folder: str) -> list[float]:
    start = time.perf_counter()
    for name in tool.MODULES:
        importlib.import_module(name)
    return [(time.perf_counter() - start) * 1e3]


def first(tool: Any, folder: str) -> list[float]:
    imports(tool, folder)
    start = time.perf_counter()
    log = tool.open(folder)
    log.log({"loss": 0.5}, 0)
    took = (time.perf_counter() - start) * 1e3
    log.finish()
    return [took]


def tight(tool: Any, folder: str) -> list[float]:
    """ns of each call."""
    log = tool.open(folder)
    values = [value_of(i) for i in range(CALLS)]
    out = []
    for i, value in enumerate(values):
        if i % BURST == 0:
            log.flush()
        start = time.perf_counter_ns()
        log.log({"loss": value}, i)
        out.append(float(time.perf_counter_ns() - start))
    log.finish()
    return out


def paced(tool: Any, folder: str) -> list[float]:
    log = tool.open(folder)
    out = []
    for i in range(PACED_CALLS):
        time.sleep(PAUSE_S)
        start = time.perf_counter_ns()
        log.log({"loss": i * 0.5}, i)
        out.append(float(time.perf_counter_ns() - start))
    log.finish()
    return out


def until_finished(tool: Any, folder: str) -> list[float]:
    """ms of 10,000 calls and the end of the run."""
    log = tool.open(folder)
    log.log({"loss": 0.0}, 0)
    values = [value_of(i) for i in range(CALLS)]
    start = time.perf_counter()
    for i, value in enumerate(values, start=1):
        log.log({"loss": value}, i)
    log.finish()
    return [(time.perf_counter() - start) * 1e3]


def stored(tool: Any, folder: str, keys: int) -> list[float]:
    """Bytes a point on disk after the end, and points that are read back."""
    log = tool.open(folder)
    names = [f"layer/{k}/loss" for k in range(keys)]
    calls = READ_POINTS // keys
    for i in range(calls):
        if i % (BURST // (2 * keys)) == 0:
            log.flush()
        log.log({name: value_of(i * keys + k) for k, name in enumerate(names)}, i)
    log.finish()
    return [bytes_in(folder) / READ_POINTS, float(len(tool.read(folder, names[-1])[0]) * keys)]


def stored_one(tool: Any, folder: str) -> list[float]:
    return stored(tool, folder, 1)


def stored_twenty(tool: Any, folder: str) -> list[float]:
    return stored(tool, folder, 20)


def reads(tool: Any, folder: str) -> list[float]:
    """ms to read 100,000 points of one key, from files in the page cache; the second time, when all is imported."""
    stored(tool, folder, 1)
    start = time.perf_counter()
    steps, _ = tool.read(folder, "layer/0/loss")
    took = (time.perf_counter() - start) * 1e3
    if len(steps) not in (0, READ_POINTS):
        sys.exit(f"{tool.NAME}: {len(steps)} points are read back of {READ_POINTS}")
    return [took]


def load(tool: Any, folder: str) -> list[float]:
    """100 metrics at 10 Hz: % of a core, MiB beyond the bare interpreter and beyond the module, helpers included."""
    bare = resident_mib(os.getpid())
    imports(tool, folder)
    loaded = resident_mib(os.getpid())
    log = tool.open(folder)
    names = [f"metric/{i}" for i in range(METRICS)]
    log.log(dict.fromkeys(names, 0.5), 0)
    cpu, start = cpu_s(), time.perf_counter()
    for i in range(1, SECONDS * 10 + 1):
        log.log(dict.fromkeys(names, 0.5 * i), i)
        time.sleep(max(0.0, start + i * 0.1 - time.perf_counter()))
    used = (cpu_s() - cpu) / (time.perf_counter() - start) * 100
    everything = resident_mib(os.getpid()) + sum(resident_mib(pid) for pid in children_of(os.getpid()))
    log.finish()
    return [used, everything - bare, everything - loaded]


def until_killed(tool: Any, folder: str) -> list[float]:
    """Logs in a tight loop and says in a shared file how many calls have returned."""
    with Path(folder, "..", "acknowledged").resolve().open("r+b") as file:
        shared = memoryview(mmap.mmap(file.fileno(), 8)).cast("Q")
    log = tool.open(folder)
    step = 0
    while True:
        log.log({"loss": step * 0.5}, step)
        step += 1
        shared[0] = step


def left(tool: Any, folder: str) -> list[float]:
    """Points that are there, and those that the tool counts as dropped."""
    steps, _ = tool.read(folder, "loss")
    return [float(len({int(step) for step in steps})), float(tool.dropped(folder))]


ALL = (imports, first, tight, paced, until_finished, stored_one, stored_twenty, reads, load, until_killed, left)
TASKS: dict[str, Callable[[Any, str], list[float]]] = {task.__name__: task for task in ALL}

if __name__ == "__main__":
    task, adapter, folder = sys.argv[1:4]
    print(json.dumps(TASKS[task](importlib.import_module(f"rivals.{adapter}"), folder)))
