# SPDX-License-Identifier: MIT
"""Writes the fixtures of the present version: `python tests/compat/make.py [NAME]`, with build/python in PYTHONPATH.

tests/compat/v<major>.<minor>[-NAME]/ gets store.tar.gz (a store, beside it the journals of the writers that were
killed, and a bundle), expected.json and told.json (contents.py). Each kind of file is there: a database of frames
alone, one with segments, one with levels, a live database with its WAL whose writer was killed with records in its
rings, one with a spill file, too, a .frames file of a killed writer, several ranks, several attempts, artifacts, media.
A folder that is there is never changed: what a released version wrote stays.
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
from typing import Any

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
    if i % 12 == 0:
        run.log({"lr": 0.5e-3 * (1 + np.cos(np.pi * i / 1500)), "smooth": i * i,
                 "acc": float("nan") if i % 84 == 0 else round(rng.random(), 4),
                 "percent": round(rng.random(), 4) * 100}, step=i)
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

EVERYTHING = """
os.chdir("/")  # no repository of git is part of it
data = os.path.join(os.environ["TRACKER_DIR"], "..", "data")
os.makedirs(data)
for name, text in (("a.txt", "rows"), ("b.bin", "more rows" * 50)):
    with open(os.path.join(data, name), "w") as file:
        file.write(text)
run = tracker.init(project="compat", id="everything", config={"lr": 0.1}, quiet=True, on_full="block")
run.define_metric("loss", summary=["min", "last"], goal="minimize")
run.define_metric("val/*", step_metric="tokens", summary="max")
for i in range(20):
    run.log({"loss": 1 / (1 + i), "val/acc": i / 20, "tokens": 100 * i}, step=i)
pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
box = {"box": [0, 0, 2, 2], "label": "cat", "score": 0.5}
run.log({"image": tracker.Image(pixels, caption="c", boxes={"b": [box]}, masks={"m": pixels[:, :, 0] % 2})}, step=1)
run.log({"image": [tracker.Image(pixels), tracker.Text("beside it")]}, step=2)
run.log({"sound": tracker.Audio(np.sin(np.arange(800) / 9), sample_rate=8000)}, step=2)
run.log({"table": tracker.Table(columns=["x", "y"], data=[[1, "a"], [2.5, None]])}, step=3)
run.log({"weights": tracker.Histogram([0.5, 1.5, float("nan")]), "page": tracker.Html("<b>x</b>")}, step=3)
run.alert("first", "of two", level="warn")
run.alert("second")
print("a line")
print("\\x1b[31mred\\x1b[0m and \\u00fcber")
for i in range(5):
    print(f"\\r{i} of 5", end="")
print()
print("to stderr", file=sys.stderr)
train = run.use_artifact(data, use_as="train")
train.wait(60)
for i in range(3):
    model = tracker.Artifact("model", "model", description=f"number {i}", metadata={"epoch": i, "of": [1, None]})
    with model.new_file("weights.bin", "wb") as file:
        file.write(bytes([i]) * 1000)
    model.add_reference("s3://bucket/optimizer.bin", "optimizer", checksum="md5:1", size=7)
    tags = ["good", "small"] if i == 1 else []
    run.log_artifact(model, aliases=["best"] if i < 2 else ["next"], tags=tags, ttl=10**9 if i == 0 else None)
    model.wait(60)
run.finish(timeout=60)
"""

HOLDER = """
import os, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
os._exit(0)  # it never closes it
"""

SPILLED = f"""
import glob, subprocess, time
run = tracker.init(project="compat", id="spilled", config={{"x": 1}}, quiet=True, on_full="block")
log_each_type(run, range(20))
assert run.flush(60)
(database,) = glob.glob(run.dir + "/*.db")
# Another program that holds the database: nothing is committed any more.
pipes = {{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}}
holder = subprocess.Popen([sys.executable, "-c", {HOLDER!r}, database], **pipes)
holder.stdout.readline()
spills = os.environ["TRACKER_SHM_DIR"] + "/*/*/spill"
step = 20
while not any(os.path.getsize(path) > 4000 for path in glob.glob(spills)):
    log_each_type(run, range(step, step + 5))
    run.log({{"note": f"to the spill file, {{step}}"}}, step=step)
    step += 5
    time.sleep(0.05)
