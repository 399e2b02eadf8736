# SPDX-License-Identifier: MIT
"""Goal: a verb of the module takes the run of its context: of its thread, its asyncio task, its notebook.
Method: programs as people write them, in thread pools, event loops, cells and forked children; the store is read back.
The verb that takes a run of another context is tested in a process of its own, because the line on stderr comes once a
process."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import subprocess
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]


def init(project: str = "p", **options: Any) -> tracker.Run:
    return tracker.init(project=project, quiet=True, **options)


def values(run: tracker.Run, name: str = "x") -> list[float]:
    """The rows of a metric, of a run that has ended."""
    stored = tracker.open_run(run.uid)
    return list(stored.history(name, all=True).values) if name in stored.series() else []


@contextmanager
def workers(count: int) -> Iterator[ThreadPoolExecutor]:
    """A pool whose threads have all started."""
    gate = threading.Barrier(count)
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(lambda _: gate.wait(60), range(count)))
        yield pool


def in_thread(body: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(body).result(60)


# optuna#4088, mlflow#15131: rows landed in the run of another trial.
def test_trials_in_threads_log_to_their_own_runs() -> None:
    study = init("study")
    gate = threading.Barrier(4)

    def trial(number: int) -> tracker.Run:
        run = init("hpo", config={"number": number})
        gate.wait(60)
        assert tracker.run is run
        for step in range(50):
            tracker.log({"x": number}, step=step)
        tracker.config["lr"] = number / 10
        tracker.summary["best"] = number
        tracker.define_metric("x", goal="minimize")
        assert tracker.flush() is True
        gate.wait(60)
        tracker.finish(number)
        return run

    with ThreadPoolExecutor(4) as pool:
        trials = list(pool.map(trial, range(4)))
    assert tracker.run is study
    for number, run in enumerate(trials):
        stored = tracker.open_run(run.uid)
        assert values(run) == [number] * 50
        assert (stored.config, stored.summary["best"]) == ({"number": number, "lr": number / 10}, number)
        assert stored.state == ("failed" if number else "finished")


def test_artifacts_of_trials_in_threads_are_of_their_own_runs(data: Path) -> None:
    gate = threading.Barrier(2)

    def trial(number: int) -> tracker.Run:
        run = init("hpo")
        gate.wait(60)
        tracker.log_artifact(data, name=f"data-{number}", type="dataset").wait()
        tracker.use_artifact(f"data-{number}:latest")
        gate.wait(60)
        tracker.finish()
        return run

    with ThreadPoolExecutor(2) as pool:
        trials = list(pool.map(trial, range(2)))
    for number, run in enumerate(trials):
        stored = tracker.open_run(run.uid)
        assert [use.name for use in stored.outputs] == [f"hpo/data-{number}:v0"]
        assert [use.name for use in stored.inputs] == [f"hpo/data-{number}:v0"]


def test_media_and_alerts_of_trials_in_threads_are_of_their_own_runs() -> None:
    study = init("study")
    gate = threading.Barrier(4)

    def trial(number: int) -> tracker.Run:
        run = init("hpo")
        gate.wait(60)
        tracker.log({"text": tracker.Text(f"text {number}"), "picture": tracker.Image([[number / 4]])}, step=number)
        assert tracker.run is run
        tracker.run.alert(f"alert {number}")
        gate.wait(60)
        tracker.finish()
        return run

    with ThreadPoolExecutor(4) as pool:
        trials = list(pool.map(trial, range(4)))
    study.finish()
    for number, run in enumerate(trials):
        stored = tracker.open_run(run.uid)
        for name in ("text", "picture"):
            assert [entry.step for entry in stored.media(name)] == [number]
        assert [alert.title for alert in stored.alerts] == [f"alert {number}"]
    assert not tracker.open_run(study.uid).alerts


@pytest.mark.parametrize("first", ["pool", "run"])
def test_workers_of_a_pool_log_to_the_run_of_the_main_thread(first: str) -> None:
    def work(number: int) -> None:
        tracker.log({"x": number}, step=number)

    if first == "pool":
        with workers(4) as pool:
            run = init()
            list(pool.map(work, range(20)))
    else:
        run = init()
        with workers(4) as pool:
            list(pool.map(work, range(20)))
    assert tracker.run is run
    tracker.finish()
    assert sorted(values(run)) == list(range(20))


def test_a_worker_without_a_run_takes_the_main_threads_and_not_the_newest() -> None:
    main = init("main")
    with workers(1) as pool:
        trial = pool.submit(init, "trial").result(60)
        assert pool.submit(lambda: tracker.run).result(60) is trial
        assert in_thread(lambda: tracker.run) is main
        main.finish()
        assert in_thread(lambda: tracker.run) is trial, "the newest of the process"
        assert tracker.run is trial
        pool.submit(tracker.finish).result(60)
        assert pool.submit(lambda: tracker.run).result(60) is None


def test_a_later_run_of_the_main_thread_is_current_in_threads_too() -> None:
    first, second = init(), init()
    assert in_thread(lambda: tracker.run) is second
    second.finish()
    assert in_thread(lambda: tracker.run) is first
    third = init()
    assert in_thread(lambda: tracker.run) is third


def test_functions_that_a_loop_runs_in_an_executor() -> None:
    """run_in_executor() copies no context: without its own run a function takes the main thread's. to_thread() does."""

    def step_of_training() -> tracker.Run | None:
        tracker.log({"x": 1.0})
        return tracker.run

    def whole_trial() -> tracker.Run:
        with init("trial") as run:
            assert step_of_training() is run
        return run

    async def task(pool: ThreadPoolExecutor, gate: asyncio.Barrier) -> None:
        run = init("task")
        await gate.wait()
        loop = asyncio.get_running_loop()
        assert await asyncio.to_thread(step_of_training) is run
        assert await loop.run_in_executor(pool, step_of_training) is study
        trial = await loop.run_in_executor(pool, whole_trial)
        assert tracker.run is run
        await gate.wait()
        tracker.finish()
        assert (len(values(trial)), len(values(run))) == (1, 1)

    async def main() -> None:
        gate = asyncio.Barrier(2)
        with ThreadPoolExecutor(2) as pool:
            await asyncio.gather(task(pool, gate), task(pool, gate))

    study = init("study")
    asyncio.run(main())
    assert tracker.run is study
    tracker.finish()
    assert len(values(study)) == 2


