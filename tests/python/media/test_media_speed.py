# SPDX-License-Identifier: MIT
"""Goal: large tables and curves are encoded fast, and as they always were: byte for byte as Python's json has them.
Method: random bits as numbers, the same columns by both ways, and the time of both."""

from __future__ import annotations

import array
import json
import math
import random
from typing import Any

import numpy as np
import pytest
import tracker
from tracker import _core
from tracker._media import histograms_curves, medium, table_columns


def document(value: Any) -> bytes:
    return bytes(value._payload[0]) if value._payload else value._description["text"].encode()


def test_numbers_of_any_bits_are_written_as_pythons_json_writes_them() -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    bits = np.random.default_rng(seed).integers(0, 1 << 64, 50_000, dtype=np.uint64)
    values = [v for v in bits.view("<f8").tolist() if math.isfinite(v)]
    values += [0.0, -0.0, 1.0, -1.0, 0.1, 1e15, 1e16, 1e17, 123456789012345678.0, 1e-4, 1e-5, 5e-324]
    values += [round(v, 3) for v in np.random.default_rng(seed).normal(0, 1000, 5000).tolist()]
    assert _core.json_numbers(array.array("d", values)).decode() == json.dumps(values, separators=(",", ":"))
    ints = [*bits.view("<i8").tolist(), 0, -1, 2**63 - 1, -(2**63)]
    assert _core.json_numbers(array.array("q", ints)).decode() == json.dumps(ints, separators=(",", ":"))
    said = _core.json_numbers(array.array("d", [math.nan, math.inf, -math.inf, 1.0]))
    assert json.loads(said) == ["NaN", "Infinity", "-Infinity", 1.0]
    assert _core.json_numbers(array.array("d")) == b"[]"


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f8", "i1", "i4", "i8", "u1", "u4"])
def test_a_column_of_an_array_is_the_document_that_its_cells_are(dtype: str) -> None:
    column = (np.random.default_rng(1).random(300) * 100).astype(dtype)
    cells = [[cell] for cell in column]
    expected = document(tracker.Table(cells, columns=["a"]))
    assert document(tracker.Table({"a": column})) == expected
    assert document(tracker.Table({"a": np.repeat(column, 2)[::2]})) == expected
    assert document(tracker.Table({"a": column.tolist()})) == expected


def test_a_column_that_is_copied_may_change_at_once_and_ints_beyond_int64_are_kept() -> None:
    column = np.arange(5.0)
    table = tracker.Table({"a": column})
    column[:] = 7
    assert json.loads(document(table))["columns"][0]["values"] == [0.0, 1.0, 2.0, 3.0, 4.0]
    for values in ([2**63], np.array([2**63], dtype=np.uint64)):
        (said,) = json.loads(document(tracker.Table({"a": values})))["columns"]
        assert said == {"name": "a", "type": "mixed", "values": [{"int": str(2**63)}]}
    special = np.array([math.nan, math.inf, -math.inf, -0.0])
    (said,) = json.loads(document(tracker.Table({"a": special})))["columns"]
    assert said["values"] == ["NaN", "Infinity", "-Infinity", -0.0]


def test_curves_are_the_same_document_on_both_sides_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = np.random.default_rng(3)
    labels, scores = dice.integers(0, 3, 9000), dice.random((9000, 3))
    fast = tracker.roc_curve(labels, scores, ["a", 'b"', "ü"])
    assert 9000 * histograms_curves.CURVE_POINT_BYTES_MIN > medium.INLINE_BYTES_MAX
    monkeypatch.setattr(histograms_curves, "CURVE_POINT_BYTES_MIN", 0)
    slow = tracker.roc_curve(labels, scores, ["a", 'b"', "ü"])
    assert bytes(fast._payload[0]) == bytes(slow._payload[0])


def test_a_table_of_numbers_and_texts_comes_back(run: tracker.Run) -> None:
    data = {"i": np.arange(20_000), "f": np.linspace(0, 1, 20_000), "t": [str(i) for i in range(20_000)]}
    run.log({"t": tracker.Table(data)}, step=0)
    run.finish()
    (entry,) = tracker.open_run(run.uid).media("t")
    table = entry.load()
    assert table.types == {"i": "int", "f": "float", "t": "text"}
    assert table.columns["i"] == data["i"].tolist()  # type: ignore[attr-defined]
    assert table.columns["f"] == data["f"].tolist()  # type: ignore[attr-defined]
    assert table.columns["t"] == data["t"]
    assert table_columns.TABLE_ROWS_MAX == 200_000
