# SPDX-License-Identifier: MIT
"""A real training that is killed with SIGKILL in the middle, recovered, resumed, and compared with what it says it
logged.

    make demo                                   or: python examples/demo/demo.py

Exit code 0 only if no acknowledged point is lost and none is there twice.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import tracker

ROW = struct.Struct("<qddd")  # what train.py notes: a step and the values of
METRICS = ("train/loss", "train/acc", "lr")
STEPS = 6000
HERE = Path(__file__).resolve().parent
Row = tuple[int, int, float]  # attempt, step, value


def start(run_id: str, work: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(HERE / "train.py"), "--id", run_id, "--work", str(work), "--steps", str(STEPS)]
    )


def kill_in_the_middle(training: subprocess.Popen[bytes], work: Path) -> int:
    """Sends SIGKILL at a moment nobody has planned; returns the count of steps acknowledged by then."""
    at_step = random.randint(STEPS * 4 // 10, STEPS * 6 // 10)
    noted = work / "acknowledged-1.bin"
    deadline = time.monotonic() + 60
    while not noted.exists() or noted.stat().st_size < at_step * ROW.size:
        if training.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"demo: the training ended before step {at_step}, with code {training.poll()}")
        time.sleep(0.0005)
    training.send_signal(signal.SIGKILL)
    training.wait()
    return noted.stat().st_size // ROW.size


def acknowledged(work: Path) -> dict[str, list[Row]]:
    """What the training noted after each log() had returned."""
    rows: dict[str, list[Row]] = {name: [] for name in METRICS}
    for noted in sorted(work.glob("acknowledged-*.bin")):
        attempt = int(noted.stem.split("-")[1])
        data = noted.read_bytes()
        for step, *values in struct.iter_unpack(ROW.format, data[: len(data) // ROW.size * ROW.size]):
            for name, value in zip(METRICS, values, strict=True):
                rows[name].append((attempt, step, value))
    return rows


def stored(name_of_run: str) -> dict[str, list[Row]]:
    run = tracker.open_run(name_of_run)
    rows: dict[str, list[Row]] = {}
    for name in METRICS:
        history = run.history(name, all=True)
        rows[name] = list(zip(history.attempts.tolist(), history.steps.tolist(), history.values.tolist(), strict=True))
    return rows


def compare(noted: dict[str, list[Row]], found: dict[str, list[Row]]) -> tuple[int, int, int]:
    """Points lost, points there more than once, and points whose log() had not returned when the process died."""
    lost = doubled = unreturned = 0
    for name in METRICS:
        counts = Counter(found[name])
        lost += sum(1 for row in noted[name] if counts[row] == 0)
        doubled += sum(count - 1 for count in counts.values())
        unreturned += len(counts.keys() - set(noted[name]))
    return lost, doubled, unreturned


def look_further(name_of_run: str) -> None:
    """Commands that work as they stand, in the folder where this was called."""
    program, python = commands()
    read = f'import tracker; print(tracker.open_run("{name_of_run}").history("train/loss").values)'
    lines = [
        (f"{program} ls", "all runs, the newest first"),
        (f"{program} show {name_of_run} --plot 3", "the page above, with its charts"),
        (f"{program} tail {name_of_run}", "its last rows"),
        (f"{program} artifact lineage digits-model", "the model that was trained, by which run, on which data"),
        (f"{program} export {name_of_run} --format csv", "every row"),
        (f"{python} -c '{read}'", "the same in Python"),
    ]
    folder = os.path.relpath(Path(tracker.open_run(name_of_run).dir).parents[2])
    print(f"\n== look further: the run is in the store {folder}, which these find from this folder")
    for command, what in lines:
        print(f"   # {what}\n   {command}")
    print(f"\n== see it in the browser:\n   {python} -m tracker ui --dir {folder}")


def commands() -> tuple[str, str]:
    """How this shell says `tracker` and `python`: as installed, else as built in this repository."""
    built = HERE.parents[1] / "build"
    if shutil.which("tracker"):
        return "tracker", "python"
    if not (built / "bin" / "tracker").exists():  # an environment that is not activated
        return f"{sys.executable} -m tracker", sys.executable
    here = Path.cwd()
    program, package = (os.path.relpath(path, here) for path in (built / "bin" / "tracker", built / "python"))
    return program, f"PYTHONPATH={package} {os.path.relpath(sys.executable, here)}"


def account(name_of_run: str, work: Path) -> bool:
    """Prints where every point is; True when none is lost and none is there twice."""
    noted = acknowledged(work)
    lost, doubled, unreturned = compare(noted, stored(name_of_run))
    logged = sum(len(rows) for rows in noted.values())
    recovered = tracker.open_run(name_of_run).losses.recovered
    print(
        f"""
== the account, counted by the training itself and compared point by point
   logged     {logged:6,}  points of {", ".join(METRICS)}, noted after log() had returned
   recovered  {recovered:6,}  of them and of val/acc, from the memory of the dead process
   lost       {lost:6,}
   doubled    {doubled:6,}
   unreturned {unreturned:6,}  stored although the process died before log() returned
""",
        flush=True,
    )
    return lost == 0 and doubled == 0 and unreturned <= len(METRICS)


def main() -> int:
    run_id = f"demo-{time.strftime('%m%d-%H%M%S')}"
    with tempfile.TemporaryDirectory(prefix="tracker-demo-") as folder:
        work = Path(folder)
        print("== a training starts", flush=True)
        steps = kill_in_the_middle(start(run_id, work), work)
        print(f"== killed with SIGKILL after step {steps - 1}: no handler ran, nothing was flushed", flush=True)
        print("== it starts again: what the dead process had logged is recovered, the training resumes", flush=True)
        if start(run_id, work).wait() != 0:
            return 1
        complete = account(f"digits/{run_id}", work)

    subprocess.run([sys.executable, "-m", "tracker", "show", f"digits/{run_id}"], check=True)
    look_further(f"digits/{run_id}")
    return 0 if complete else 1


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # a network this small only loses time on several cores
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())
