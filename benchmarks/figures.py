# SPDX-License-Identifier: MIT
"""The tables of figures, made of the samples in results/ alone, so that no figure is in the documents that was not
measured: FIGURES.md has all rows, README.md, between its two marks, those that have a target.

    .venv/bin/python benchmarks/figures.py             writes both; run.py does it after each run
    .venv/bin/python benchmarks/figures.py --check     exit code 1 where they are not what results/ says
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parent
FIGURES, README = BENCHMARKS / "FIGURES.md", BENCHMARKS / "README.md"
BEGIN, END = "<!-- figures: made by figures.py -->\n", "<!-- end of figures -->\n"
OTHER_TABLES = {"rivals"}  # whose rows are tools; README.md has that table
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
        "Made by `figures.py` of the samples in `results/`; a change by hand is lost. What each program does stands at"
        " its\nbegin; what the figures mean, in [README.md](README.md).\n",
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


def targets(results: list[Json]) -> str:
    rows = [(each, row) for each in results for row in each["rows"] if row["target"] is not None]
    missed = sum(not is_met(row) for _, row in rows)
    out = [
        f"{len(rows)} rows have a target, {missed} miss{'es' if missed == 1 else ''} it. Medians, and in brackets from"
        " the least to the largest sample.\n",
        "| program | row | target | measured | | date, load |\n|---|---|---|---|---|---|",
    ]
    for each, row in rows:
        machine = each["machine"]
        verdict = "met" if is_met(row) else "**missed**"
        when = f"{machine['date'][:10]}, {machine['load_average']}"
        out.append(
            f"| `{each['benchmark']}` | {row['name']} | {target_of(row)} | {measured(row)} | {verdict} | {when} |"
        )
    return "\n".join(out) + "\n"


def readme_with(section: str) -> str:
    text = README.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[:begin] + "\n" + section + "\n" + text[end:]


def main(arguments: list[str]) -> int:
    results = read_results(BENCHMARKS / "results")
    texts = {FIGURES: all_figures(results), README: readme_with(targets(results))}
    if arguments == ["--check"]:
        stale = [path.name for path, text in texts.items() if not path.exists() or path.read_text() != text]
        for name in stale:
            print(f"benchmarks/{name} is not what results/ says: run benchmarks/figures.py", file=sys.stderr)
        return 1 if stale else 0
    for path, text in texts.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
