# SPDX-License-Identifier: MIT
"""Goal: our threads of Python import nothing, so that a worker forked meanwhile finds no lock of a module held.
Method: imports on other threads than the main one are noted, or held up while the program forks."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

Script = Callable[..., "subprocess.CompletedProcess[str]"]

FINDER = """
import io, os, signal, sys, threading, time
import numpy as np
import PIL.Image
import tracker
seen = []
held = threading.Event()
class Finder:
    def find_spec(self, name, path=None, target=None):
        if threading.current_thread() is not threading.main_thread():
            seen.append((threading.current_thread().name, name))
            if slow:
                held.set()
                time.sleep(1)
slow = len(sys.argv) > 1 and sys.argv[1] == "slow"
"""


# Made by hand, for Pillow would import what it needs to write them.
FILES = {
    "a png": bytes.fromhex("89504e470d0a1a0a 0000000d 49484452 00000008 00000008 0802000000 4b6d29dc") + bytes(64),
    "a gif": bytes.fromhex("474946383961 08000800 800000 000000000000 2c 0000000008000800 00 0207") + bytes(16) + b";",
    "a webp": bytes.fromhex("52494646 24000000 57454250 5650384c 17000000 2f 07c00100") + bytes(32),
    "a jpeg with exif": bytes.fromhex(
        "ffd8 ffe1 0022 457869660000 4d4d002a00000008 0001 0112 0003 00000001 00010000 00000000"
        "ffc0 000b 08 0008 0008 01 011100 ffda 0008 01 0100 00 3f 00"
    )
    + bytes(64),
}
VALUES = {
    **{name: f"tracker.Image({data!r})" for name, data in FILES.items()},
    "pixels": "tracker.Image(np.zeros((8, 8, 3), np.uint8))",
    "pixels as jpeg": 'tracker.Image(np.zeros((8, 8, 4), np.uint8), format="jpeg")',
    "an svg with a mask": 'tracker.Image(b"<svg/>", masks={"m": np.zeros((8, 8), np.uint8)})',
    "an image of Pillow": 'PIL.Image.new("P", (8, 8))',
    "frames as gif": "tracker.Video(np.zeros((3, 8, 8, 3), np.uint8))",
    "frames as webp": 'tracker.Video(np.zeros((3, 8, 8, 4), np.uint8), format="webp")',
    "samples": "tracker.Audio(np.zeros(100), sample_rate=100)",
    "a table": 'tracker.Table([[i, "x" * 8] for i in range(10_000)], columns=["a", "b"])',
    "a page": 'tracker.Html("<p>" * 50_000)',
    "a curve": "tracker.pr_curve([0, 1] * 20_000, np.linspace(0, 1, 40_000))",
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_no_thread_of_ours_imports_a_module(script: Script, value: str) -> None:
    done = script(
        FINDER
        + f"""
run = tracker.init(project="media", id="imports", quiet=True)
value = {value}
sys.meta_path.insert(0, Finder())
run.log({{"value": value}}, step=0)
assert run.flush(60)
status = run.status()
assert (status.media_stored, status.media_dropped) == (1, 0), status
run.finish()
print(seen)
"""
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"


# Bug: the first image made Pillow import its plugins on our thread; workers that were forked in that time, and opened
# images with Pillow, waited for the lock of a module that no thread in them held: a DataLoader gave no batch for ever.
def test_workers_forked_after_the_first_image_open_images(script: Script) -> None:
    done = script(
        FINDER
        + """
sys.meta_path.insert(0, Finder())
run = tracker.init(project="media", id="fork", quiet=True)
run.log({"first": tracker.Image(np.zeros((64, 64, 3), np.uint8))}, step=0)
held.wait(0.2)
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    PIL.Image.open(io.BytesIO(b"P6 4 4 255\\n" + b"x" * 48)).load()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0, "it hung"
run.finish()
""",
        "slow",
    )
    assert done.returncode == 0, done.stderr


def test_what_an_attached_child_logs_is_stored_while_its_parent_encodes(script: Script) -> None:
    done = script(
        FINDER
        + """
sys.meta_path.insert(0, Finder())
run = tracker.init(project="media", id="fork", quiet=True)
run.log({"first": tracker.Image(np.zeros((64, 64, 3), np.uint8))}, step=0)
held.wait(0.2)
pid = os.fork()
if pid == 0:
    signal.alarm(40)
    run.attach()
    run.log({"child": tracker.Image(np.zeros((8, 8), np.uint8))}, step=0)
    stored = run.flush(20)
    run.finish(1)
    os._exit(0 if stored else 3)
assert os.waitpid(pid, 0)[1] == 0, "it hung"
run.finish()
""",
        "slow",
    )
    assert done.returncode == 0, done.stderr


def test_the_thread_that_takes_the_console_imports_no_module(script: Script) -> None:
    done = script(
        FINDER
        + """
sys.meta_path.insert(0, Finder())
run = tracker.init(project="console", id="imports", quiet=True, console="fd")
os.write(1, b"a line\\n")
run.finish()
print(seen)
"""
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "a line\n[]\n"
