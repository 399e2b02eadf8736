# SPDX-License-Identifier: MIT
"""Goal: importing is cheap and quiet, a local run touches no network and nothing outside its store.
Method: check sys.modules, system calls' traces, a process in a network namespace of its own."""

from __future__ import annotations

import base64
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

# An image of one pixel.
DOT = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")
HEAVY = ("numpy", "pandas", "torch", "typing", "dataclasses", "inspect", "asyncio", "socket", "ssl", "ctypes", "json",
         "sqlite3", "multiprocessing", "threading", "traceback", "logging", "pathlib", "subprocess")  # fmt: skip


# Promise P9: Importing is cheap, imports nothing heavy, reads no environment.
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


# Promise P9: No socket and no network in local mode.
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


# Everything that a run does, with children that inherit the console.
FULL_RUN = """
    import pathlib, subprocess, sys, time
    import tracker
    for mode in ("local", "offline", "online"):
        with tracker.init(
            project="p", id=mode, mode=mode, config={"lr": 0.1}, capture=["command", "environment", "diff", "source"],
            system_interval=0.1, tensorboard=f"board-{mode}", console="fd",
        ) as run:
            run.log({
                "x": 1.0, "note": "text", "h": tracker.Histogram(counts=[1, 2], edges=[0, 1, 2]),
                "image": tracker.Image(pathlib.Path("dot.png")),
                "table": tracker.Table([["a", 1]], columns=["name", "n"]),
            }, step=0)
            run.summary["best"] = 1.0
            print(f"printed in {mode}", flush=True)
            subprocess.run(["sh", "-c", f"echo child in {mode}"], check=True)
            run.alert("title", "text")
            assert not run.should_stop()
            art = tracker.Artifact("model", "model")
            with art.new_file("weights") as file:
                file.write(mode)
            art.add_reference("https://example.com/data.tar")
            run.log_artifact(art).wait()
            run.use_artifact("model:latest").download(f"out-{mode}")
            assert run.flush()
            deadline = time.monotonic() + 60
            while not tracker.open_run(run.uid).series(system=True) and time.monotonic() < deadline:
                time.sleep(0.05)
        stored = tracker.open_run(f"p/{mode}")
        lines = [line.text for line in stored.console()]
        assert f"printed in {mode}" in lines and f"child in {mode}" in lines, lines
        assert stored.environment["command"] and stored.series(system=True) and len(stored.media("image")) == 1
        assert [use.name for use in stored.inputs] and len(stored.alerts) == 1, stored.inputs
        subprocess.run([sys.executable, "-m", "tracker", "show", f"p/{mode}"], check=True, capture_output=True)
    pathlib.Path("ended").write_text(stored.state)
"""


def test_a_run_with_everything_on_works_without_a_network_and_asks_for_no_socket(
    script: Script, store: Path, tmp_path: Path
) -> None:
    needs(conditions.NETWORK_NAMESPACE)
    needs(conditions.STRACE)
    needs(conditions.GIT)
    (tmp_path / "dot.png").write_bytes(DOT)
    (tmp_path / ".gitignore").write_text("*\n")
    for words in (
        ["init", "-q"],
        ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "m"],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    trace = tmp_path.parent / f"{tmp_path.name}.trace"
    denied = "socket,socketpair,connect"
    # No interfaces, and socket() fails with EPERM in each process of it: one attempt is one too many.
    strace = ["strace", "-f", "-o", str(trace), "-e", f"trace={denied}", "-e", f"inject={denied}:error=EPERM"]
    done = script(FULL_RUN, prefix=["unshare", "-n", *strace])
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ended").read_text() == "finished"
    assert list(tmp_path.glob("board-offline/**/events.*")) != []
    attempts = [
        line
        for line in trace.read_text().splitlines()
        if "(" in line and line.split(None, 1)[1].startswith(tuple(denied.split(",")))
    ]
    assert attempts == []


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
