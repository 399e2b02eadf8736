# SPDX-License-Identifier: MIT
"""Goal: what log() refuses it names, with what would have worked, once. Method: values as people give them."""

from __future__ import annotations

import dataclasses
import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import tracker


@dataclasses.dataclass
class Scores:
    acc: float = 0.5


class Metric:
    def compute(self) -> float:
        return 0.5


class Thing:
    def __init__(self) -> None:
        self.loss = 0.5


VALUES: dict[str, tuple[Any, str]] = {
    "a frame": (pd.DataFrame({"a": [1, 2], "b": [3, 4]}), "tracker.Table(frame)"),
    "an empty frame": (pd.DataFrame({"a": []}), "tracker.Table(frame)"),
    "a column": (pd.Series([1, 2]), "tracker.Histogram(series)"),
    "a table of arrow": (pa.table({"a": [1, 2]}), "tracker.Table(table)"),
    "a picture": (np.zeros((8, 8, 3), np.uint8), "tracker.Image(array)"),
    "a picture of torch": (np.zeros((3, 8, 8)), "tracker.Image(array)"),
    "a batch": (np.zeros((2, 8, 8, 3)), "[tracker.Image(x) for x in batch]"),
    "a matrix": (np.eye(3), "tracker.Table(array)"),
    "a vector": (np.arange(9.0), "tracker.Histogram(values)"),
    "texts of an array": (np.array(["a", "b"]), "tracker.Table({'x': array})"),
    "nothing of an array": (np.zeros(0), "it is empty"),
    "one in a list": ([0.5], "float(x[0])"),
    "a list": ([1, 2, 3], "a dict with a key each"),
    "texts": (["a", "b"], "' '.join(x)"),
    "rows": ([{"a": 1}, {"a": 2}], "tracker.Table(rows)"),
    "rows of lists": ([[1, 2], [3, 4]], "tracker.Table(rows, columns=[…])"),
    "arrays": ([np.zeros((4, 4)), np.zeros((4, 4))], "[tracker.Image(array) for array in x]"),
    "nothing of a list": ([], "it is empty"),
    "a set": ({1, 2}, "len(x)"),
    "bytes": (b"ab", "x.decode()"),
    "a path": (Path("x.png"), "run.log_artifact(path, name=…)"),
    "a time": (datetime.datetime(2020, 1, 1), "x.timestamp()"),
    "a day": (datetime.date(2020, 1, 1), "x.isoformat()"),
    "a duration": (datetime.timedelta(1), "x.total_seconds()"),
    "a complex number": (1j, "abs(x)"),
    "a function": (lambda: 1, "x()"),
    "a class": (Scores, "this is the class Scores"),
    "a metric": (Metric(), "x.compute()"),
    "a generator": ((i for i in [1]), "list(x)"),
    "an error": (ValueError("x"), "str(x)"),
    "an object": (Thing(), "vars(x)"),
}


@pytest.mark.parametrize("what", VALUES)
def test_a_refusal_says_what_would_have_worked(run: tracker.Run, capfd: pytest.CaptureFixture[str], what: str) -> None:
    value, text = VALUES[what]
    for step in range(2):
        run.log({"value": value, "loss": 0.5}, step=step)
    said = [line for line in capfd.readouterr().err.splitlines() if "'value' is not logged" in line]
    assert len(said) == 1
    assert text in said[0]
    assert run.status().values_rejected == 2


def test_a_strict_run_says_it_too() -> None:
    with tracker.init(quiet=True, strict=True) as run, pytest.raises(TypeError, match=r"tracker\.Table\(frame\)"):
        run.log({"value": pd.DataFrame({"a": [1, 2]})})


def test_a_frame_of_one_row_is_a_number_a_column(run: tracker.Run) -> None:
    run.log({"eval": pd.DataFrame({"a": [1.0], "b": [2.0]})}, step=0)
    assert run.flush()
    assert {each.name for each in tracker.open_run(run.uid).metrics()} >= {"eval/a", "eval/b"}


def test_an_object_whose_attributes_raise_is_refused_as_any_other(
    run: tracker.Run, capfd: pytest.CaptureFixture[str]
) -> None:
    class Odd:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

    run.log({"value": Odd(), "loss": 0.5}, step=0)
    assert "'value' is not logged" in capfd.readouterr().err
    assert run.status().values_rejected == 1