@pytest.mark.parametrize("with_study", [True, False])
def test_tasks_of_asyncio_log_to_their_own_runs(with_study: bool) -> None:
    async def trial(number: int) -> tracker.Run:
        run = init("task")
        for step in range(20):
            await asyncio.sleep(0)
            tracker.log({"x": number}, step=step)
        tracker.finish()
        assert tracker.run is not run
        return run

    async def main() -> None:
        study = init("study") if with_study else None
        trials = await asyncio.gather(trial(0), trial(1), trial(2))
        assert tracker.run is study
        tracker.finish()
        for number, run in enumerate(trials):
            assert values(run) == [number] * 20

    asyncio.run(main())
    assert tracker.run is None


def test_a_copied_context_has_its_own_run_and_leaves_that_of_the_main_thread() -> None:
    study = init("study")
    copy = contextvars.copy_context()
    trial = copy.run(init, "trial")
    assert (tracker.run, copy.run(lambda: tracker.run)) == (study, trial)
    assert in_thread(lambda: tracker.run) is study
    second = init("second")
    assert (tracker.run, copy.run(lambda: tracker.run)) == (second, trial)
    assert in_thread(lambda: tracker.run) is second
    copy.run(tracker.finish)
    assert tracker.open_run(trial.uid).state == "finished"
    assert copy.run(lambda: tracker.run) is study, "which was current where the context was copied"
    second.finish()
    study.finish()
    assert copy.run(lambda: tracker.run) is None


def test_the_end_of_one_contexts_run_leaves_the_others_current() -> None:
    main = init("main")
    with workers(2) as pool:
        gate = threading.Barrier(2)

        def trial(number: int) -> tuple[tracker.Run, tracker.Run | None]:
            run = init("trial")
            gate.wait(60)
            if number == 0:
                tracker.finish()
            gate.wait(60)
            return run, tracker.run

        ended, lives = pool.map(trial, range(2))
    assert ended[1] is main, "an ended run no longer counts"
    assert lives[1] is lives[0]
    assert tracker.run is main


