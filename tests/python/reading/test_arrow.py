# SPDX-License-Identifier: MIT
"""Goal: histories and tables go to pyarrow, polars, pandas and DuckDB through the Arrow C data interface, complete, of
the type logged, and stay valid when everything of ours is gone.
Method: the real libraries, and capsules that are dropped, taken and taken twice."""

from __future__ import annotations

import gc
import math
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import duckdb
import ml_dtypes
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import tracker
from tracker._reading.stored_objects import StoredRun

Script = Callable[..., "subprocess.CompletedProcess[str]"]
TYPES: dict[str, tuple[Any, Any]] = {
    "f64": (0.1, pa.float64()),
    "f32": (np.float32(0.1), pa.float32()),
    "f16": (np.float16(0.1), pa.float16()),
    "i64": (2**62 + 1, pa.int64()),
    "flag": (True, pa.bool_()),
}


@pytest.fixture
def typed(run: tracker.Run) -> StoredRun:
    for step in range(100):
        run.log({name: value for name, (value, _) in TYPES.items()}, step=step)
    return tracker.open_run(run.uid)


def test_pyarrow_has_each_type_as_logged(typed: StoredRun) -> None:
    for name, (value, kind) in TYPES.items():
        table = pa.table(typed.history(name))
        table.validate(full=True)
        assert table.column_names == ["step", "value", "time", "attempt", "rank"]
        assert table.schema.field("value").type == kind
        assert table.schema.field("time").type == pa.timestamp("us", tz="UTC")
        assert table["value"].to_pylist() == [value] * 100
        assert table["step"].to_pylist() == list(range(100))
    wide = pa.table(typed.history(list(TYPES)))
    wide.validate(full=True)
    assert wide.schema.types == [pa.int64(), *(kind for _, kind in TYPES.values())]


def test_one_batch_and_a_schema_are_there_for_those_who_ask(typed: StoredRun) -> None:
    batch = pa.record_batch(typed.history("flag"))
    batch.validate(full=True)
    assert batch.num_rows == 100
    assert pa.schema(typed.history("f32")).field("value").type == pa.float32()


def test_bfloat16_is_the_float32_of_the_same_value(run: tracker.Run) -> None:
    run.log({"b": ml_dtypes.bfloat16(1.5)}, step=0)
    table = pa.table(tracker.open_run(run.uid).history("b"))
    assert table.schema.field("value").type == pa.float32()
    assert table["value"].to_pylist() == [1.5]


def test_gaps_are_null_and_a_logged_nan_is_none(run: tracker.Run) -> None:
    run.log({"a": math.nan, "n": 7, "flag": True}, step=0)
    run.log({"a": 1.0}, step=1)
    run.log({"n": 2**60}, step=2)
    table = pa.table(tracker.open_run(run.uid).history(["a", "n", "flag"]))
    table.validate(full=True)
    assert table["a"].null_count == 1
    assert math.isnan(table["a"][0].as_py())
    assert table["n"].to_pylist() == [7, None, 2**60]
    assert table["flag"].to_pylist() == [True, None, None]


# Bug: polars refused two columns of one name, and in pandas the times took the place of the x.
def test_a_metric_called_like_another_column_gets_a_column_of_its_own(run: tracker.Run) -> None:
    for i in range(3):
        run.log({"loss": i / 2, "step": 10 + i, "time": 20.0 + i, "epoch": 30 + i}, step=i)
    r = tracker.open_run(run.uid)
    by_step, by_time = r.history("loss", x="step"), r.history("loss", x="time")
    for h, name, values in ((by_step, "step (metric)", [10, 11, 12]), (by_time, "time (metric)", [20.0, 21.0, 22.0])):
        assert pl.DataFrame(h).columns == ["step", name, "value", "time", "attempt", "rank"]
        for frame in (pl.DataFrame(h), h.to_pandas()):
            assert frame["step"].to_list() == [0, 1, 2]
            assert frame[name].to_list() == values
        assert str(h.to_pandas()["time"].dtype).startswith("datetime64")
    table = r.history(["step", "epoch", "loss"], x="epoch")
    frame = pl.DataFrame(table)
    assert frame.columns == ["step", "epoch", "step (metric)", "epoch (metric)", "loss"]
    assert frame["step (metric)"].to_list() == [10, 11, 12]
    assert table.to_pandas().columns.to_list() == frame.columns[1:]
    assert table.to_pandas().reset_index()["step"].to_list() == [0, 1, 2]


