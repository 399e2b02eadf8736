# SPDX-License-Identifier: MIT
"""A server, and three scripts of other trackers that record to it with only their import line changed: under torchrun,
killed and started again, and offline. Then every point of the server is compared with the local store.

    make demo-server                    or: python examples/demo/demo_server.py, where tracker[server] and torch are

In a terminal the server runs until Ctrl-C. Exit code 0 only if server and local store hold the same points.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import tracker

SCRIPTS = Path(__file__).resolve().parents[1] / "scenarios"
TRACKER = [sys.executable, "-m", "tracker"]
JOB = "job-7"
JOB_WORDS = (str(SCRIPTS / "resumable_job.py"), "--job", JOB)
ITERATIONS, KILLED_AT = 500, 275  # of the job; in its epoch 6
START_SECONDS_MAX, PROGRESS_SECONDS_MAX = 60, 120
COLUMNS = ("steps", "has_step", "times", "attempts", "ranks")


def fail(text: str) -> NoReturn:
    sys.exit(f"demo: {text}")


def wait_for(check: Callable[[], Any], seconds: float, what: str) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := check()):
        if time.monotonic() > deadline:
            fail(f"{what} took more than {seconds} s")
        time.sleep(0.05)
    return found


def output_of(*words: str) -> str:
    """Of a command of tracker: what it prints."""
    done = subprocess.run([*TRACKER, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"tracker {' '.join(words)}: {done.stderr}")
    return (done.stdout + done.stderr).strip()


def start_server(store: Path, log: Path) -> tuple[subprocess.Popen[bytes], str]:
    """The process and its address."""
    with log.open("wb") as said:
        server = subprocess.Popen([*TRACKER, "server", "--dir", str(store), "--port", "0"], stderr=said)

    def address() -> str:
        if server.poll() is not None:
            fail(log.read_text())
        return log.read_text().partition("\n")[0].removeprefix("tracker: ")

    return server, wait_for(address, START_SECONDS_MAX, "the server's start")


def run_script(folder: Path, *words: str) -> None:
    folder.mkdir(exist_ok=True)
    if subprocess.run([sys.executable, *words], cwd=folder, check=False).returncode != 0:
        fail(f"{words[-1]} failed")


def kill_in_the_middle(folder: Path, connection: tracker.Connection) -> None:
    """Starts the job, reads its progress on the server as its platform does, and kills it."""
    folder.mkdir()
    job = subprocess.Popen([sys.executable, *JOB_WORDS], cwd=folder)

    def rows() -> Any:
        if job.poll() is not None:
            fail(f"the job ended with {job.returncode} before it was killed")
        try:
            history = connection.open_run(f"serverless-pilot/{JOB}").history("iteration")
        except tracker.NotFoundError:
            return None
        return history if len(history) and history.values[-1] >= KILLED_AT else None

    try:
        seen = wait_for(rows, PROGRESS_SECONDS_MAX, "the job")
    finally:
        job.send_signal(signal.SIGKILL)
        job.wait()
    each_s = float(np.median(np.diff(seen.times)))
    print(
        f"== killed with SIGKILL. The platform had read on the server: iteration {seen.values[-1]:.0f} "
        f"of {ITERATIONS}, {each_s * 1000:.1f} ms each, {each_s * (ITERATIONS - seen.values[-1]):.0f} s to go",
        flush=True,
    )


def differing(local: Any, remote: Any, name: str) -> tuple[int, int, int]:
    """Of one metric: rows here, rows on the server, and how many of them differ."""
    ours, theirs = local.history(name, all=True), remote.history(name, all=True)
    same = min(len(ours), len(theirs))
    equal = np.asarray(ours.values)[:same].astype(np.float64) == theirs.values[:same].astype(np.float64)
    for column in COLUMNS:
        equal &= getattr(ours, column)[:same] == getattr(theirs, column)[:same]
    return len(ours), len(theirs), max(len(ours), len(theirs)) - int(equal.sum())


def compare(connection: tracker.Connection) -> bool:
    """Prints a line for each run; True where nothing differs."""
    print("\n== compared point by point: value, step, time, attempt and rank of each row, samples of the machine too")
    print(f"   {'run':<48} {'metrics':>7} {'here':>8} {'server':>8} {'differ':>7}  config, summary")
    good = True
    for local in tracker.runs(sort="created"):
        remote = connection.open_run(local.uid)
        names = local.series() + local.series(system=True)
        counts = [differing(local, remote, name) for name in names]
        here, there, differ = (sum(column) for column in zip(*counts, strict=True))
        differ += len(set(names) ^ set(remote.series() + remote.series(system=True)))
        same = (local.config, local.summary, local.state) == (remote.config, remote.summary, remote.state)
        shown = f"{remote.project}/{local.id}, {remote.state}"
        print(f"   {shown:<48} {len(names):>7} {here:>8,} {there:>8,} {differ:>7}  {'same' if same else 'DIFFER'}")
        good = good and same and differ == 0 and here > 0
    return good


def record_all(work: Path, connection: tracker.Connection) -> None:
    print("== two processes under torchrun, a script for T9k's em; it uploads the run and its model", flush=True)
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    run_script(work / "em", *torchrun, str(SCRIPTS / "mnist_torch_distributed.py"))
    print("== a job with the interface of wandb, sent while it runs", flush=True)
    kill_in_the_middle(work / "job", connection)
    print("== started again: it resumes from its checkpoint in the same run", flush=True)
    run_script(work / "job", *JOB_WORDS)
    print("== a script for SwanLab, offline", flush=True)
    run_script(work / "curve", str(SCRIPTS / "launch_example.py"))
    print("== tracker sync: the offline run, and what the killed job had not sent", flush=True)
    print(output_of("sync"))


def main() -> int:
    good = False
    with tempfile.TemporaryDirectory(prefix="tracker-demo-") as folder:
        work = Path(folder)
        store = work / "server"
        token = output_of(*f"server token create --dir {store} --name demo --scope ingest --scope read".split())
        server, address = start_server(store, work / "server.log")
        print(f"== a server at {address}, its store in {store}", flush=True)
        try:
            os.environ |= {"TRACKER_HOST": address, "TRACKER_TOKEN": token, "TRACKER_DIR": str(work / "local")}
            os.environ |= {"SWANLAB_MODE": "offline", "OMP_NUM_THREADS": "1"}
            os.environ["XDG_CONFIG_HOME"] = str(work / "config")  # where login() saves the token
            connection = tracker.connect(address, token)
            record_all(work, connection)
            good = compare(connection)
            print("\n== " + ("nothing differs" if good else "SERVER AND LOCAL STORE DIFFER"))
            print(f"   in the browser (once, within 10 minutes): {link(store)}")
            print(f"   another link: {shell_words()} ui --link --dir {store}", flush=True)
            if sys.stdin.isatty():
                print("   the server runs until Ctrl-C", flush=True)
                server.wait()
        except KeyboardInterrupt:
            print()
        finally:
            server.terminate()
            server.wait()
    return 0 if good else 1


def shell_words() -> str:
    """How a shell says `tracker` as this process does."""
    package = os.environ.get("PYTHONPATH", "")
    return (f"PYTHONPATH={package} " if package else "") + " ".join(TRACKER)


def link(store: Path) -> str:
    return output_of("ui", "--link", "--dir", str(store)).removeprefix("tracker: ")


if __name__ == "__main__":
    sys.exit(main())
