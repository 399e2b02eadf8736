# SPDX-License-Identifier: MIT
"""Goal: an inherited run is inert in a child: nothing hangs, nothing is written twice, and the child says so once.
Method: fork, and multiprocessing by all three start methods, with children that call everything."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]

CHILD = """
def use_everything(run):
    import gc
    run.log({"x": -1.0, "new": 1.0, "text": "t", "bad": object()}, step=99)
    run.metric("x").log(-1.0, 99)
    run.config["child"] = 1
    run.summary["child"] = 1
    assert run.flush(timeout=1) is True
    assert run.status().recording is False
    run.finish(exit_code=1)
    gc.collect()
"""


@pytest.fixture
def rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sign of ranks, which leaves the first process what it is."""
    monkeypatch.setenv("LOCAL_RANK", "0")


def test_a_forked_child_is_inert_and_says_so_once(script: Script) -> None:
    done = script(
        CHILD
        + """
import os, sys, tracker
run = tracker.init(project="fork", id="f", quiet=True, strict=len(sys.argv) > 1)
handle = run.metric("x")
run.log({"x": 0.0}, step=0)
for child in range(20):
    pid = os.fork()
    if pid == 0:
        use_everything(run) if len(sys.argv) == 1 else handle.log(5.0, 50)
        sys.exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    run.log({"x": float(child)}, step=child + 1)
"""
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 20, done.stderr
    assert set(lines) == {lines[0]}
    assert "records nothing" in lines[0]
    r = tracker.open_run("fork/f")
    assert r.state == "finished"
    assert r.history("x", all=True).steps.tolist() == list(range(21))
    assert r.series() == ["x"]
    assert "child" not in r.config


def test_a_strict_run_raises_nothing_in_a_forked_child(script: Script) -> None:
    done = script(
        """
import os, sys, tracker
run = tracker.init(project="fork", id="f", quiet=True, strict=True)
handle = run.metric("x")
run.log({"x": 0.0}, step=0)
pid = os.fork()
if pid == 0:
    handle.log(5.0, 50)
    run.log({"x": 1.0, "new": 1.0, "t": "text"})
    run.config["a"] = 1
    run.finish()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""
    )
    assert done.returncode == 0, done.stderr
    assert len(tracker.open_run("fork/f").history("x")) == 1


# attach() once answered another run and left the inherited one inert: `run.attach(); run.log(...)` lost everything.
def test_the_inherited_run_itself_records_after_attach(script: Script) -> None:
    done = script(
        """
import os, tracker
run = tracker.init(project="fork", id="f", quiet=True, config={"lr": 0.1})
unused, handle = run.metric("unused"), run.metric("handle")
run.log({"first": 0.0, "x": 0.0, "handle": 0.0}, step=0)  # ids here, in another order than in the child
handle.log(0.5, 1)
run.flush()
pid = os.fork()
if pid == 0:
    run.log({"lost": 1.0}, step=0)
    assert "run.attach()" in run.status().why_not_recording
    assert run.attach() is run
    assert tracker.run is run and run.status().recording
    assert run.config["lr"] == 0.1
    for step in range(2, 4):
        run.log({"x": float(step), "new": 1.0}, step=step)
        handle.log(10.0 + step, step)
        unused.log(20.0 + step, step)
    tracker.log({"module": 1.0}, step=2)
    run.config["child"] = True
    try:
        run.attach()
    except RuntimeError as error:
        print(error, flush=True)
    run.finish()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
run.log({"x": 4.0}, step=4)
"""
    )
    assert done.returncode == 0, done.stderr
    assert "records the run already" in done.stdout
    assert "run.attach()" in done.stderr
    r = tracker.open_run("fork/f")
    assert r.series() == ["first", "handle", "module", "new", "unused", "x"]
    assert r.history("x").values.tolist() == [0, 2, 3, 4]
    assert r.history("handle").values.tolist() == [0, 0.5, 12, 13]
    assert r.history("unused").values.tolist() == [22, 23]
    assert r.history("first").values.tolist() == [0]
    assert r.config == {"lr": 0.1, "child": True}


def test_a_child_of_an_attached_child_attaches_too(script: Script) -> None:
    done = script(
        """
import os, tracker
run = tracker.init(project="fork", id="f", quiet=True)
handle = run.metric("x")
def go(depth):
    for i in range(depth):
        run.log({f"own{depth}": float(i)}, step=i)  # ids differ from process to process
    handle.log(float(depth), depth)
    if depth < 3:
        pid = os.fork()
        if pid == 0:
            run.attach()
            go(depth + 1)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
    run.finish()
go(0)
"""
    )
    assert done.returncode == 0, done.stderr
    r = tracker.open_run("fork/f")
    assert r.history("x").values.tolist() == [0, 1, 2, 3]
    assert [len(r.history(f"own{depth}")) for depth in (1, 2, 3)] == [1, 2, 3]


def test_attach_records_in_a_forked_child(script: Script) -> None:
    done = script(
        """
import os, tracker
run = tracker.init(project="fork", id="f", quiet=True)
run.log({"x": 0.0}, step=0)
pid = os.fork()
if pid == 0:
    mine = run.attach()
    assert tracker.run is mine and mine.uid == run.uid
    mine.log({"x": 1.0, "child": 2.0}, step=1)
    mine.finish()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
run.log({"x": 2.0}, step=2)
try:
    run.attach()
except RuntimeError as error:
    print(error)
"""
    )
    assert done.returncode == 0, done.stderr
    assert "forked child" in done.stdout
    r = tracker.open_run("fork/f")
    assert r.history("x").steps.tolist() == [0, 1, 2]
    assert r.history("child").values.tolist() == [2.0]


@pytest.mark.usefixtures("rank")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_multiprocessing_child_of_a_process_with_a_run_is_gated(script: Script, method: str) -> None:
    done = script(
        """
import multiprocessing, sys, tracker
def work(n):
    run = tracker.init(project="fork", id=f"child{n}", quiet=False)
    run.log({"x": 1.0}, step=0)
    run.finish()
    return run.status().recording
if __name__ == "__main__":
    run = tracker.init(project="fork", id="parent", quiet=True)
    run.log({"x": 0.0}, step=0)
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(work, range(4), chunksize=2))
""",
        method,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[False, False, False, False]\n"
    line = "tracker: a multiprocessing child of a process that has a run records nothing;"
    said = done.stderr.splitlines()
    assert 1 <= len(said) <= 2, "once a process, though each calls init twice"
    assert all(each.startswith(line) for each in said)
    assert [r.id for r in tracker.runs()] == ["parent"]


GENERATIONS = """
import sys, tracker
def work(deeper, method):
    import multiprocessing
    if deeper:
        child = multiprocessing.get_context(method).Process(target=work, args=(deeper - 1, method))
        child.start()
        child.join()
        sys.exit(child.exitcode)
    with tracker.init(project="fork", id="grandchild") as run:
        run.log({"x": 1.0}, step=0)
if __name__ == "__main__":
    with tracker.init(project="fork", id="parent", quiet=True):
        work(3, sys.argv[1])
"""


@pytest.mark.usefixtures("rank")
@pytest.mark.parametrize("imported", ["before init", "after init"])
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_descendants_of_a_process_with_a_run_are_gated(script: Script, method: str, imported: str) -> None:
    first = "import multiprocessing\n" if imported == "before init" else ""
    done = script(first + GENERATIONS, method)
    assert done.returncode == 0, done.stderr
    assert "tracker: a multiprocessing child of a process that has a run records nothing;" in done.stderr
    assert [r.id for r in tracker.runs()] == ["parent"]


@pytest.mark.usefixtures("rank")
def test_children_of_a_fork_server_older_than_the_run_are_gated(script: Script) -> None:
    done = script(
        """
import multiprocessing, os, tracker
def nothing():
    pass
def work():
    with tracker.init(project="fork", id="child") as run:
        run.log({"x": 1.0}, step=0)
def start(context, target):
    child = context.Process(target=target)
    child.start()
    child.join()
    assert child.exitcode == 0
if __name__ == "__main__":
    context = multiprocessing.get_context("forkserver")
    start(context, nothing)  # the server is up, without anything that init sets
    with tracker.init(project="fork", id="parent", quiet=True):
        start(context, work)
    print(len(tracker.runs()), flush=True)
    start(context, work)  # the run has ended: this child records
"""
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1\n"
    assert "a multiprocessing child of a process that has a run records nothing" in done.stderr
    assert sorted(r.id for r in tracker.runs()) == ["child", "parent"]


# The bug: the server keeps the variable that named the process while it had the run.
@pytest.mark.usefixtures("rank")
def test_a_child_of_a_fork_server_that_was_started_during_a_run_records_after_its_end(script: Script) -> None:
    done = script(
        """
import multiprocessing, tracker
def work(name):
    tracker.init(project="fork", id=name, quiet=True).finish()
def start(name):
    child = multiprocessing.get_context("forkserver").Process(target=work, args=(name,))
    child.start()
    child.join()
    assert child.exitcode == 0
if __name__ == "__main__":
    for first, during, after in (("r", "r-during", "r-after"), ("s", "s-during", "s-after")):
        with tracker.init(project="fork", id=first, quiet=True):
            start(during)
        start(after)
    print(sorted(run.id for run in tracker.runs()))
"""
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['r', 'r-after', 's', 's-after']\n"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_child_of_a_process_without_a_run_records(script: Script, method: str) -> None:
    done = script(
        """
import multiprocessing, sys, tracker
def work(n):
    with tracker.init(project="fork", id=f"child{n}", quiet=True) as run:
        run.log({"x": 1.0}, step=0)
if __name__ == "__main__":
    with tracker.init(project="fork", id="earlier", quiet=True):
        pass
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        pool.map(work, range(2))
""",
        method,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(r.id for r in tracker.runs()) == ["child0", "child1", "earlier"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_the_workers_of_a_program_started_by_a_run_record(script: Script, tmp_path: Path, method: str) -> None:
    (tmp_path / "program.py").write_text(
        """
import multiprocessing, sys, tracker
def work(n):
    with tracker.init(project="fork", id=f"own{n}", quiet=True) as run:
        run.log({"x": 1.0}, step=0)
if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        pool.map(work, range(2))
"""
    )
    done = script(
        """
import multiprocessing, subprocess, sys, tracker
with tracker.init(project="fork", id="parent", quiet=True):
    subprocess.run([sys.executable, "program.py", sys.argv[1]], check=True)
""",
        method,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(r.id for r in tracker.runs()) == ["own0", "own1", "parent"]


@pytest.mark.usefixtures("rank")
def test_what_a_gated_child_records_on_request_leaves_its_children_gated(script: Script) -> None:
    done = script(
        """
import multiprocessing, os, tracker
def grandchild():
    tracker.init(project="fork", id="grandchild").log({"x": 1.0})
def child(context):
    os.environ["TRACKER_RANK"] = "0"
    tracker.init(project="fork", id="child", quiet=True).finish()
    del os.environ["TRACKER_RANK"]
    process = context.Process(target=grandchild)
    process.start()
    process.join()
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with tracker.init(project="fork", id="parent", quiet=True):
        process = context.Process(target=child, args=(context,))
        process.start()
        process.join()
    assert "TRACKER_PARENT_RUN" not in os.environ
"""
    )
    assert done.returncode == 0, done.stderr
    assert sorted(r.id for r in tracker.runs()) == ["child", "parent"]


# The bug: 12 trials, 0 runs, exit code 0.
# Promise P7: A `multiprocessing` child records what it opens: a sweep with a run and eight workers has nine runs.
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_sweep_with_a_run_of_its_own_and_eight_workers_has_nine_runs(script: Script, method: str) -> None:
    done = script(
        """
import multiprocessing, sys, tracker
def trial(n):
    with tracker.init(project="sweep", config={"n": n}) as run:
        run.log({"loss": float(n)}, step=0)
if __name__ == "__main__":
    with tracker.init(project="sweep", id="study") as study:
        with multiprocessing.get_context(sys.argv[1]).Pool(8) as pool:
            pool.map(trial, range(8), chunksize=1)
        study.log({"best": 0.0}, step=0)
""",
        method,
    )
    assert done.returncode == 0, done.stderr
    assert "records nothing" not in done.stderr
    runs = {run.id: run for run in tracker.runs(project="sweep")}
    assert [run.state for run in runs.values()] == ["finished"] * 9
    assert sorted(run.config["n"] for name, run in runs.items() if name != "study") == list(range(8))
    assert runs["study"].series() == ["best"], "the run of the driver is its own, and goes on"


# Promise P7: With a sign of ranks a `multiprocessing` child of a process that has a run is gated, by every start
# method.
@pytest.mark.parametrize(
    "variable", ["RANK=0", "LOCAL_RANK=0", "MASTER_ADDR=127.0.0.1", "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2"]
)
def test_a_worker_with_a_sign_of_ranks_beside_a_run_is_gated(
    script: Script, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    for pair in variable.split():
        monkeypatch.setenv(*pair.split("="))
    done = script(
        """
import multiprocessing, tracker
def work():
    tracker.init(project="fork", id="child", quiet=True).finish()
if __name__ == "__main__":
    with tracker.init(project="fork", id="parent", quiet=True):
        process = multiprocessing.get_context("fork").Process(target=work)
        process.start()
        process.join()
"""
    )
    assert done.returncode == 0, done.stderr
    assert [run.id for run in tracker.runs()] == ["parent"]


def test_a_program_started_by_a_run_records_its_own(script: Script) -> None:
    done = script(
        """
import subprocess, sys, tracker
run = tracker.init(project="fork", id="parent", quiet=True)
own = "import tracker; tracker.init(project='fork', id='own', quiet=True).log({'x': 1.0})"
subprocess.run([sys.executable, "-c", own], check=True)
"""
    )
    assert done.returncode == 0, done.stderr
    assert sorted(r.id for r in tracker.runs()) == ["own", "parent"]


def test_forked_children_of_a_logging_parent_never_hang(script: Script) -> None:
    done = script(
        """
import gc, os, threading, tracker
run = tracker.init(project="fork", id="busy", quiet=True, on_full="block")
stop = threading.Event()
def work(n):
    i = 0
    while not stop.is_set():
        run.log({f"x{n}": float(i)}, step=i)
        i += 1
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads: t.start()
for _ in range(100):
    pid = os.fork()
    if pid == 0:
        gc.collect()
        run.log({"x0": -1.0}, step=1)
        del run
        gc.collect()
        os._exit(0)
    os.waitpid(pid, 0)
stop.set()
for t in threads: t.join()
assert run.flush(timeout=30)
print(run.status().points_pending)
""",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0\n"
    r = tracker.open_run("fork/busy")
    assert r.state == "finished"
    for name in r.series():
        h = r.history(name, all=True)
        assert (h.values >= 0).all()
        assert (h.steps[1:] > h.steps[:-1]).all()
