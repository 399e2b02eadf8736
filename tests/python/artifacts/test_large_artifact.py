# SPDX-License-Identifier: MIT
"""Goal: F28, as far as it lies on this machine. A file of 200 MB that is rewritten while a run takes it is never stored
torn; the same content again is not read again; a kill in the middle leaves nothing that counts; memory stays bounded.

Method: a writer goes over the file from its start to its end, now and then, with another byte each time. At any moment
the file is thus some of one byte and then the byte before it, and a copy that is anything else is torn.
TRACKER_TEST_BYTES sets how large it is: 20,000,000,000 in make soak, which takes twice that on the disk.
"""

from __future__ import annotations

import filecmp
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]

BLOCK = 1_000_000
SIZE = max(int(os.environ.get("TRACKER_TEST_BYTES", "50_000_000")) // BLOCK, 20) * BLOCK
ATTEMPTS = 8 if SIZE < 2_000_000_000 else 1  # each one that comes between two passes of the writer is a version more
KILLS = 5 if SIZE < 2_000_000_000 else 1  # each leaves what it had copied for a while
TIMEOUT = 300 + SIZE // 20_000_000  # s
LEFTOVER_AGE = 600  # s; kBlobLeftoverAge
MEMORY_MAX = 64 * 1024 * 1024  # beyond what the interpreter has with the module loaded

# argv: the file, a seed. Says the byte of each pass that is over; goes on until it is killed.
WRITER = f"""
import itertools, os, random, sys, time
file, chance = os.open(sys.argv[1], os.O_RDWR), random.Random(int(sys.argv[2]))
for byte in itertools.cycle(range(1, 256)):
    time.sleep(chance.uniform(0, 0.3))  # so that a copy is begun, and then written to
    for at in range(0, {SIZE}, {BLOCK}):
        os.pwrite(file, bytes([byte]) * {BLOCK}, at)
    print(byte, flush=True)
"""

# argv: the file, its writer, a seed. Reports each attempt under the writer, the one after it, and another
# artifact.
LOGGER = f"""
import json, subprocess, sys, tracker
path, writer, seed = sys.argv[1:]

def status(name, of="status"):
    with open("/proc/self/" + of) as file:
        return int(next(line for line in file if line.startswith(name)).split()[1])

before = status("VmRSS:")
run = tracker.init(project="p", id="r", quiet=True)
report = dict(under_writer=[])
with subprocess.Popen([sys.executable, writer, path, seed], stdout=subprocess.PIPE) as process:
    process.stdout.readline()
    for _ in range({ATTEMPTS}):
        art = tracker.Artifact("big", "dataset")
        art.add_file(path)
        try:
            run.log_artifact(art).wait()
            report["under_writer"].append(art.digest)
        except tracker.StoreError as error:
            report["under_writer"].append(str(error))
        run.log(dict(loss=1.0))
    process.kill()
report["version"] = run.log_artifact(path, "big", "dataset").wait().digest
read = status("rchar:", "io")
report["same"] = run.log_artifact(path, "other", "dataset").wait().digest
report["read_again"] = status("rchar:", "io") - read
report["memory"] = (status("VmHWM:") - before) * 1024
report["points"] = run.status().points_logged
run.finish()
print(json.dumps(report))
"""

KILLED = """
import sys, tracker
run = tracker.init(project="p", id=sys.argv[2], quiet=True)
art = run.log_artifact(sys.argv[1], "big", "dataset")
print("logged", flush=True)
art.wait()  # finish() gives it 10 s
run.finish()
"""


def drawn_seed() -> int:
    seed = int(os.environ.get("TRACKER_TEST_SEED") or random.randrange(2**32))
    print(f"TRACKER_TEST_SEED={seed}")
    return seed


def large_file(path: Path) -> Path:
    with path.open("wb") as file:
        for _ in range(SIZE // BLOCK):
            file.write(b"\0" * BLOCK)
    return path


def bytes_in_turn(path: Path) -> list[int]:
    """The bytes of the file, without those that are the same as the one in front."""
    turns: list[int] = []
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            at = 0
            while at < len(block):
                if not turns or block[at] != turns[-1]:
                    turns.append(block[at])
                at += len(block) - at - len(block[at:].lstrip(block[at : at + 1]))
    return turns


def is_of_one_moment(path: Path) -> bool:
    """Some of one byte and then the byte before it."""
    return len(bytes_in_turn(path)) <= 2


def blob(store: Path, art: Any) -> Path:
    """Where the large file of a version lies: get_path() would make a copy."""
    digest = next(entry.digest for entry in art.files() if entry.name == "big.bin")
    return store / "blobs" / "sha256" / digest[:2] / digest[2:]


def stored_bytes(store: Path) -> int:
    return sum(path.stat().st_size for path in (store / "blobs").rglob("*") if path.is_file())


def test_a_large_file_that_is_rewritten_meanwhile_is_never_stored_torn(
    script: Script, store: Path, tmp_path: Path
) -> None:
    path, writer = large_file(tmp_path / "big.bin"), tmp_path / "writer.py"
    writer.write_text(WRITER)
    seed = drawn_seed()
    done = script(LOGGER, str(path), str(writer), str(seed), timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    digests = {art.digest for art in tracker.artifacts("p")}
    assert len(report["under_writer"]) == ATTEMPTS
    assert any(said not in digests for said in report["under_writer"]), "no copy met the writer"
    for said in report["under_writer"]:
        assert said in digests or ("big.bin" in said and "chang" in said), said
    for art in tracker.artifacts("p"):
        art.verify(deep=True)
        assert is_of_one_moment(blob(store, art)), art
    # Of what no process writes to any more there is one version with the bytes of the file, stored once and read once.
    last = tracker.artifact("p/big:latest")
    assert report["version"] == last.digest
    assert filecmp.cmp(blob(store, last), path, shallow=False)
    assert report["same"] == report["version"]
    assert report["read_again"] < SIZE / 10
    assert stored_bytes(store) < SIZE * (len(digests) + 0.1)
    assert report["memory"] < MEMORY_MAX
    assert report["points"] == ATTEMPTS


def test_a_process_killed_in_the_middle_of_a_large_file_leaves_nothing_that_counts(
    script: Script, store: Path, tmp_path: Path
) -> None:
    chance = random.Random(drawn_seed())
    path, source = large_file(tmp_path / "big.bin"), tmp_path / "killed.py"
    source.write_text(KILLED)
    env = {**os.environ, "PYTHONPATH": str(Path(tracker.__file__).parent.parent)}
    for number in range(KILLS):
        command, before = [sys.executable, str(source), str(path), f"r{number}"], stored_bytes(store)
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "logged\n"
            begun = time.monotonic()
            while process.poll() is None and stored_bytes(store) <= before and time.monotonic() - begun < 30:
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 0.1))
            process.send_signal(signal.SIGKILL)
        for art in tracker.artifacts("p"):
            art.verify(deep=True)
    for left in (store / "blobs").rglob("*.tmp-*"):
        os.utime(left, (time.time() - LEFTOVER_AGE, time.time() - LEFTOVER_AGE))
    done = script(KILLED, str(path), "last", timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    (art,) = tracker.artifacts("p")
    art.verify(deep=True)
    assert tracker.open_run("p/last").outputs[0].digest == art.digest
    assert stored_bytes(store) < SIZE * 1.1, "what the killed ones had begun to copy is gone"
