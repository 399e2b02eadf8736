# SPDX-License-Identifier: MIT
"""Goal: history() gives the rows asked for, aligned or sorted by another metric; a wrong question is an error.
Method: small runs whose rows are known, read with every form of range."""

from __future__ import annotations

import datetime
import math
import time
from typing import Any

import numpy as np
import pytest
import tracker


@pytest.fixture
def ten(run: tracker.Run) -> tracker.Run:
    """Steps 0 to 9 of x = step, an epoch each third step; the 5th is logged again at the end."""
    for step in range(10):
        run.log({"x": float(step), "n": step}, step=step)
        if step % 3 == 0:
            run.log({"epoch": step // 3}, step=step)
    run.log({"x": 55.0}, step=5)
    return run


def test_a_tuple_holds_both_its_ends_and_a_slice_only_the_first(ten: tracker.Run) -> None:
    r = tracker.open_run(ten.uid)
    assert r.history("x", steps=(2, 4)).steps.tolist() == [2, 3, 4]
    assert r.history("x", steps=slice(2, 4)).steps.tolist() == [2, 3]
    assert r.history("x", steps=(None, 1)).steps.tolist() == [0, 1]
    assert r.history("x", steps=slice(8, None)).steps.tolist() == [8, 9]
    assert r.history("x", steps=(np.int64(9), 10**30)).steps.tolist() == [9]
    assert r.history(["x", "epoch"], steps=(2, 4)).steps.tolist() == [2, 3, 4]


@pytest.mark.parametrize("early", [datetime.datetime.min, -(10**400), -math.inf], ids=["datetime", "int", "float"])
@pytest.mark.parametrize("late", [datetime.datetime.max, 10**400, math.inf], ids=["datetime", "int", "float"])
def test_times_before_and_after_all_that_a_clock_can_say_choose_all(
    ten: tracker.Run, early: Any, late: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    r = tracker.open_run(ten.uid)
    for zone in ("UTC", "Asia/Tokyo", "America/Los_Angeles"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        assert len(r.history("x", times=(early, late))) == 10
        assert len(r.history("x", times=(None, early))) == len(r.history("x", times=(late, None))) == 0
    monkeypatch.undo()
    time.tzset()


def test_a_range_of_times_is_in_seconds_or_datetimes(run: tracker.Run) -> None:
    run.log({"x": 1.0}, step=0)
    time.sleep(0.01)
    run.log({"x": 2.0}, step=1)
    r = tracker.open_run(run.uid)
    times = r.history("x").times
    assert r.history("x", times=(times[1], None)).values.tolist() == [2.0]
    assert r.history("x", times=(None, times[0])).values.tolist() == [1.0]
    assert r.history("x", times=slice(None, times[1])).values.tolist() == [1.0]
    after = datetime.datetime.fromtimestamp(float(times[1]) + 1, datetime.UTC)
    assert len(r.history("x", times=(None, after))) == 2
    assert len(r.history("x", times=(after, None))) == 0


def test_attempts_that_a_later_one_repeated_stay_readable() -> None:
    for attempt in (1, 2):
        with tracker.init(project="p", id="again", resume="allow", quiet=True) as run:
            for step in range(attempt - 1, 3):
                run.log({"x": attempt * 10.0 + step}, step=step)
    r = tracker.open_run("p/again")
    assert r.history("x").values.tolist() == [10.0, 21.0, 22.0]
    assert r.history("x").attempts.tolist() == [1, 2, 2]
    assert r.history("x", attempts=1).values.tolist() == [10.0, 11.0, 12.0]
    assert r.history("x", attempts=[2], ranks=0).values.tolist() == [21.0, 22.0]
    with pytest.raises(tracker.NotFoundError, match="no attempt 3; it has 1, 2"):
        r.history("x", attempts=3)
    with pytest.raises(tracker.NotFoundError, match="no rank 5"):
        r.history("x", ranks=[0, 5])


def test_a_metric_as_x_is_joined_on_the_step_and_sorts_the_rows(ten: tracker.Run) -> None:
    ten.log({"epoch": -1}, step=6)  # the last value of the step counts
    r = tracker.open_run(ten.uid)
    h = r.history("x", x="epoch")
    assert h.x is not None
    assert h.x.tolist() == [-1, 0, 1, 3]
    assert h.x.dtype == np.int64
    assert h.values.tolist() == [6.0, 0.0, 3.0, 9.0]
    table = r.history(["x", "n"], x="epoch")
    assert table.steps.tolist() == [6, 0, 3, 9]
    assert table["n"].tolist() == [6, 0, 3, 9]
    assert table.x is not None
    assert table.to_pandas()["epoch"].tolist() == [-1, 0, 1, 3]
    assert list(h.to_pandas().columns) == ["step", "epoch", "value", "time", "attempt", "rank"]
    assert r.history("x").x is None
    with pytest.raises(tracker.NotFoundError, match="epoch"):
        r.history("x", x="epoc")


def test_series_takes_a_pattern(run: tracker.Run) -> None:
    run.log({"val/loss": 1.0, "val/acc": 1.0, "train/loss": 1.0}, step=0)
    r = tracker.open_run(run.uid)
    assert r.series("val/*") == ["val/acc", "val/loss"]
    assert r.series() == ["train/loss", "val/acc", "val/loss"]
    assert r.history(r.series("*/loss")).names == ["train/loss", "val/loss"]


def test_questions_that_mean_nothing_are_errors(ten: tracker.Run) -> None:
    r = tracker.open_run(ten.uid)
    for bad in ((4, 2), slice(3, 3), slice(0, 9, 2)):
        with pytest.raises(ValueError, match="steps"):
            r.history("x", steps=bad)
    for wrong in (5, "1:3", (1, 2, 3), (1.5, 2), (True, 3)):
        with pytest.raises(TypeError, match="steps"):
            r.history("x", steps=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="times"):
        r.history("x", times=(math.nan, 1))
    with pytest.raises(TypeError, match="times"):
        r.history("x", times=("yesterday", None))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="empty"):
        r.history("x", ranks=[])
    with pytest.raises(TypeError, match="attempts"):
        r.history("x", attempts="1")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="x:"):
        r.history("x", x=["epoch"])  # type: ignore[call-overload]


def test_smoothers_equal_their_formulas(ten: tracker.Run) -> None:
    ten.log({"x": math.nan}, step=4)
    h = tracker.open_run(ten.uid).history("x")
    v = h.values
    s = w = 0.0
    for i, smoothed in enumerate(h.smooth("ema", half_life=2)):
        if i == 4:
            assert math.isnan(smoothed)
            s, w = s * 0.5, w * 0.5  # two steps lie between the finite ones
            continue
        d = 2**-0.5
        if i == 5:
            d = 1.0
        s, w = s * d + v[i], w * d + 1
        assert smoothed == pytest.approx(s / w, rel=1e-12)
    finite = [i for i in range(10) if i != 4]
    last = 0.0
    for n, i in enumerate(finite, start=1):  # the lines of TensorBoard's resmoothDataset
        last = last * 0.6 + (1 - 0.6) * v[i]
        assert h.smooth("tensorboard", weight=0.6)[i] == pytest.approx(last / (1 - 0.6**n), rel=1e-12)
    weights = np.exp(-((h.steps[:, None] - h.steps[None, :]) ** 2) / (2 * 1.5**2))
    weights[np.abs(h.steps[:, None] - h.steps[None, :]) > 7.5] = 0
    expected = weights[:, finite] @ v[finite] / weights[:, finite].sum(axis=1)
    np.testing.assert_allclose(h.smooth("gaussian", sigma=1.5)[finite], expected[finite], rtol=1e-12)
    assert h.smooth("mean", width=2)[1] == 1.0
    assert h.smooth("mean", width=3600, over="time")[0] == pytest.approx(np.nanmean(v))


def test_a_smoother_takes_its_own_parameter_only(ten: tracker.Run) -> None:
    h = tracker.open_run(ten.uid).history("x")
    with pytest.raises(TypeError, match="half_life"):
        h.smooth("ema", weight=0.5)
    with pytest.raises(TypeError, match="half_life"):
        h.smooth("ema")
    with pytest.raises(ValueError, match="no smoother 'loess'"):
        h.smooth("loess", width=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="weight"):
        h.smooth("tensorboard", weight=1.0)
    with pytest.raises(ValueError, match="half_life"):
        h.smooth("ema", half_life=0)
    rows = tracker.open_run(ten.uid).history("x", all=True)
    with pytest.raises(ValueError, match="order"):
        rows.smooth("mean", width=3)
    assert len(rows.smooth("tensorboard", weight=0.5)) == 11


def test_a_range_of_times_shows_the_run_as_it_was_before_a_later_attempt_rolled_it_back() -> None:
    with tracker.init(project="p", id="back", quiet=True) as run:
        for step in range(8):
            run.log({"x": float(step)}, step=step)
    time.sleep(0.01)
    then = time.time()
    time.sleep(0.01)
    with tracker.init(project="p", resume_from="p/back@3", quiet=True) as run:
        run.log({"x": 100.0}, step=4)
    r = tracker.open_run("p/back")
    assert r.history("x", times=(None, then)).steps.tolist() == list(range(8))
    assert r.history("x", times=(None, time.time())).values.tolist() == [0.0, 1.0, 2.0, 3.0, 100.0]
    assert r.history("x", times=(then, None)).values.tolist() == [100.0]
    assert r.chart("x", x="time", hi=then).rows == 4, "the window of a chart is a part of what is shown"


def test_a_rank_that_has_not_come_back_shows_no_rows_that_a_resume_took_back() -> None:
    runs = [tracker.init(project="p", id="two", rank=k, world_size=2, ranks="all", quiet=True) for k in range(2)]
    for run in runs:
        for step in range(10):
            run.log({"x": float(step), "t": f"text {step}"}, step=step)
    for run in runs:
        run.finish()
    with tracker.init(project="p", resume_from="p/two@6", rank=0, world_size=2, ranks="all", quiet=True) as run:
        run.log({"x": -1.0}, step=7)
    r = tracker.open_run("p/two")
    assert r.history("x").steps[-1] == r.across_ranks("x").steps[-1] == 7
    assert r.history("x", ranks=1).steps.tolist() == list(range(7))
    assert r.chart("x", ranks=1).x1.tolist() == list(range(7))
    assert r.texts("t")[-1].step == 6
    assert r.history("x", ranks=1, attempts=1).steps.tolist() == list(range(10)), "the attempt alone has all its rows"
    assert r.chart("x", ranks=1, attempts=1).x1.tolist() == list(range(10))


def test_a_slice_that_ends_beyond_the_largest_step_holds_it(run: tracker.Run) -> None:
    run.log({"x": 1.0}, step=0)
    run.log({"x": 2.0}, step=2**63 - 1)
    r = tracker.open_run(run.uid)
    for stop in (2**63, 10**30):
        assert r.history("x", steps=slice(0, stop)).steps.tolist() == [0, 2**63 - 1]
        assert r.history("x", steps=slice(2**63 - 1, stop)).steps.tolist() == [2**63 - 1]
    assert r.history("x", steps=slice(0, 2**63 - 1)).steps.tolist() == [0]
    for beyond in (slice(2**63, 2**64), (2**63, None), (None, -(2**63) - 1)):
        with pytest.raises(ValueError, match="nothing lies between"):
            r.history("x", steps=beyond)


def test_every_row_is_given_of_one_metric_and_why_not_of_several(run: tracker.Run) -> None:
    for value in (1.0, 2.0):
        run.log({"loss": value, "acc": value}, step=0)
    stored = tracker.open_run(run.uid)
    assert stored.history("loss", all=True).values.tolist() == [1.0, 2.0]
    assert stored.history(["loss", "acc"])["loss"].tolist() == [2.0]
    with pytest.raises(ValueError, match=r"aligned by step, and rows of repeated steps have no partners; ask for each"):
        stored.history(["loss", "acc"], all=True)


# Bug: NotFoundError named the text among those that are there.
def test_texts_that_a_resume_took_back_are_none_of_an_unknown_name() -> None:
    with tracker.init(project="p", id="r", quiet=True) as run:
        run.log({"x": 1.0}, step=1)
        run.log({"note": "taken back"}, step=7)
    with tracker.init(project="p", resume_from="r@5", quiet=True) as run:
        run.log({"x": 2.0}, step=6)
    r = tracker.open_run("p/r")
    assert r.texts("note") == []
    assert [row.text for row in r.texts("note", all=True)] == ["taken back"]
    with pytest.raises(tracker.NotFoundError, match="no text 'nope'"):
        r.texts("nope")
