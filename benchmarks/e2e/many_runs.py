# SPDX-License-Identifier: MIT
"""Question: what does a listing of 10,000 and of 100,000 runs cost, the first time and when little has changed?

Workload: TEMPLATES runs recorded by the library itself (10 config values, 8 metrics, 20 points each), copied into as
many folders with identities of their own. Then the native program: cold (no catalog), warm, with a filter and an
order that look into every run's config and metrics, and with one run more. Mode: whole processes, files in the page
cache. Each listing ends with a check of what it shows. BENCH_RUNS="10000" measures fewer.

    .venv/bin/python benchmarks/e2e/many_runs.py --make FOLDER COUNT     only makes a store
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sqlite3
import subprocess
import sys
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import harness
from harness import Row

TEMPLATES = 64
CATALOG = "catalog.db"
WARM_TURNS = 7
PROGRAM = Path(__file__).resolve().parents[2] / "build" / "bin" / "tracker"
LISTINGS = {
    "ls": [],
    "ls --where state": ["--where", "state = failed and created > 2023-11-01"],
    "ls --where config, --sort metric": ["--where", "config.lr < 0.03", "--sort=-metrics.val/acc.max"],
}
Template = tuple[str, str, list[tuple[str, bytes]]]  # id, uid, the databases by name


def record_templates(store: str) -> list[Template]:
    import tracker

    for i in range(TEMPLATES):
        config = {f"option_{k}": k * i for k in range(8)} | {"lr": 0.001 * (i + 1), "optim": ["adam", "sgd"][i % 2]}
        run = tracker.init(project="bench", id=f"tmpl-{i:07d}", config=config, tags=["bench"], dir=store, quiet=True)
        for step in range(20):
            row = {f"m{k}": i + k / (step + 1) for k in range(6)}
            run.log(row | {"loss": 1 / (step + 1 + i), "val/acc": (step * (i % 16) + i) / 1000}, step=step)
        run.finish(exit_code=i % 4)
    out: list[Template] = []
    for folder in sorted(Path(store, "runs", "bench").iterdir()):
        identity = json.loads((folder / "run.json").read_text())
        out.append((identity["id"], identity["uid"], [(db.name, without_checksum(db)) for db in folder.glob("*.db")]))
    return out


def without_checksum(database: Path) -> bytes:
    """Its bytes, without the checksum of the small tables, which have another id in each copy."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("DELETE FROM meta WHERE key='checksum'")
        connection.commit()
    return database.read_bytes()


def copy_run(folder: Path, template: Template, number: int) -> None:
    """A copy with another id and uid, both as long as the template's, so that the database needs no other change."""
    old_id, old_uid, databases = template
    label, uid = f"run--{number:07d}", uuid.uuid4().hex
    run = folder / label
    run.mkdir()
    document = {"format": "tracker-run", "version": 1, "uid": uid, "project": "bench", "id": label}
    (run / "run.json").write_text(json.dumps(document | {"created_us": 1_700_000_000_000_000 + number * 60_000_000}))
    for name, data in databases:
        changed = data.replace(old_id.encode(), label.encode()).replace(old_uid.encode(), uid.encode())
        (run / name).write_bytes(changed)


def make_store(path: str, count: int) -> None:
    templates = record_templates(path + ".templates")
    folder = Path(path, "runs", "bench")
    folder.mkdir(parents=True)
    for name in ("store.json", ".gitignore"):
        Path(path, name).write_text(Path(path + ".templates", name).read_text())
    for number in range(count):
        copy_run(folder, templates[number % TEMPLATES], number)


def listing(store: str, arguments: list[str]) -> tuple[float, float, dict[str, object]]:
    """Seconds on the clock, seconds of CPU, and the JSON document."""
    start, cpu = time.perf_counter(), cpu_of_children()
    done = subprocess.run(
        [str(PROGRAM), "ls", "--json", "--dir", store, *arguments], check=True, capture_output=True, text=True
    )
    return time.perf_counter() - start, cpu_of_children() - cpu, json.loads(done.stdout)


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def memory_mib(store: str) -> float:
    """The largest resident memory of a listing. A process counts what its parent had before exec: hence a small one
    in between, and no result below about 10 MiB."""
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
    code += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    command = [sys.executable, "-S", "-c", code, str(PROGRAM), "ls", "--json", "--dir", store]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024


def measure(store: str, count: int) -> list[Row]:
    make_store(store, count)
    time.sleep(3)  # folders younger than two seconds are not believed
    what = f"{count:,} runs"
    took, cpu, document = listing(store, [])
    harness.require(document["matched"] == count, f"{count} runs are listed: {document['matched']}")
    size = Path(store, CATALOG).stat().st_size / 1e6
    rows = [Row(f"{what}: ls without a catalog", "s", [took]), Row(f"{what}: CPU of that", "s", [cpu])]
    Path(store, CATALOG).unlink()
    rows.append(Row(f"{what}: memory of that", "MiB", [memory_mib(store)]))
    rows += [Row(f"{what}: catalog.db", "MB", [size]), Row(f"{what}: memory of ls", "MiB", [memory_mib(store)])]
    target = 300 if count <= 10_000 else 1000
    for name, arguments in LISTINGS.items():
        samples = []
        for _ in range(WARM_TURNS):
            took, cpu, document = listing(store, arguments)
            samples.append((took * 1000, cpu * 1000))
        harness.require(0 < int(str(document["matched"])) <= count, f"{name} finds runs")
        walls, cpus = zip(*samples, strict=True)
        rows += [Row(f"{what}: {name}", "ms", walls, target), Row(f"{what}: CPU of {name}", "ms", cpus)]
    import tracker

    tracker.init(project="bench", id="one-more", dir=store, quiet=True).finish()
    took, _cpu, document = listing(store, ["--where", "one-more"])
    harness.require(document["matched"] == 1, "the new run is listed")
    return [*rows, Row(f"{what}: ls --where word, one run more", "ms", [took * 1000], target)]


def main() -> None:
    if "--make" in sys.argv:
        at = sys.argv.index("--make")
        make_store(sys.argv[at + 1], int(sys.argv[at + 2]))
        return
    rows: list[Row] = []
    for count in map(int, os.environ.get("BENCH_RUNS", "10000 100000").split()):
        with harness.temporary_store() as folder:
            rows += measure(folder + "/store", count)
    harness.report("many_runs", rows)


if __name__ == "__main__":
    main()
