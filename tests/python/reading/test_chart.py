# SPDX-License-Identifier: MIT
"""Goal: no spike hides at any zoom, charts are the same each time, and rows appended change only the end of one.
Method: charts of stored runs held against their histories."""

from __future__ import annotations

import datetime
import math
import time

import numpy as np
import pytest
import tracker

COUNT = 50_000


@pytest.fixture
def noisy(patient_run: tracker.Run) -> tracker.Run:
    rng = np.random.default_rng(7)
    values = rng.standard_normal(COUNT)
    values[[3, 30_000]] = math.nan, math.inf
    values[12_345] = 1e6
    for step, value in enumerate(values.tolist()):
        patient_run.log({"x": value, "epoch": step // 100}, step=step)
    return patient_run


def test_cells_account_for_every_row_and_keep_every_spike(noisy: tracker.Run) -> None:
    r = tracker.open_run(noisy.uid)
    v = r.history("x").values
    for lo, hi, pixels in ((None, None, 500), (10_000, 20_000, 300), (12_000, 12_600, 50), (-5, 10**12, 10)):
        c = r.chart("x", lo, hi, pixels)
        assert not c.is_points
        assert int((c.count + c.nan + c.pos_inf + c.neg_inf).sum()) == c.rows
        width = ((COUNT - 1 if hi is None else hi) - (lo or 0)) / pixels
        assert (c.x1 - c.x0).max() <= width
        assert len(c) <= 2 * pixels + 1
        assert c.max.max() == 1e6
        for i in range(0, len(c), 7):
            rows = v[c.x0[i] : c.x1[i] + 1]
            finite = rows[np.isfinite(rows)]
            assert (c.min[i], c.max[i], c.count[i]) == (finite.min(), finite.max(), len(finite))
            np.testing.assert_array_equal([c.first[i], c.last[i]], [rows[0], rows[-1]])
            assert c.sum[i] == pytest.approx(finite.sum(), rel=1e-9, abs=1e-9)
    whole = r.chart("x", pixels=500)
    assert (whole.nan.sum(), whole.pos_inf.sum(), whole.neg_inf.sum()) == (1, 1, 0)
    assert (whole.x0[0], whole.x1[-1]) == (0, COUNT - 1)


def test_few_rows_come_as_points(noisy: tracker.Run) -> None:
    r = tracker.open_run(noisy.uid)
    c = r.chart("x", 100, 150)
    assert c.is_points
    assert c.x0.tolist() == c.x1.tolist() == list(range(100, 151))
    np.testing.assert_array_equal(c.first, r.history("x").values[100:151])
    assert repr(c) == "<tracker.Chart 'x' over step: all 51 points>"
    assert not r.chart("x", 0, 3999, pixels=2000).is_points
    assert r.chart("x", 0, 3998, pixels=2000).is_points
    assert r.chart("x", 10.5, 12.5).x0.tolist() == [11, 12]


def test_the_same_query_gives_the_same_cells_and_appending_changes_the_end_only(noisy: tracker.Run) -> None:
    r = tracker.open_run(noisy.uid)
    before, again = r.chart("x", 0, 100_000, 1000).to_pandas(), r.chart("x", 0, 100_000, 1000).to_pandas()
    assert before.equals(again)
    for step in range(COUNT, COUNT + 1000):
        noisy.log({"x": 0.5}, step=step)
    after = r.chart("x", 0, 100_000, 1000).to_pandas()
    assert len(after) > len(before)
    assert after[: len(before) - 1].equals(before[:-1])


def test_x_may_be_time_or_a_metric(noisy: tracker.Run) -> None:
    r = tracker.open_run(noisy.uid)
    epochs = r.chart("x", x="epoch", pixels=250)
    assert epochs.x0.dtype == np.float64
    assert epochs.rows == COUNT
    assert (epochs.x0[0], epochs.x1[-1]) == (0, COUNT // 100 - 1)
    times = r.history("x").times
    chart = r.chart("x", x="time", pixels=100)
    assert (chart.x0[0], chart.x1[-1]) == (times[0], times[-1])
    end = datetime.datetime.fromtimestamp(float(times[0]) + 1e-3, datetime.UTC)
    assert r.chart("x", hi=end, x="time").rows < COUNT


# Bug: a metric called "time" took the place of wall time, and every chart of the system was empty.
def test_a_metric_called_time_or_step_takes_no_axis_away() -> None:
    with tracker.init(project="test", quiet=True, system_interval=0.1) as run:
        tracker.define_metric("epoch_loss", step_metric="time")
        for step in range(10):
            run.log({"loss": step / 2, "epoch_loss": step, "time": step * 0.5, "step": 7.0}, step=step)
        time.sleep(0.3)
    r = tracker.open_run(run.uid)
    assert r.chart("loss", x="time").x0[0] == r.history("loss").times[0]
    assert r.chart("loss", x="step").x0.tolist() == list(range(10))
    (name, *_) = r.series("system/proc.*", system=True)
    assert r.chart(name).rows == len(r.history(name)) > 0
    assert r.chart("epoch_loss").x0.tolist() == [step * 0.5 for step in range(10)]


def test_smoothed_curves_reach_left_of_their_window(noisy: tracker.Run) -> None:
    r = tracker.open_run(noisy.uid)
    h = r.history("x")
    part = r.chart("x", 40_000, 40_100, smooth="ema", half_life=20)
    assert part.smoothed is not None
    np.testing.assert_allclose(part.smoothed, h.smooth("ema", half_life=20)[40_000:40_101], atol=5e-3)
    same = r.chart("x", 20_000, 20_050, smooth="tensorboard", weight=0.99)
    assert same.smoothed is not None
    np.testing.assert_allclose(same.smoothed, h.smooth("tensorboard", weight=0.99)[20_000:20_051], rtol=1e-12)
    wide = r.chart("x", pixels=200, smooth="gaussian", sigma=5000)
    assert wide.smoothed is not None
    assert len(wide.smoothed) == len(wide)
    assert r.chart("x").smoothed is None
    assert "smoothed" in wide.to_pandas()


def test_questions_that_mean_nothing_are_errors(noisy: tracker.Run) -> None:
    r = tracker.open_run(noisy.uid)
    with pytest.raises(tracker.NotFoundError, match="did you mean"):
        r.chart("epok")
    with pytest.raises(tracker.NotFoundError):
        r.chart("x", x="nothing")
    with pytest.raises(ValueError, match="holds nothing"):
        r.chart("x", 5, 4)
    for pixels in (0, -1, 100_000):
        with pytest.raises(ValueError, match="pixels"):
            r.chart("x", pixels=pixels)
    with pytest.raises(TypeError, match="lo"):
        r.chart("x", lo="a")
    with pytest.raises(ValueError, match="lo"):
        r.chart("x", lo=math.nan)
    with pytest.raises(TypeError, match="smooth='ema'"):
        r.chart("x", half_life=3)
