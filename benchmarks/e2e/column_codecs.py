# SPDX-License-Identifier: MIT
"""Question: how many bytes does a value of a metric take in our columns and in those of other codecs, side by side?

Workload: the columns of 102,400 values of bench_codec, which writes them as files too; benchmarks/rivals/columns.py
reads these and has each other codec encode, decode and compare them. Prints a table for benchmarks/README.md. The
packages lie in .venv-rivals, made here from benchmarks/rivals/requirements.lock. Informational.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import harness
from harness import Row
from rivals.environment import RIVALS, make_environment

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "benchmarks" / "bin" / "bench_codec"
CODECS = ("zstd_shuffle", "gorilla", "alp", "pcodec")


def ours(folder: str) -> dict[str, float]:
    """The medians by the name of the row, such as "times: bytes"; the columns come to lie in the folder."""
    with tempfile.NamedTemporaryFile(suffix=".json") as samples:
        environment = {**os.environ, "TRACKER_BENCH_COLUMNS": folder}
        command = [str(PROGRAM), "--json", samples.name]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        return {row["name"]: statistics.median(row["samples"]) for row in json.loads(Path(samples.name).read_text())}


def main() -> None:
    python = make_environment()
    with harness.temporary_store() as folder:
        mine = ours(folder)
        command = [python, str(RIVALS / "columns.py"), folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        harness.require(done.returncode == 0, f"the other codecs give back what they were given: {done.stderr}")
        others = json.loads(done.stdout)
    rows = []
    names = ("column", "zstd-shuffle", "Gorilla", "ALP", "Pcodec", "tracker")
    print(f"| {' | '.join(names)} | M values/s decoded: zstd-shuffle, Pcodec, tracker |")
    print("|---|---|---|---|---|---|---|")
    for column, by_codec in others.items():
        by_codec["tracker"] = {name: mine[f"{column}: {name}"] for name in ("bytes", "decode")}
        for codec, numbers in by_codec.items():
            rows += [Row(f"{column}, {codec}: bytes", "B", [numbers["bytes"]])] if numbers else []
            rows += [Row(f"{column}, {codec}: decode", "M/s", [numbers["decode"]])] if "decode" in numbers else []
        sizes = [f"{by_codec[c]['bytes']:.2f}" if by_codec[c] else "–" for c in (*CODECS, "tracker")]
        speeds = ", ".join(f"{by_codec[c]['decode']:.0f}" for c in ("zstd_shuffle", "pcodec", "tracker"))
        print(f"| {column} | {' | '.join(sizes)} | {speeds} |")
    harness.report("column_codecs", rows)


if __name__ == "__main__":
    main()
