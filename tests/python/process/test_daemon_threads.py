# SPDX-License-Identifier: MIT
"""Goal: a daemon thread that is inside any call when the interpreter ends changes neither the exit code nor the run's
state, and what the interpreter itself calls while it ends still works.
Method: scripts in processes of their own, whose daemon threads call one verb in a loop while the main thread returns;
each a few times, for where the thread is then is chance."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]

TIMES = 4

VERBS: dict[str, str] = {
    "flush": "run.flush()",
    "status": "run.status(series=True)",
    "config": "run.config['a'] = i",
    "a run's own summary": "dict(run.summary)",
    "open_run": "tracker.open_run('ends/ends').history('x').values",
    "history": "stored.history('x').smooth('tensorboard', weight=0.5)",
    "runs": "list(tracker.runs(limit=3))",
    "init and finish": "tracker.init(project='other', quiet=True, capture='none').finish()",
    "artifacts": "tracker.use_artifact(run.log_artifact('file', name='f', type='t').name + ':latest')",
    "export": "stored.history('x').__arrow_c_array__()",
}


# Bug: the thread was ended where it asked for the GIL, in a destructor, and the process aborted: the exit code was 134
# or 139, no exit handler ran, and the run was "crashed".
# Promise P4: A daemon thread inside any call when the interpreter ends changes neither exit code nor state.
@pytest.mark.parametrize("verb", VERBS)
def test_a_daemon_thread_inside_a_call_leaves_the_end_of_the_process_as_it_is(script: Script, verb: str) -> None:
    for time in range(TIMES):
        done = script(
            """
            import sys, threading, time
            import tracker
            with open("file", "w") as file:
                file.write("text")
            run = tracker.init(project="ends", id="ends" if sys.argv[2] == "0" else None, quiet=True)
            run.log({"x": 1.0}, step=0)
            assert run.flush(20)
            stored = tracker.open_run("ends/ends")
            seen = threading.Event()
            def work():
                i = 0
                while True:
                    i += 1
                    exec(code)
                    if i == 2:
                        seen.set()
            code = compile(sys.argv[1], "verb", "exec")
            for _ in range(2):
                threading.Thread(target=work, daemon=True).start()
            assert seen.wait(60)
            """,
            VERBS[verb],
            str(time),
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert [one.state for one in tracker.runs("ends")] == ["finished"] * TIMES


# Bug: the interpreter's own thread slept too, as if it were to be ended: the process never ended.
def test_an_object_that_goes_while_the_interpreter_ends_may_still_log_and_read(script: Script) -> None:
    done = script(
        """
        import tracker
        class Last:
            def __init__(self, run, reader):
                self.run, self.reader = run, reader
            def __del__(self):
                self.run.summary["last"] = 1
                self.run.log({"t": "a" * 20000})
                assert self.run.flush(20)
                assert self.reader.config == {"lr": 0.5}
                print("gone", flush=True)
        run = tracker.init(project="ends", id="ends", quiet=True, config={"lr": 0.5})
        run.log({"x": 1.0})
        assert run.flush(20)
        last = Last(run, tracker.open_run("ends/ends"))
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "gone\n", "")
    assert tracker.open_run("ends/ends").summary["last"] == 1