log_each_type(run, range(step, step + 10))
die()
"""


def record(store: Path, shm: Path, source: str, *arguments: str, killed: bool = False) -> None:
    """One writer in a process of its own, with a folder for its journal."""
    shm.mkdir(exist_ok=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith("TRACKER_")}
    env |= {"TRACKER_DIR": str(store), "TRACKER_SHM_DIR": str(shm)}
    code = textwrap.dedent(COMMON) + source
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=env, timeout=60, stdout=subprocess.DEVNULL, check=False
    )
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
    record(store, shm / "a", EVERYTHING)
    (root / "bundles").mkdir()
    bundle = root / "bundles" / "everything.trkb"
    contents.command(store, "export", "compat/everything", "--bundle", str(bundle), "--artifacts")
    record(store, shm / "d", SPILLED, killed=True)
    for path in store.rglob("*-shm"):  # an index of the WAL, made anew by whoever opens it
        path.unlink()
    assert count(store, "frames", "segments") == 0
    assert count(store, "segments", "segments") > 0
    assert count(store, "long", "levels WHERE level IN (2,3)") > 0
    (root / "journals").mkdir()
    for journal in [*shm.glob("b/*/*"), *shm.glob("c/*/*"), *shm.glob("d/*/*")]:
        shutil.copytree(journal, root / "journals" / journal.name)
    assert len(list(root.glob("journals/*/ring-*"))) == 3
    assert [path.stat().st_size > 0 for path in root.glob("journals/*/spill")].count(True) == 1


def cbor_text(text: str) -> bytes:
    data = text.encode()
    size = len(data)
    head = bytes([0x60 + size]) if size < 24 else b"\x78" + bytes([size]) if size < 256 else b"\x79" + size.to_bytes(2)
    return head + data


def name_path(definitions: Path, store: Path) -> None:
    """The journal names the path `store`: else it belongs to the store at the path where it was made."""
    from bytes_in import crc32c

    data = definitions.read_bytes()
    end = 16 + int.from_bytes(data[8:12], "little")
    key = cbor_text("store_path")
    before, after = data[16:end].split(key, 1)
    size, head = (after[1], 2) if after[0] == 0x78 else (after[0] - 0x60, 1)
    body = before + key + cbor_text(str(store)) + after[head + size :]
    definitions.write_bytes(
        data[:8] + len(body).to_bytes(4, "little") + crc32c(body).to_bytes(4, "little") + body + data[end:]
    )


def unpack(archive: Path, to: Path) -> None:
    """The store in to/store and, where recovery looks with TRACKER_SHM_DIR=to/shm, its journals."""
    sys.path += [str(HERE.parent / "support"), str(HERE.parent / "second_reader")]
    from unpack import unpack_tar

    unpack_tar(archive, to)
    journals = to / "shm" / f"tracker-{os.geteuid()}"
    journals.parent.mkdir()
    (to / "journals").rename(journals)
    for folder in (to / "shm", journals, *journals.iterdir()):
        folder.chmod(0o700)
    for definitions in journals.glob("*/defs"):
        name_path(definitions, to / "store")


def write(path: Path, found: dict[str, Any]) -> None:
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(found[key], separators=(',', ':'))}" for key in sorted(found))
    path.write_text("{\n" + lines + "\n}\n")


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
            for part in ("store", "journals", "bundles"):
                archive.add(root / part, part)
        copy = root / "copy"
        copy.mkdir()
        unpack(packed, copy)
        os.environ["TRACKER_SHM_DIR"] = str(copy / "shm")
        expected = contents.by_library(copy / "store")
        told = contents.told_by_library(copy / "store")
        target.mkdir()
        shutil.copy(packed, target)
        write(target / "expected.json", expected)
        write(target / "told.json", told)
    print(f"{target}: {sum(path.stat().st_size for path in target.iterdir()):,} bytes")


if __name__ == "__main__":
    main()
