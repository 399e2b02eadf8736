# SPDX-License-Identifier: MIT
"""Writes the fixtures of the present version: `python tests/compat/make.py [NAME]`, with build/python in PYTHONPATH.

tests/compat/v<major>.<minor>[-NAME]/ gets store.tar.gz (a store, and beside it the journals of the writers that were
killed) and expected.json (contents.py). Each kind of file is there: a database of frames alone, one with segments, one
with levels, a live database with its WAL whose writer was killed with records in its rings, a .frames file of a killed
writer, several ranks, several attempts. A folder that is there is never changed: what a released version wrote stays.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import textwrap
from pathlib import Path

import contents
import tracker

HERE = Path(__file__).resolve().parent

COMMON = """
import os, signal, struct, sys
import numpy as np
import ml_dtypes
import tracker

def bits(kind, value):
    return np.array([value], f"uint{8 * np.dtype(kind).itemsize}").view(kind)[0]

def log_each_type(run, steps):
    for i in steps:
        run.log({
            "f64": i * 0.1, "f32": np.float32(i * 0.1), "f16": np.float16(i * 0.1), "bf16": ml_dtypes.bfloat16(i * 0.1),
            "int": i * i - 7, "flag": i % 3 == 0,
        }, step=i)

def die():
    os.kill(os.getpid(), signal.SIGKILL)
"""

FRAMES = """
run = tracker.init(project="compat", id="frames", config={"lr": 0.1, "opt": {"name": "adam", "betas": [0.9, 0.99]}},
                   tags=["a", "b"], notes="notes", group="g", quiet=True)
log_each_type(run, range(20))
for kind, name, odd in (
    (np.float64, "odd64", [0x7ff8000000000001, 0xfff0000000000000, 0x7ff0000000000000, 1 << 63, 1, 0xfff4000000000abc]),
    (np.float32, "odd32", [0x7fc00001, 0xff800000, 0x80000000, 1, 0x7f800123]),
    (np.float16, "odd16", [0x7e01, 0xfc00, 0x8000, 1]),
    (ml_dtypes.bfloat16, "oddb16", [0x7fc1, 0xff80, 0x8000, 1]),
):
    for i, value in enumerate(odd):
        run.log({name: bits(kind, value)}, step=-i)
