# SPDX-License-Identifier: MIT
"""Goal: a table takes any cell and any frame, exactly or in a plainer form that is said once, and nothing of it is left
out in silence. Method: tables as people have them, there and back."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import json
import math
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import PIL.Image
import polars as pl
import pyarrow as pa
import pytest
import tracker

PIXELS = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)


def back(run: tracker.Run, value: Any) -> Any:
    run.log({"value": value}, step=0)
    assert run.flush()
    (entry,) = tracker.open_run(run.uid).media("value")
    return entry.load()


@pytest.mark.parametrize(
    "cells",
    [
        ["Paris", 3, "B", 0.5],
        [True, 1, 0],
        [[1, 2], [3]],
        [{"a": 1, "b": [None, "x"]}, None],
        [2**70, -(2**64), 1],
        [decimal.Decimal("0.1000000000000000000001"), "x", math.inf],
        [datetime.datetime(2020, 1, 2, 3), "never", None],
        [[], {}, "", [[[]]]],
        [{"time": "no tag"}, {"dict": {"picture": 0}}, [{"int": "5"}]],
        ["NaN", 0.5, "Infinity", "…"],
    ],
)
def test_a_column_of_any_cells_comes_back_as_it_was(run: tracker.Run, cells: list[Any]) -> None:
    table = tracker.Table({"target": cells})
    assert table._remarks == ()
    assert back(run, table).columns["target"] == cells


def test_the_type_of_each_cell_is_kept(run: tracker.Run) -> None:
    cells = [1, 1.0, True, "1", None, [1, 1.0]]
    found = back(run, tracker.Table({"x": cells})).columns["x"]
    assert list(map(type, found)) == list(map(type, cells))
    assert math.isnan(back(run, tracker.Table({"x": ["a", math.nan]})).columns["x"][1])


@dataclasses.dataclass
class Row:
    a: int
    b: str


Point = collections.namedtuple("Point", "a b")

OBJECTS: list[tuple[Any, Any]] = [
    (np.int64(5), 5),
    (np.float32(0.5), 0.5),
    (np.arange(3), [0, 1, 2]),
    (np.array(7), 7),
    (decimal.Decimal("0.25"), 0.25),
    (pd.NA, None),
    (pd.NaT, None),
    (pd.Timedelta(seconds=90), "0 days 00:01:30"),
    (datetime.timedelta(seconds=90), "0:01:30"),
    (datetime.time(12, 30), "12:30:00"),
    (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    (Path("/x/y"), "/x/y"),
    ({3}, [3]),
    (b"ab", "b'ab'"),
    (1j, "1j"),
    (pd.Interval(0, 1), "(0, 1]"),
    (Row(1, "x"), {"a": 1, "b": "x"}),
    (Point(1, "x"), [1, "x"]),
]


@pytest.mark.parametrize(("cell", "expected"), OBJECTS, ids=lambda value: type(value).__name__)
def test_any_object_is_a_cell(run: tracker.Run, cell: Any, expected: Any) -> None:
    assert back(run, tracker.Table({"x": [cell], "n": [1]})).columns == {"x": [expected], "n": [1]}


def test_an_object_that_became_a_text_is_said_once(run: tracker.Run, capfd: pytest.CaptureFixture[str]) -> None:
    for step in range(3):
        run.log({"t": tracker.Table({"x": [uuid.uuid4(), uuid.uuid4()]})}, step=step)
    assert capfd.readouterr().err.count("'t': a UUID in a cell is stored as its text (said once)") == 1
    assert run.status().media_plainer == 3


def test_a_list_that_holds_itself_is_a_cell() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    table = tracker.Table({"x": [loop]})
    assert table.problem is None
    assert "holds itself" in table._remarks[0]


FRAMES: list[tuple[Any, dict[str, list[Any]]]] = [
    (
        pd.DataFrame([[1, 2], [3, 4]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])),
        {"a/x": [1, 3], "a/y": [2, 4]},
    ),
    (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), {"a": [1, 3], "a (2)": [2, 4]}),
    (pd.DataFrame({0: [1], None: [2], "": [3]}), {"0": [1], "None": [2], "column 3": [3]}),
    (pd.DataFrame({"a": [1, 2]}, index=["r", "s"]), {"index": ["r", "s"], "a": [1, 2]}),
    (pd.DataFrame({"a": [1, 2, 3]})[1:], {"index": [1, 2], "a": [2, 3]}),
    (pd.DataFrame({"k": [1, 2], "a": [3, 4]}).set_index("k"), {"k": [1, 2], "a": [3, 4]}),
    (pd.DataFrame({"k": [1, 1], "a": [3, 4]}).groupby("k").agg(["min", "max"]), {"k": [1], "a/min": [3], "a/max": [4]}),
    (pd.DataFrame({"c": pd.Categorical(["x", None])}), {"c": ["x", None]}),
    (pd.DataFrame({"i": pd.array([1, None], "Int64"), "b": pd.array([True, None], "boolean")}),
     {"i": [1, None], "b": [True, None]}),
    (pd.DataFrame({"s": pd.arrays.SparseArray([0, 0, 5])}), {"s": [0, 0, 5]}),
    (pd.DataFrame({"o": [[1], {"k": 2}, "x"]}), {"o": [[1], {"k": 2}, "x"]}),
    (pd.DataFrame(), {}),
    (pd.Series([1, 2], name="loss"), {"loss": [1, 2]}),
    (pd.Series([1, 2]), {"0": [1, 2]}),
    (pa.table({"l": [[1], None], "d": [decimal.Decimal("1.5"), None]}), {"l": [[1], None], "d": [1.5, None]}),
    (np.array([[1, 2], [3, 4]]), {"1": [1, 3], "2": [2, 4]}),
    (np.array([(1, "x")], dtype=[("a", "i4"), ("b", "U1")]), {"a": [1], "b": ["x"]}),
    ([Row(1, "x"), Row(2, "y")], {"a": [1, 2], "b": ["x", "y"]}),
    ([Point(1, "x")], {"a": [1], "b": ["x"]}),
    ([{"a": 1}, {"b": 2}], {"a": [1, None], "b": [None, 2]}),
    ([[1], [2, 3]], {"1": [1, 2], "2": [None, 3]}),
    ([1, "x"], {"1": [1, "x"]}),
    ({"a": [1, 2], "b": [3], "c": "all"}, {"a": [1, 2], "b": [3, None], "c": ["all", "all"]}),
    ({"acc": 0.5, "f1": 0.25}, {"acc": [0.5], "f1": [0.25]}),
    ([], {}),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(FRAMES)))
def test_any_frame_is_a_table(run: tracker.Run, place: int) -> None:
    given, expected = FRAMES[place]
    assert back(run, tracker.Table(given)).columns == expected


def test_a_frame_of_polars_is_a_table(run: tracker.Run) -> None:
    frame = pl.DataFrame({"a": [1, None], "l": [[1, 2], []]})
    assert back(run, tracker.Table(frame)).columns == {"a": [1, None], "l": [[1, 2], []]}
    assert back(run, tracker.Table(frame["a"])).columns == {"a": [1, None]}


@pytest.mark.parametrize(
    ("data", "columns", "expected", "remark"),
    [
        ([{"a": 1, "b": 2}], ["a"], {"a": [1]}, "columns= leaves out 'b'"),
        (pd.DataFrame({"a": [1], "b": [2]}), ["b"], {"b": [2]}, "columns= leaves out 'a'"),
        ({"a": [1]}, ["a", "z"], {"a": [1], "z": [None]}, "no column 'z'"),
        ([[1, 2]], ["a"], {"a": [1], "column 2": [2]}, "rows have 2 cells for 1 columns"),
        ([[1], []], ["a"], {"a": [1, None]}, "fewer cells"),
        ([[1, 2]], ["a", "a"], {"a": [1], "a (2)": [2]}, "two columns are called 'a'"),
    ],
)
def test_what_a_table_leaves_out_or_fills_is_said(
    run: tracker.Run, data: Any, columns: list[str], expected: Any, remark: str
) -> None:
    table = tracker.Table(data, columns=columns)
    assert any(remark in said for said in table._remarks)
    assert back(run, table).columns == expected


def test_pictures_in_cells_are_stored_with_the_table_and_loaded_by_the_reader(run: tracker.Run) -> None:
    other = PIL.Image.fromarray(255 - PIXELS)
    table = back(run, tracker.Table({"picture": [tracker.Image(PIXELS, caption="a"), other, None], "n": [1, 2, 3]}))
    assert table.types == {"picture": "mixed", "n": "int"}
    first, second, none = table.columns["picture"]
    assert none is None
    assert (first.kind, first.caption) == ("image", "a")
    assert np.array_equal(first.load(), PIXELS)
    assert np.array_equal(second.load(), 255 - PIXELS)
    assert table.to_pandas()["picture"][0] is first


def test_the_files_of_pictures_in_cells_are_files_of_the_run(run: tracker.Run) -> None:
    back(run, tracker.Table({"picture": [tracker.Image(PIXELS, masks={"m": PIXELS[:, :, 0]})]}))
    folder = Path(run.dir)
    run.finish()
    files = {path for path in folder.rglob("media/*/*") if path.is_file()}
    assert len(files) == 3
    (path,) = [path for path in files if path.suffix == ".json"]
    stored = json.loads(path.read_text())
    assert stored["columns"][0]["values"] == [{"picture": 0}]


def test_a_picture_that_is_none_leaves_the_table(run: tracker.Run, capfd: pytest.CaptureFixture[str]) -> None:
    table = back(run, tracker.Table({"picture": [tracker.Image(np.zeros(4))], "n": [1]}))
    assert table.columns == {"picture": [None], "n": [1]}
    assert "a picture is left out of its cell: an image takes 2 or 3 axes" in capfd.readouterr().err


def test_a_table_that_was_stored_before_there_were_mixed_columns_is_read_as_it_was() -> None:
    document = {"rows": 2, "columns": [{"name": "t", "type": "text", "values": ["7", None]},
                                       {"name": "f", "type": "float", "values": [0.5, "NaN"]}]}  # fmt: skip
    table = tracker.TableData(document)
    assert table.columns["t"] == ["7", None]
    assert table.types == {"t": "text", "f": "float"}
