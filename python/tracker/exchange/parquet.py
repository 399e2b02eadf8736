# SPDX-License-Identifier: MIT
"""Parquet, through pyarrow where that is installed: the long form, metric by metric, complete."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker import _core
from tracker._numpy import numpy
from tracker._reading.stored_objects import StoredRun

if TYPE_CHECKING:
    from tracker.exchange.run_file import Progress

PARQUET_ROWS = 1024 * 1024


def write_parquet(
    folder: str, metrics: list[str], all: bool, output: str, progress: Progress | None = None
) -> tuple[int, int, list[str]]:
    """Rows, bytes and metrics that were written. The file appears whole. ModuleNotFoundError names pyarrow."""
    try:
        pa: Any = importlib.import_module("pyarrow")  # which has no types
        pq: Any = importlib.import_module("pyarrow.parquet")
    except ModuleNotFoundError:
        raise ModuleNotFoundError("Parquet needs pyarrow: pip install pyarrow (CSV needs nothing)") from None
    run = StoredRun(_core.RunFolder.of(folder), in_store=False)
    stored = {metric.name: metric.points for metric in [*run.metrics(), *run.metrics(system=True)]}
    numbers = run.series() + run.series(system=True)
    texts = run.text_names()
    for name in metrics:
        if name not in numbers and name not in texts:
            raise ValueError(f"the run has no metric {name!r}")
    chosen = metrics or sorted({*numbers, *texts})
    schema = pa.schema(
        [
            ("metric", pa.dictionary(pa.int32(), pa.string())),
            ("step", pa.int64()),
            ("time", pa.timestamp("us", tz="UTC")),
            ("value", pa.float64()),
            ("integer", pa.int64()),
            ("text", pa.string()),
            ("rank", pa.int64()),
            ("attempt", pa.int64()),
        ]
    )
    temporary = Path(f"{output}.part-{os.getpid()}")
    rows = done = 0
    total = sum(stored.get(name, 0) for name in chosen)
    temporary.unlink(missing_ok=True)  # of a dead process
    try:
        with temporary.open("xb") as file, pq.ParquetWriter(file, schema) as writer:
            for name in chosen:
                if name in numbers:
                    rows += _write_numbers(pa, writer, schema, run, name, all)
                    done += stored.get(name, 0)
                if name in texts:
                    rows += _write_texts(pa, writer, schema, run, name, all)
                if progress is not None:
                    progress(done, total)
        temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)
    return rows, Path(output).stat().st_size, chosen


def _write_numbers(pa: Any, writer: Any, schema: Any, run: StoredRun, name: str, all: bool) -> int:
    history = run.history(name, all=all)
    count = len(history.steps)
    whole = pa.nulls(count, pa.int64())
    mixed = run._view().integers(name, all)  # which the float64 that stands for all of them may round
    if mixed is not None:
        values, are = (numpy().asarray(column) for column in mixed)
        whole = pa.array(values, mask=~are.astype(bool))
    elif history.values.dtype.kind in "ib":
        whole = pa.array(history.values.astype("int64"))
    for at in range(0, count, PARQUET_ROWS):
        cut = slice(at, at + PARQUET_ROWS)
        n = len(history.steps[cut])
        steps = pa.array(history.steps[cut], mask=~history.has_step[cut])
        columns = [
            pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), pa.array([name])),
            steps,
            pa.array((history.times[cut] * 1e6).round().astype("int64"), pa.timestamp("us", tz="UTC")),
            pa.array(history.values[cut].astype("float64")),
            whole[at : at + n],
            pa.nulls(n, pa.string()),
            pa.array(history.ranks[cut], pa.int64()),
            pa.array(history.attempts[cut], pa.int64()),
        ]
        writer.write_table(pa.Table.from_arrays(columns, schema=schema))
    return count


def _write_texts(pa: Any, writer: Any, schema: Any, run: StoredRun, name: str, all: bool) -> int:
    found = run.texts(name, all=all)
    for at in range(0, len(found), PARQUET_ROWS):
        rows = [
            {
                "metric": name,
                "step": row.step,
                "time": round(row.time * 1e6),
                "text": row.text,
                "rank": row.rank,
                "attempt": row.attempt,
            }
            for row in found[at : at + PARQUET_ROWS]
        ]
        writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    return len(found)
