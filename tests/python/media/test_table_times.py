# SPDX-License-Identifier: MIT
"""Goal: times of NumPy are times in a table, whatever they count, and never ints. Method: a column there and back."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
import tracker


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns"])
def test_times_of_numpy_are_times_in_each_of_their_units(run: tracker.Run, unit: str) -> None:
    # Bug: those of nanoseconds, which NumPy gives as ints, were a column of ints
    times = np.array(["2020-01-02", "NaT"], f"datetime64[{unit}]")
    run.log({"value": tracker.Table({"t": times, "one": [times[0], None]})}, step=0)
    (entry,) = tracker.open_run(run.uid).media("value")
    table = entry.load()
    assert table.types == {"t": "time", "one": "time"}
    assert table.columns["t"] == table.columns["one"] == [datetime.datetime(2020, 1, 2), None]


def test_nanoseconds_are_cut_to_microseconds(run: tracker.Run) -> None:
    table = tracker.Table({"t": np.array(["2020-01-02T03:04:05.123456789"], "datetime64[ns]")})
    run.log({"value": table}, step=0)
    (entry,) = tracker.open_run(run.uid).media("value")
    assert entry.load().columns["t"] == [datetime.datetime(2020, 1, 2, 3, 4, 5, 123456)]


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_a_duration_of_numpy_is_a_text_with_its_unit(run: tracker.Run, unit: str) -> None:
    run.log({"value": tracker.Table({"t": np.array([5], f"timedelta64[{unit}]")})}, step=0)
    (entry,) = tracker.open_run(run.uid).media("value")
    assert entry.load().columns["t"][0].startswith("5 ")


def test_a_time_that_no_calendar_of_python_has_is_a_text(run: tracker.Run) -> None:
    run.log({"value": tracker.Table({"t": np.array(["20000-01-01"], "datetime64[s]")})}, step=0)
    (entry,) = tracker.open_run(run.uid).media("value")
    assert entry.load().columns["t"] == ["20000-01-01T00:00:00"]
