# SPDX-License-Identifier: MIT
"""make bench: builds, runs the benchmarks one after another, prints their tables, and keeps machine, date and every
sample.

    .venv/bin/python benchmarks/run.py                  all but those with packages of others
    .venv/bin/python benchmarks/run.py python_log       those named

What a benchmark measured goes to build/bench/<name>.json, and as a table to build/docs/figures.md. Nothing here is a
test: the gate is benchmarks/gate/hot_calls.py, which counts instructions, and runs at the end.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import figures

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
PROGRAMS: dict[str, list[str]] = {
    "hot_path": [str(BUILD / "benchmarks" / "bin" / "bench_hot_path")],
    "ring_to_sqlite": [str(BUILD / "benchmarks" / "bin" / "bench_ring_to_sqlite")],
    "tight_loop": [str(BUILD / "benchmarks" / "bin" / "bench_tight_loop")],
    "codec": [str(BUILD / "benchmarks" / "bin" / "bench_codec")],
    "store_files": [str(BUILD / "benchmarks" / "bin" / "bench_store_files")],
    "stored_bytes": [str(BUILD / "benchmarks" / "bin" / "bench_stored_bytes")],
    "python_log": [sys.executable, str(ROOT / "benchmarks" / "micro" / "python_log.py")],
    "durable_10k": [sys.executable, str(ROOT / "benchmarks" / "e2e" / "durable_10k.py")],
    "read_numpy": [sys.executable, str(ROOT / "benchmarks" / "e2e" / "read_numpy.py")],
    "redact": [str(BUILD / "benchmarks" / "bin" / "bench_redact")],
    "query_kernels": [str(BUILD / "benchmarks" / "bin" / "bench_query_kernels")],
    "ranged_read": [str(BUILD / "benchmarks" / "bin" / "bench_ranged_read")],
    "chart_far": [str(BUILD / "benchmarks" / "bin" / "bench_chart_far")],
    "chart_axes": [str(BUILD / "benchmarks" / "bin" / "bench_chart_axes")],
    "first_paint": [sys.executable, str(ROOT / "benchmarks" / "e2e" / "first_paint.py")],
    "many_runs": [sys.executable, str(ROOT / "benchmarks" / "e2e" / "many_runs.py")],
    "first_ls": [sys.executable, str(ROOT / "benchmarks" / "e2e" / "first_ls.py")],
    "slow_disk": [str(BUILD / "benchmarks" / "bin" / "bench_slow_disk")],
    "guest_memory": [str(BUILD / "benchmarks" / "bin" / "bench_guest_memory")],
    "rivals": [sys.executable, str(ROOT / "benchmarks" / "e2e" / "rivals.py")],
    "column_codecs": [sys.executable, str(ROOT / "benchmarks" / "e2e" / "column_codecs.py")],
    "artifact": [str(BUILD / "benchmarks" / "bin" / "bench_artifact")],
    "import_events": [str(BUILD / "benchmarks" / "bin" / "bench_import_events")],
    "all_on": [sys.executable, str(ROOT / "benchmarks" / "e2e" / "all_on.py")],
    "system_cost": [sys.executable, str(ROOT / "benchmarks" / "e2e" / "system_cost.py")],
    "upload": [sys.executable, str(ROOT / "benchmarks" / "e2e" / "upload.py")],
    "cost_account": [sys.executable, str(ROOT / "benchmarks" / "e2e" / "cost_account.py")],
    "startup": [sys.executable, str(ROOT / "benchmarks" / "e2e" / "startup.py")],
}

ON_REQUEST = {"rivals", "column_codecs"}  # take packages from the index


def first_line(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    return done.stdout.splitlines()[0] if done.stdout else "unknown"


def machine() -> dict[str, object]:
    cpu = "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1),  # other work disturbs what is measured in wall time
        "kernel": platform.release(),
        "compiler": first_line("c++", "--version"),
        "build_type": build_type(),
        "python": platform.python_version(),
        "commit": first_line("git", "rev-parse", "--short", "HEAD"),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def build_type() -> str:
    for line in (BUILD / "CMakeCache.txt").read_text().splitlines():
        if line.startswith("CMAKE_BUILD_TYPE:"):
            return line.split("=", 1)[1]
    return "unknown"


def measure(name: str, env: dict[str, str]) -> bool:
    before = machine()
    with tempfile.NamedTemporaryFile(suffix=".json") as samples:
        code = subprocess.run([*PROGRAMS[name], "--json", samples.name], env=env, cwd=ROOT, check=False).returncode
        if code != 0:
            print(f"{name}: returned {code}", file=sys.stderr)
            return False
        rows = json.loads(Path(samples.name).read_text())
    figures.MEASURED.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    text = f'{{"benchmark": "{name}", "machine": {json.dumps(before)}, "rows": [\n{lines}\n]}}\n'
    (figures.MEASURED / f"{name}.json").write_text(text)
    print(flush=True)
    return True


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        print(f"unknown: {' '.join(unknown)}; the benchmarks are {' '.join(PROGRAMS)}", file=sys.stderr)
        return 2
    if subprocess.run([sys.executable, str(ROOT / "tools" / "test.py"), "everything"], check=False).returncode != 0:
        return 1
    env = {**os.environ, "PYTHONPATH": str(BUILD / "python"), "BENCH_DIR": str(BUILD)}
    done = [measure(name, env) for name in names or (name for name in PROGRAMS if name not in ON_REQUEST)]
    figures.main([])
    if not names:
        done.append(
            subprocess.run([sys.executable, str(ROOT / "benchmarks" / "gate" / "hot_calls.py")], check=False).returncode
            == 0
        )
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