def test_a_block_restores_what_was_current_before_it() -> None:
    study = init("study")
    for _ in range(2):
        with init("trial") as trial:
            assert tracker.run is trial
            with init("inner") as inner:
                assert tracker.run is inner
            assert tracker.run is trial
            left = init("left")  # and not finished in the block
            assert tracker.run is left
        assert tracker.run is study
        assert in_thread(lambda: tracker.run) is study
        left.finish()
    with pytest.raises(ValueError, match="diverged"), init("trial"):
        raise ValueError("diverged")
    assert tracker.run is study
    study.finish()
    with init("trial"):
        pass
    assert tracker.run is None


def test_a_block_of_a_run_that_was_opened_before_makes_it_current() -> None:
    first, second = init("first"), init("second")
    with first as run:
        assert tracker.run is run
        assert in_thread(lambda: tracker.run) is first
    assert tracker.run is second
    with first:  # it has ended
        assert tracker.run is second
    assert tracker.run is second


def test_a_block_that_ends_in_another_context_leaves_that_one_as_it_is() -> None:
    main = init("main")

    def open_and_close() -> None:
        own = init("own")
        main.__exit__(None, None, None)
        assert tracker.run is own
        own.finish()

    in_thread(open_and_close)
    assert main._core.finished
    assert tracker.run is None


def test_no_context_keeps_an_ended_run_in_memory() -> None:
    with workers(1) as pool:
        ended = weakref.ref(pool.submit(init).result(60))
        ended().finish()  # type: ignore[union-attr]
        gc.collect()
        assert ended() is None
        assert pool.submit(lambda: tracker.run).result(60) is None


SEVERAL = """
import sys, threading, tracker
def in_thread(body):
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
run = tracker.init(project="p", id="a", quiet=True)
"""


def test_one_line_says_that_a_verb_took_a_run_of_another_context(script: Script) -> None:
    source = SEVERAL + "for i in range(3): in_thread(lambda: tracker.log({'x': 1.0}))\n"
    assert script(source).stderr == "", "one run: no doubt whose"
    source += "other = tracker.init(project='p', id='b', quiet=True)\ntracker.log({'x': 2.0})\nother.flush()\n"
    assert script(source.replace("'b'", "'c'").replace('"a"', '"d"')).stderr == "", "each verb had a run of its own"
    source += "for i in range(3): in_thread(lambda: tracker.log({'x': 3.0}))\nin_thread(lambda: tracker.config)\n"
    done = script(source.replace("'b'", "'e'").replace('"a"', '"f"'))
    assert done.stderr == (
        "tracker: tracker.log was called in a thread or task without a run of its own, and 2 runs are live:"
        " it takes p/e; call init() there or use that run's methods (said once)\n"
    )
    assert list(tracker.open_run("p/e").history("x").values) == [2.0, 3.0, 3.0, 3.0]


def test_from_the_tenth_live_run_on_one_line_says_that_finish_is_missing(script: Script) -> None:
    source = """
import sys, tracker
def begin(number): return tracker.init(project="p", id=f"r{number}", quiet=True, capture="none")
for number in range(12): begin(number).finish()
runs = [begin(number) for number in range(12, 21)]
print("nine", file=sys.stderr, flush=True)
runs += [begin(number) for number in range(21, 24)]
"""
    lines = script(source).stderr.splitlines()
    assert lines[0] == "nine"
    assert lines[1].startswith("tracker: 10 runs of this process are live, the newest is p/r21: finish() is missing")
    assert len(lines) == 2, "once"


@pytest.mark.parametrize("stderr", ["None", "open('closed', 'w')"])
def test_a_stderr_that_is_gone_does_not_stop_the_verb(script: Script, stderr: str) -> None:
    source = SEVERAL + "tracker.init(project='p', quiet=True, console='off')\n"
    source += f"sys.stderr = {stderr}\nif sys.stderr: sys.stderr.close()\nlogged = []\n"
    source += "in_thread(lambda: logged.append(tracker.log({'x': 1.0})))\nprint(logged)\n"
    assert script(source).stdout == "[None]\n"


