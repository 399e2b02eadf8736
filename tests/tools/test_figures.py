# SPDX-License-Identifier: MIT
"""Goal: no figure is in the documents that was not measured.

Method: the table of benchmarks/README.md is made again of the kept samples and compared; tables of made-up samples.
Bug: the table said 6.40 where the samples said 6.44, and named rows that no file had.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import figures
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_the_table_is_that_of_the_samples() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "figures.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_row_that_misses_its_target_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = {"date": "2026-01-02T03:04:05+00:00", "cores": 2, "cpu": "x", "load_average": 0.5}
    machine |= {"kernel": "6", "python": "3.11", "commit": "abc"}
    rows: list[figures.Json] = [
        {"name": "a call", "unit": "ns", "samples": [9.0, 10.0, 30.0], "target": 10},
        {"name": "a slow call", "unit": "ns", "samples": [11.0], "target": 10},
        {"name": "reading", "unit": "M pts/s", "samples": [99.0], "target": 100},
        {"name": "none lost", "unit": "points", "samples": [0.0], "target": 0},
        {"name": "for information", "unit": "ms", "samples": [1234.5], "target": None},
    ]
    (tmp_path / "x.json").write_text(json.dumps({"benchmark": "x", "machine": machine, "rows": rows}))
    results = figures.read_results(tmp_path)
    monkeypatch.setattr(figures, "SHOWN", [("x", row["name"]) for row in rows[:4]])
    assert figures.shown(results).splitlines()[2:] == [
        "| `x` | a call | ≤ 10 | 10 ns (9 to 30) | met | 2026-01-02, 0.5 |",
        "| `x` | a slow call | ≤ 10 | 11 ns | **missed** | 2026-01-02, 0.5 |",
        "| `x` | reading | ≥ 100 | 99 M pts/s | **missed** | 2026-01-02, 0.5 |",
        "| `x` | none lost | ≤ 0 | 0 points | met | 2026-01-02, 0.5 |",
    ]
    assert "| reading | 99 | 99 | 99 | 1 | M pts/s | ≥ 100, **missed** |" in figures.all_figures(results)
    assert "| for information | 1,234 | 1,234 | 1,234 | 1 | ms | – |" in figures.all_figures(results)
