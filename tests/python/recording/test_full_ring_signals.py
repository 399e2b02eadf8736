# SPDX-License-Identifier: MIT
"""Goal: Ctrl-C ends a call that waits for room in its ring, and costs nothing but what that call wanted to log. Method:
a store that cannot be made and on_full="block", until a call waits; then signals; then the way is made free."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

Script = Callable[..., "subprocess.CompletedProcess[str]"]

PROGRAM = """
import os, random, signal, sys, threading, time, tracker
store = os.environ["TRACKER_DIR"]
open(store, "w").close()
run = tracker.init(project="p", id="r", on_full="block", system_interval=0, quiet=True)
names = [f"m{i}" for i in range(500)]
begun, sent, seen = 0, [], []
def log_without_end(way):
    global begun
    while True:
        row = {name: random.random() for name in names}
        begun += 1
        if way == "log":
            run.log(row, step=begun)
        else:
            run.log({**row, "text": "t" * 1000}, step=begun)
def signal_when_it_waits(count):
    for _ in range(count):
        before = -1
        while before != begun:  # no call has come back for half a second, and this thread lives
            before = begun
            time.sleep(0.5)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
def account():
    status = run.status()
    return status.points_logged == status.points_stored + status.points_dropped + status.points_pending
"""

INTERRUPTED = """
way = sys.argv[1]
threading.Thread(target=signal_when_it_waits, args=(1,), daemon=True).start()
try:
    log_without_end(way)
except KeyboardInterrupt:
    late = time.monotonic() - sent[0]
status = run.status()
print(late < 1, status.points_dropped == 500, account())
os.unlink(store)
assert run.flush(timeout=60)
status = run.status()
print(status.points_stored == (begun - 1) * 500, status.points_dropped == 500, status.points_pending)
lost = status.texts_logged - status.texts_stored - status.texts_dropped
print(status.texts_logged == (begun if way == "texts" else 0), status.texts_pending, lost)
run.finish()
"""


# Promise P4: Ctrl-C ends a call that waits with `on_full="block"`, and only its own points are dropped.
@pytest.mark.parametrize("way", ["log", "texts"])
def test_ctrl_c_ends_a_call_that_waits_and_only_that_call_is_dropped(script: Script, way: str) -> None:
    done = script(PROGRAM + INTERRUPTED, way, timeout=240)
    assert done.stdout == "True True True\nTrue True 0\nTrue 0 0\n", done.stdout + done.stderr


GOES_ON = """
def handler(number, frame):
    seen.append(time.monotonic())
    if len(seen) == 1:
        run.status()
    else:
        run.log({"from/the/handler": 1}, step=0)  # waits too, until the way is free
def free():
    time.sleep(1)
    os.unlink(store)
signal.signal(signal.SIGINT, handler)
def stop_later():
    signal_when_it_waits(2)
    free()
threading.Thread(target=stop_later, daemon=True).start()
first = begun
deadline = time.monotonic() + 200
while not (len(seen) == 2 and os.path.isdir(store)):
    row = {name: random.random() for name in names}
    begun += 1
    run.log(row, step=begun)
    assert time.monotonic() < deadline
print(all(at - when < 1 for at, when in zip(seen, sent)))
assert run.flush(timeout=60)
status = run.status()
print(status.points_dropped, status.points_stored == begun * 500 + 1)
run.finish()
"""


def test_a_handler_that_raises_nothing_runs_while_the_call_waits_and_may_log(script: Script) -> None:
    done = script(PROGRAM + GOES_ON, timeout=240)
    assert done.stdout == "True\n0 True\n", done.stdout + done.stderr


WAITS_10_MS = """
run.finish()
run = tracker.init(project="p", id="w", on_full="wait", system_interval=0, quiet=True)
threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    log_without_end("log")
except KeyboardInterrupt:
    pass
print(account(), run.status().points_logged in (begun * 500, (begun - 1) * 500))
os.unlink(store)
run.finish()
"""


def test_with_on_full_wait_ctrl_c_comes_within_a_call(script: Script) -> None:
    done = script(PROGRAM + WAITS_10_MS, timeout=240)
    assert done.stdout == "True True\n", done.stdout + done.stderr


CONFIG = """
threading.Thread(target=signal_when_it_waits, args=(2,), daemon=True).start()
try:
    log_without_end("log")
except KeyboardInterrupt:
    pass
try:
    while True:
        begun += 1
        run.config[f"key{begun}"] = "x" * 1000
except KeyboardInterrupt:
    print(time.monotonic() - sent[1] < 1)
os.unlink(store)
assert run.flush(timeout=60)
print(account())
run.finish()
"""


def test_ctrl_c_ends_a_config_value_that_waits(script: Script) -> None:
    done = script(PROGRAM + CONFIG, timeout=240)
    assert done.stdout == "True\nTrue\n", done.stdout + done.stderr
