# SPDX-License-Identifier: MIT
"""What the Python benchmarks share: blocks of calls measured side by side, percentiles, the table, the file."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent
Block = Callable[[range], None]  # the calls of one block, a step each


@dataclass
class Row:
    """Samples in one unit; `target` is what targets.md sets for their median, None for information."""

    name: str
    unit: str
    samples: Sequence[float]
    target: float | None = None


def percentile(samples: Sequence[float], p: float) -> float:
    ordered = sorted(samples)
    return ordered[round(p / 100 * (len(ordered) - 1))]


@contextmanager
def temporary_store() -> Iterator[str]:
    """A folder on the disk of the build; /tmp may be memory."""
    base = BENCHMARKS.parent / "build"
    with tempfile.TemporaryDirectory(prefix="bench-", dir=base if base.is_dir() else None) as folder:
        yield folder


def require(holds: bool, what: str) -> None:
    """Ends the program: a benchmark whose data did not arrive has measured nothing."""
    if not holds:
        sys.exit(f"benchmark: this does not hold: {what}")


def side_by_side(
    blocks: dict[str, Block], calls: int, rounds: int, between: Callable[[], object] = lambda: None
) -> dict[str, list[float]]:
    """ns a call, a sample a block, with the cost of the bare loop taken off.

    CPU time of this thread, so that a neighbour that takes the core away is not counted. Round after round each block
    runs once, so that what they are compared under is the same; `between` empties the ring outside of the clock.
    """
    steps = range(1_000_000, 1_000_000 + calls)  # beyond the small ints that are kept
    samples: dict[str, list[float]] = {name: [] for name in blocks}
    loops: list[float] = []

    def bare(numbers: range) -> None:
        for _ in numbers:
            pass

    for turn in range(rounds + 3):
        for name, block in [("", bare), *blocks.items()]:
            start = time.thread_time_ns()
            block(steps)
            took = (time.thread_time_ns() - start) / calls
            between()
            if turn >= 3:
                (samples[name] if name else loops).append(took)
    loop = statistics.median(loops)
    return {name: [value - loop for value in values] for name, values in samples.items()}


def report(title: str, rows: Sequence[Row]) -> None:
    """The table, and JSON with every sample where --json says."""
    print(f"{title:<46} {'median':>10} {'p99':>10} {'min':>10} {'unit':>7} {'target':>8}")
    for row in rows:
        numbers = (statistics.median(row.samples), percentile(row.samples, 99), min(row.samples))
        texts = " ".join(f"{number:>10.4g}" for number in numbers)
        print(f"{row.name:<46} {texts} {row.unit:>7} {'' if row.target is None else f'{row.target:g}':>8}", flush=True)
    if "--json" in sys.argv:
        data = [{**vars(row), "samples": [float(f"{sample:.5g}") for sample in row.samples]} for row in rows]
        Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps(data))