run.log({"int": 2**63 - 1}, step=2**63 - 1)
run.log({"int": -2**63}, step=-2**63 + 1)
run.log({"note": "a text"}, step=3)
run.log({"note": "\\u00fcber\\u2028\\nlines"}, step=3)
run.config["opt/name"] = "sgd"
run.summary["best"] = 0.5
run.summary["gone"] = 1
run.define_metric("f64", summary="min")
run.log({"bad": object()})
run.finish()
"""

SEGMENTS = """
run = tracker.init(project="compat", id="segments", quiet=True, on_full="block")
rng = np.random.default_rng(1)
for i in range(1500):
    run.log({"loss": 1 / (1 + i) + rng.normal() * 0.01, "epoch": i // 100}, step=i if i % 50 else i - 30)
    if i % 3 == 0:
        run.log({"grad": np.float32(rng.normal()), "scale": ml_dtypes.bfloat16(2.0 ** (i % 9))})
    if i % 100 == 0:
        run.flush()
        run.log({"note": f"epoch {i // 100}"}, step=i)
run.finish()
"""

LONG = """
run = tracker.init(project="compat", id="long", quiet=True, on_full="block")
for i in range(10_300):
    run.log({"count": i % 100}, step=2 * i)
run.finish()
"""

KILLED = """
run = tracker.init(project="compat", id="killed", config={"a": {"b": 1}}, quiet=True)
log_each_type(run, range(30))
run.flush()
run.config["late"] = [1, None, "x"]
log_each_type(run, range(30, 60))
run.log({"new": -0.0, "note": "the last words"}, step=60)
die()
"""

FRAMES_FILE = """
os.environ["TRACKER_STORE_FILES"] = "frames"
run = tracker.init(project="compat", id="frames-file", config={"x": 1}, quiet=True)
log_each_type(run, range(30))
run.flush()
log_each_type(run, range(30, 40))
run.flush()
log_each_type(run, range(40, 50))
die()
"""

RANK = """
rank = int(sys.argv[1])
run = tracker.init(project="compat", id="ranks", ranks="all", rank=rank, world_size=3, quiet=True)
for i in range(20):
    run.log({"loss": 1.0 + rank * 0.25 + i, "rank/" + str(rank): i}, step=i)
run.finish()
"""

ATTEMPT = """
number = int(sys.argv[1])
options = {1: {}, 2: {"resume": "must"}, 3: {"resume_from": "compat/attempts@12"}}[number]
run = tracker.init(project="compat", id=None if number == 3 else "attempts", config={"attempt": number}, quiet=True,
                   **options)
for i in range(5 * number, 5 * number + 12):
    run.log({"loss": number + i / 100, "own/" + str(number): i}, step=i)
    run.log({"loss": number + i / 100 + 0.5}, step=i)
run.log({"note": f"attempt {number}"}, step=13)
run.finish(1 if number == 2 else 0)
"""


def record(store: Path, shm: Path, source: str, *arguments: str, killed: bool = False) -> None:
    """One writer in a process of its own, with a folder for its journal."""
    shm.mkdir(exist_ok=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith("TRACKER_")}
    env |= {"TRACKER_DIR": str(store), "TRACKER_SHM_DIR": str(shm)}
    code = textwrap.dedent(COMMON) + source
    done = subprocess.run([sys.executable, "-c", code, *arguments], env=env, timeout=60, check=False)
    assert done.returncode == (-9 if killed else 0), done.returncode


def count(store: Path, run: str, table: str) -> int:
    found = 0
    for path in store.glob(f"runs/compat/{run}/*.db"):
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            found += database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    return found


def make_store(root: Path, shm: Path) -> None:
    store = root / "store"
    record(store, shm / "a", FRAMES)
    record(store, shm / "a", SEGMENTS)
    record(store, shm / "a", LONG)
    for rank in "012":
        record(store, shm / "a", RANK, rank)
    for attempt in "123":
        record(store, shm / "a", ATTEMPT, attempt)
    record(store, shm / "b", KILLED, killed=True)
    record(store, shm / "c", FRAMES_FILE, killed=True)
    for path in store.rglob("*-shm"):  # an index of the WAL, made anew by whoever opens it
        path.unlink()
    assert count(store, "frames", "segments") == 0
    assert count(store, "segments", "segments") > 0
    assert count(store, "long", "levels WHERE level IN (2,3)") > 0
    (root / "journals").mkdir()
    for journal in [*shm.glob("b/*/*"), *shm.glob("c/*/*")]:
        shutil.copytree(journal, root / "journals" / journal.name)
    assert len(list(root.glob("journals/*/ring-*"))) == 2


def unpack(archive: Path, to: Path) -> None:
    """The store in to/store and, where recovery looks with TRACKER_SHM_DIR=to/shm, the journals."""
    sys.path.append(str(HERE.parent / "support"))  # which pytest has in its path already
    from unpack import unpack_tar

    unpack_tar(archive, to)
    journals = to / "shm" / f"tracker-{os.geteuid()}"
    journals.parent.mkdir()
    (to / "journals").rename(journals)
    for folder in (to / "shm", journals, *journals.iterdir()):
        folder.chmod(0o700)


def main() -> None:
    version = "v" + ".".join(tracker.__version__.split(".")[:2])
    target = HERE / "-".join([version, *sys.argv[1:2]])
    if target.exists():
        sys.exit(f"{target} is there already; what a version wrote stays as it is")
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory(dir="/dev/shm") as shm:
        root = Path(name)
        make_store(root, Path(shm))
        packed = root / "store.tar.gz"
        with tarfile.open(packed, "w:gz") as archive:
            for part in ("store", "journals"):
                archive.add(root / part, part)
        shutil.rmtree(root / "store")  # while it is there the journals are its own, and not of the copy
        copy = root / "copy"
        copy.mkdir()
        unpack(packed, copy)
        os.environ["TRACKER_SHM_DIR"] = str(copy / "shm")
        expected = contents.by_library(copy / "store")
        target.mkdir()
        shutil.copy(packed, target)
        lines = ",\n".join(
            f"{json.dumps(run)}: {json.dumps(found, separators=(',', ':'))}" for run, found in sorted(expected.items())
        )
        (target / "expected.json").write_text("{\n" + lines + "\n}\n")
    print(f"{target}: {sum(path.stat().st_size for path in target.iterdir()):,} bytes")


if __name__ == "__main__":
    main()
