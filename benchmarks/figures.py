# SPDX-License-Identifier: MIT
"""The tables of figures, made of samples alone: build/docs/figures.md has all rows that `make bench` measured here,
README.md, between its two marks, a few rows of the samples that are kept in results/.

    .venv/bin/python benchmarks/figures.py             writes both; make docs and run.py do it
    .venv/bin/python benchmarks/figures.py --check     exit code 1 where README.md is not what results/ says

A measurement is kept by a copy of its file from build/bench/ to benchmarks/results/.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parent
RESULTS, README = BENCHMARKS / "results", BENCHMARKS / "README.md"
BUILD = BENCHMARKS.parent / "build"
MEASURED, FIGURES = BUILD / "bench", BUILD / "docs" / "figures.md"
BEGIN, END = "<!-- figures: made by figures.py -->\n", "<!-- end of figures -->\n"
OTHER_TABLES = {"rivals", "column_codecs"}  # their rows are tools; README.md has these tables
SHOWN = (
    ("python_log", "run.log / (empty C method + dict)"),
    ("python_log", "a further key, of 20"),
    ("hot_path", "C++ handle"),
    ("hot_path", "C++ by name"),
    ("hot_path", "our threads, 100 metrics at 10 Hz"),
    ("stored_bytes", "20 of a training x 100000: stored"),
    ("guest_memory", "262,144 metrics in a call"),
    ("read_numpy", "10 M points into NumPy, by CPU"),
    ("chart_far", "1 x 100 M: 1/4 of it, CPU"),
    ("first_paint", "20 charts x 1,000,000 points"),
    ("upload", "a point is seen after"),
    ("cost_account", "C++, 1 key, one each ms: off by a factor of"),
)
PER_SECOND = ("/s",)  # units of which more is better

Json = dict[str, Any]


def read_results(folder: Path) -> list[Json]:
    out = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    return [each for each in out if each["benchmark"] not in OTHER_TABLES]


def more_is_better(unit: str) -> bool:
    return any(mark in unit for mark in PER_SECOND)


def number(value: float) -> str:
    """Three digits that count, without an exponent."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 or value == 0 else f"{value:.4f}"


def p99(samples: list[float]) -> float:
    ordered = sorted(samples)
    return ordered[round(0.99 * (len(ordered) - 1))]


def target_of(row: Json) -> str:
    if row["target"] is None:
        return "–"
    return f"{'≥' if more_is_better(row['unit']) else '≤'} {number(row['target'])}"


def is_met(row: Json) -> bool:
    median = statistics.median(row["samples"])
    return bool(median >= row["target"] if more_is_better(row["unit"]) else median <= row["target"])


def measured(row: Json) -> str:
    """The median, and where there are several samples from the least to the largest."""
    samples = row["samples"]
    median = number(statistics.median(samples))
    if len(samples) == 1:
        return f"{median} {row['unit']}"
    return f"{median} {row['unit']} ({number(min(samples))} to {number(max(samples))})"


def machine_of(result: Json) -> str:
    machine = result["machine"]
    return (
        f"{machine['date'][:10]}, {machine['cores']} cores of {machine['cpu']}, load {machine['load_average']}"
        f" before it, Linux {machine['kernel']}, CPython {machine['python']}, commit {machine['commit']}"
    )


def all_figures(results: list[Json]) -> str:
    out = [
        "# All figures\n",
        "Made by `figures.py` of the samples that `make bench` left in build/bench/. What each program does is"
        " in its\nfirst lines, what the figures mean in benchmarks/README.md.\n",
    ]
    for result in results:
        out.append(f"## {result['benchmark']}\n\n{machine_of(result)}.\n")
        out.append("| row | median | p99 | least | samples | unit | target |\n|---|---|---|---|---|---|---|")
        for row in result["rows"]:
            samples = row["samples"]
            figures = (statistics.median(samples), p99(samples), min(samples))
            cells = " | ".join(number(value) for value in figures)
            target = target_of(row)
            if row["target"] is not None and not is_met(row):
                target += ", **missed**"
            out.append(f"| {row['name']} | {cells} | {len(samples):,} | {row['unit']} | {target} |")
        out.append("")
    return "\n".join(out)


def shown(results: list[Json]) -> str:
    rows = {(each["benchmark"], row["name"]): (each["machine"], row) for each in results for row in each["rows"]}
    out = ["| program | row | target | measured | | date, load |\n|---|---|---|---|---|---|"]
    for program, name in SHOWN:
        machine, row = rows[program, name]
        verdict = "met" if is_met(row) else "**missed**"
        when = f"{machine['date'][:10]}, {machine['load_average']}"
        out.append(f"| `{program}` | {name} | {target_of(row)} | {measured(row)} | {verdict} | {when} |")
    return "\n".join(out) + "\n"


def readme_with(section: str) -> str:
    text = README.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[:begin] + "\n" + section + "\n" + text[end:]


def main(arguments: list[str]) -> int:
    text = readme_with(shown(read_results(RESULTS)))
    if arguments == ["--check"]:
        if README.read_text() != text:
            print("benchmarks/README.md is not what results/ says: run benchmarks/figures.py", file=sys.stderr)
            return 1
        return 0
    README.write_text(text)
    FIGURES.parent.mkdir(parents=True, exist_ok=True)
    FIGURES.write_text(all_figures(read_results(MEASURED if MEASURED.is_dir() else RESULTS)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