def test_in_a_forked_child_the_inherited_runs_are_inert_and_its_own_come_first(script: Script) -> None:
    done = script(
        """
        import os, sys, threading, tracker
        study = tracker.init(project="fork", id="study", quiet=True, console="off")
        def fork(child):
            pid = os.fork()
            if pid == 0:
                try:
                    child()
                    os._exit(0)
                finally:
                    os._exit(1)
            assert os.waitpid(pid, 0)[1] == 0
        def inert():
            assert tracker.run is study
            tracker.log({"x": 1.0})
            tracker.finish()
        def own():
            with tracker.init(project="fork", id="own", quiet=True) as run:
                assert tracker.run is run
                tracker.log({"x": 1.0})
            assert tracker.run is study
            def in_thread():
                run = tracker.init(project="fork", id="thread", quiet=True)
                tracker.log({"x": 2.0})
            thread = threading.Thread(target=in_thread)
            thread.start()
            thread.join()
            tracker.log({"x": 3.0})  # the only run of this process
            tracker.finish()
            assert tracker.run is study
            fork(lambda: tracker.log({"x": 4.0}))
        fork(inert)
        fork(own)
        def worker():
            mine = tracker.init(project="fork", id="mine", quiet=True)
            newest = threading.Thread(target=tracker.init, args=("fork", "newest"), kwargs={"quiet": True})
            newest.start()
            newest.join()
            def attached():
                assert tracker.run.attach() is mine and tracker.run is mine
                tracker.log({"child": 1.0})
                tracker.finish()
            fork(attached)
            tracker.finish()
        thread = threading.Thread(target=worker)
        thread.start()
        thread.join()
        tracker.log({"x": 0.0})
        """
    )
    assert done.returncode == 0, done.stderr
    rows = {name: list(tracker.open_run(f"fork/{name}").history("x").values) for name in ("study", "own", "thread")}
    assert rows == {"study": [0.0], "own": [1.0], "thread": [2.0, 3.0]}
    assert list(tracker.open_run("fork/mine").history("child").values) == [1.0]


# What kernels of notebooks do: each cell in a context, or an asyncio task, of its own; sets are not seen by the next.
def in_cell(body: Callable[[], Any]) -> Any:
    async def cell() -> Any:
        return body()

    return asyncio.run(cell())


@pytest.mark.parametrize("cell", [in_cell, lambda body: contextvars.Context().run(body)])
def test_cells_share_the_run_that_a_cell_has_opened(cell: Callable[[Callable[[], Any]], Any]) -> None:
    first = cell(lambda: init("cells", id="first"))
    cell(lambda: tracker.log({"x": 1.0}, step=0))
    with workers(1) as pool:
        trial = pool.submit(init, "background").result(60)
        assert cell(lambda: tracker.run) is first
        second = cell(lambda: init("cells", id="second"))
        cell(lambda: tracker.log({"x": 2.0}, step=0))
        third = cell(lambda: (init("cells", id="third"), init("cells", id="fourth"))[1])
        assert cell(lambda: tracker.run) is third
        trial.finish()
    cell(tracker.finish)
    assert third._core.finished
    assert cell(lambda: tracker.run) is not None
    second.finish()
    first.finish()
    assert (values(first), values(second)) == ([1.0], [2.0])


def test_cells_of_a_kernel_share_the_run_that_a_cell_has_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbclient
    import nbformat

    monkeypatch.setenv("PYTHONPATH", str(Path(tracker.__file__).parent.parent))
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    cells = [
        "import asyncio, threading, tracker\nrun = tracker.init(project='nb', id='one')",
        "tracker.log({'x': 1.0}, step=0)",
        "thread = threading.Thread(target=tracker.log, args=({'x': 2.0}, 1))\nthread.start(); thread.join()",
        "await asyncio.sleep(0)\ntracker.log({'x': 3.0}, step=2)",
        "assert tracker.run is run\ntracker.finish()",
        "assert tracker.run is None",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=300, startup_timeout=300, kernel_name="python3").execute()
    stored = tracker.open_run("nb/one")
    assert (stored.state, list(stored.history("x").values)) == ("finished", [1.0, 2.0, 3.0])


# A test whether a thread is the main one must not depend on `threading`, which tracker does not import.
def test_a_program_that_imports_threading_after_init(script: Script) -> None:
    done = script(
        """
        import sys, tracker
        assert "threading" not in sys.modules
        run = tracker.init(project="p", quiet=True, capture="none", console="off")
        import threading
        seen = []
        for body in (lambda: tracker.init(quiet=True), lambda: seen.append(tracker.run is run)):
            thread = threading.Thread(target=body)
            thread.start()
            thread.join()
        print(seen, tracker.run is run)
        """
    )
    assert done.stdout == "[True] True\n", done.stderr
