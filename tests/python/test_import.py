# SPDX-License-Identifier: MIT
"""Goal: importing is cheap and quiet, a local run touches no network and nothing outside its store.
Method: look at sys.modules, at system calls' traces, at a process in a network namespace of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import conditions
import tracker
from conditions import needs

Script = Callable[..., "subprocess.CompletedProcess[str]"]

HEAVY = ("numpy", "pandas", "torch", "typing", "dataclasses", "inspect", "asyncio", "socket", "ssl", "ctypes", "json",
         "sqlite3", "multiprocessing", "threading", "traceback", "logging", "pathlib", "subprocess")  # fmt: skip


def test_importing_and_a_whole_run_import_nothing_heavy(script: Script) -> None:
    done = script(
        f"""
        import sys
        before = set(sys.modules)
        import tracker
        print(sorted((set(sys.modules) - before) & set({HEAVY!r})))
        with tracker.init(project="p", config={{"lr": 0.1}}, quiet=True) as run:
            run.log({{"x": 1.0}}, step=0)
        print(sorted((set(sys.modules) - before) & set({HEAVY!r})))
        """
    )
    assert done.stdout == "[]\n[]\n", done.stderr


def test_importing_reads_no_environment_and_starts_nothing(script: Script) -> None:
    done = script(
        """
        import os, sys
        import tracker
        print(len(os.listdir("/proc/self/task")), tracker.run, os.listdir("."), tracker.__version__)
        """,
        env={"RANK": "3", "WORLD_SIZE": "8", "TRACKER_MODE": "nonsense"},
    )
    assert done.stdout == f"1 None ['script.py'] {tracker.__version__}\n"
    assert done.stderr == ""


def test_import_time_is_bounded(script: Script) -> None:
    # The contract is 30 ms (benchmarks/); this only catches what would be ten times that.
    source = "import time; t = time.perf_counter(); import tracker; print(time.perf_counter() - t)"
    assert min(float(script(source).stdout) for _ in range(3)) < 0.3


def test_a_local_run_opens_no_socket(script: Script, tmp_path: Path) -> None:
    needs(conditions.STRACE)
    trace = tmp_path.parent / f"{tmp_path.name}.trace"
    done = script(
        """
        import tracker
        with tracker.init(project="p", quiet=True) as run:
            run.log({"x": 1.0}, step=0)
        print(tracker.open_run(run.uid).state)
        """,
        prefix=["strace", "-f", "-e", "trace=%network", "-o", str(trace)],
    )
    assert done.stdout == "finished\n", done.stderr
    assert [line for line in trace.read_text().splitlines() if "socket(" in line or "connect(" in line] == []


def test_a_run_works_without_any_network(script: Script) -> None:
    needs(conditions.NETWORK_NAMESPACE)
    done = script(
        """
        import tracker
        for mode in ("local", "offline", "online"):
            with tracker.init(project="p", mode=mode, quiet=True) as run:
                run.log({"x": 1.0}, step=0)
            print(tracker.open_run(run.uid).state)
        """,
        prefix=["unshare", "-n"],
    )
    assert done.stdout == "finished\n" * 3, done.stderr


def test_an_import_error_says_where_and_why(tmp_path: Path) -> None:
    package = tmp_path / "broken" / "tracker"
    package.mkdir(parents=True)
    for path in Path(tracker.__file__).parent.glob("*.py"):
        shutil.copy(path, package / path.name)

    def explain() -> str:
        return subprocess.run(
            [sys.executable, "-c", "import tracker"],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(package.parent)},
            check=False,
        ).stderr

    text = explain()
    assert sys.executable in text
    assert "it is not built here" in text
    (package / "_core.cpython-27-x86_64-linux-gnu.so").write_bytes(b"")
    assert "it was built for another interpreter" in explain()


def test_the_command_line_runs_from_python(script: Script) -> None:
    with tracker.init(project="p", id="shown", quiet=True) as run:
        run.log({"x": 1.0}, step=0)
    env = {**os.environ, "PYTHONPATH": str(Path(tracker.__file__).parent.parent)}

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "tracker", *words]
        return subprocess.run(line, capture_output=True, text=True, env=env, check=False)

    listed = command("ls")
    assert listed.returncode == 0, listed.stderr
    assert "shown" in listed.stdout
    bad = command("frobnicate")
    assert bad.returncode != 0
    assert "frobnicate" in bad.stderr


def test_a_subinterpreter_is_refused_cleanly_and_the_main_one_goes_on(script: Script) -> None:
    needs(conditions.SUBINTERPRETERS)
    done = script(
        """
        import tracker
        import _xxsubinterpreters as interpreters
        run = tracker.init(project="p", id="main", quiet=True)
        try:
            interpreters.run_string(interpreters.create(), "import tracker")
        except Exception as error:
            print("does not support loading in subinterpreters" in str(error))
        run.log({"x": 1.0}, step=0)
        run.finish()
        """
    )
    assert done.stdout == "True\n", done.stderr
    assert tracker.open_run("p/main").series() == ["x"]