def test_a_row_without_a_step_has_a_null_step(run: tracker.Run) -> None:
    run.log({"x": 1.0}, step=4)
    r = tracker.open_run(run.uid)
    assert pa.table(r.history("x")).schema.field("step").nullable is False
    assert r.history("x").to_pandas()["step"].dtype == np.int64


def test_polars_pandas_and_duckdb_take_a_history(typed: StoredRun) -> None:
    h = typed.history("f64")
    frame = pl.DataFrame(h)
    assert frame.shape == (100, 5)
    assert frame["value"].to_list() == [0.1] * 100
    assert frame["time"].dtype == pl.Datetime("us", "UTC")
    own = pd.DataFrame.from_arrow(h)  # type: ignore[attr-defined]
    pd.testing.assert_frame_equal(own, h.to_pandas())
    assert duckdb.sql("SELECT count(*), max(step), sum(value) FROM h").fetchall()[0] == (100, 99, pytest.approx(10.0))
    side = typed.history(["f64", "i64", "flag"])
    assert duckdb.sql("SELECT max(i64), count(*) FILTER (flag) FROM side").fetchall()[0] == (2**62 + 1, 100)
    assert pl.DataFrame(side)["flag"].sum() == 100


def test_a_long_history_comes_in_bounded_chunks(patient_run: tracker.Run) -> None:
    count = 200_000
    for step in range(count):
        patient_run.log({"x": step * 0.5}, step=step)
    h = tracker.open_run(patient_run.uid).history("x")
    table = pa.table(h)
    assert [len(chunk) for chunk in table["value"].chunks] == [65_536, 65_536, 65_536, 3_392]
    np.testing.assert_array_equal(table["value"].to_numpy(), np.arange(count) * 0.5)
    assert set(table["attempt"].to_pylist()) == {1}
    assert len(pa.record_batch(h)) == count
    assert duckdb.sql("SELECT sum(step) FROM h").fetchall()[0] == (count * (count - 1) // 2,)


def test_the_memory_is_shared_not_copied(run: tracker.Run) -> None:
    run.log({"x": 1.0}, step=0)
    h = tracker.open_run(run.uid).history("x")
    (chunk,) = pa.table(h)["value"].chunks
    assert chunk.buffers()[1].address == h.values.__array_interface__["data"][0]


def test_the_rows_outlive_the_history_the_run_and_its_files(run: tracker.Run) -> None:
    for step in range(1000):
        run.log({"x": float(step)}, step=step)
    run.finish()
    r = tracker.open_run(run.uid)
    table, frame = pa.table(r.history("x")), pl.DataFrame(r.history("x"))
    shutil.rmtree(r.dir)
    del r
    gc.collect()
    assert table["value"].to_pylist() == [float(i) for i in range(1000)]
    assert frame["value"].sum() == 999 * 500


def test_capsules_are_freed_whether_they_were_taken_or_not(script: Script) -> None:
    done = script(
        """
        import gc, resource, tracker
        import pyarrow as pa
        run = tracker.init(project="p", quiet=True, on_full="block")
        for i in range(100_000):
            run.log({"x": float(i), "flag": True}, step=i)
        r = tracker.open_run(run.uid)
        def use():
            h = r.history("x")
            h.__arrow_c_stream__(); h.__arrow_c_array__(); h.__arrow_c_schema__()      # dropped unreleased
            stream = h.__arrow_c_stream__()
            pa.RecordBatchReader._import_from_c_capsule(stream).read_next_batch()       # taken, not read to its end
            try:
                pa.RecordBatchReader._import_from_c_capsule(stream)                     # released already
                raise SystemExit("taken twice")
            except (ValueError, pa.ArrowInvalid):
                pass
            pa.table(r.history(["x", "flag"]))
        for _ in range(5): use()
        gc.collect()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(60): use()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print("grown", grown < 30_000, grown)
        """,
    )
    assert done.stdout.startswith("grown True"), done.stdout + done.stderr


def test_an_empty_history_is_an_empty_table(run: tracker.Run) -> None:
    run.log({"x": 1.0}, step=0)
    h = tracker.open_run(run.uid).history("x", steps=(5, 6))
    assert len(h) == 0
    assert pa.table(h).num_rows == 0
    assert pl.DataFrame(h).shape == (0, 5)
    assert len(pa.record_batch(h)) == 0
