# SPDX-License-Identifier: MIT
"""tracker.runs(where=, sort=, limit=): the filter language from Python, and the catalog that answers it.

Method: small stores in a folder of their own; processes of their own where it matters who may write the catalog.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tracker
from tracker._reading.run_reader import OPENED_MAX


@pytest.fixture
def three_runs() -> None:
    for number, name in enumerate(("one", "two", "three")):
        config = {"lr": 0.1 * number if number else "auto", "opt": {"name": "adam"}}
        tags = ["paper"] if number == 1 else []
        with tracker.init(project="p", id=name, config=config, tags=tags, quiet=True) as run:
            for step in range(number + 1):
                run.log({"loss": float(number)}, step=step)


def ids(runs: object) -> list[str]:
    return [run.id for run in runs]  # type: ignore[attr-defined]


@pytest.mark.usefixtures("three_runs")
def test_runs_are_filtered_sorted_and_paged() -> None:
    assert ids(tracker.runs(where="config.lr > 0.05")) == ["three", "two"]
    assert ids(tracker.runs(where="tags = paper or metrics.loss.count = 3")) == ["three", "two"]
    assert ids(tracker.runs(sort="metrics.loss")) == ["one", "two", "three"]
    assert ids(tracker.runs(sort="-metrics.loss", limit=1)) == ["three"]
    page = tracker.runs(sort="created", limit=1, offset=1)
    assert ids(page) == ["two"]
    assert page.matched == 3
    assert ids(tracker.runs(limit=0)) == []
    assert tracker.runs(where="config.lr < 1").notes == ("config.lr is text in 1 run",)
    assert next(iter(tracker.runs(where="one"))).history("loss").values.tolist() == [0.0]


@pytest.mark.usefixtures("three_runs")
def test_a_key_that_no_run_has_is_named_with_near_ones() -> None:
    with pytest.warns(RuntimeWarning, match=r"no run has config\.lrr; did you mean config\.lr\?"):
        assert tracker.runs(where="config.lrr < 1").notes == ("no run has config.lrr; did you mean config.lr?",)
    with pytest.warns(RuntimeWarning, match=r"no run has summary\.accuracy$"):
        tracker.runs(sort="summary.accuracy")
    with pytest.raises(ValueError, match=r"did you mean config\.lr\?"):
        tracker.runs(where="lr < 0.1")


@pytest.mark.usefixtures("three_runs")
def test_times_of_runs_are_datetimes_in_utc_also_in_pandas() -> None:
    begun = datetime.datetime.now(datetime.UTC)
    with tracker.init(project="p", id="live", quiet=True) as live:
        live.log({"loss": 1.0}, step=0)
        run = tracker.open_run("live")
        assert run.ended is None
        frame = tracker.runs(sort="created").to_pandas()
        assert frame["finished"].isna().tolist() == [False] * 3 + [True]
        only = tracker.runs(where="id = live").to_pandas()
    assert begun <= run.created <= run.last_seen
    assert run.ended is not None
    assert run.created <= run.ended <= datetime.datetime.now(datetime.UTC)
    assert [time.utcoffset() for time in (run.created, run.ended, run.last_seen)] == [datetime.timedelta(0)] * 3
    assert run.attempts()[0].started <= run.attempts()[0].last_seen
    assert run.ranks()[0].last_seen is not None
    assert str(frame["created"].dtype.tz) == str(frame["finished"].dtype.tz) == str(only["finished"].dtype.tz) == "UTC"


@pytest.mark.usefixtures("three_runs")
def test_to_pandas_has_the_documented_columns() -> None:
    frame = tracker.runs(where="config.opt.name = adam", sort="created").to_pandas()
    assert frame["id"].tolist() == ["one", "two", "three"]
    assert frame["points"].tolist() == [1, 2, 3]
    assert frame["config.opt/name"].tolist() == ["adam"] * 3
    assert frame["summary.loss"].tolist() == [0.0, 1.0, 2.0]
    assert frame["tags"].tolist() == [None, ["paper"], None] or frame["tags"].tolist() == [[], ["paper"], []]
    assert ((frame["finished"] - frame["created"]).dt.total_seconds() == frame["duration"]).all()
    fixed = (
        "project id uid name state state_detail created finished duration host points lost texts_lost entries_lost "
        "group job_type notes tags alerts"
    )
    assert list(frame.columns)[: len(fixed.split())] == fixed.split()
    assert tracker.runs(where="absent").to_pandas().empty


def test_mistakes_are_errors_with_a_column() -> None:
    with tracker.init(quiet=True):
        pass
    with pytest.raises(ValueError, match=r"column 9: .*expected a number"):
        tracker.runs(where="lost >= ")
    with pytest.raises(ValueError, match=r"sort order, column 1: \"rank\" is no field"):
        tracker.runs(sort="rank")
    with pytest.raises(tracker.LimitError, match="at most 16384"):
        tracker.runs(where="x" * 20_000)
    with pytest.raises(TypeError, match="where"):
        tracker.runs(where=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="limit"):
        tracker.runs(limit="3")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="offset"):
        tracker.runs(offset=-1)


def test_a_filter_sees_what_this_process_has_just_logged(run: tracker.Run) -> None:
    run.log({"fresh": 41.0}, step=0)
    run.log({"fresh": 42.0}, step=1)
    assert ids(tracker.runs(where="metrics.fresh = 42 and state = running")) == [run.id]


@pytest.mark.usefixtures("three_runs")
def test_only_processes_that_record_nothing_write_the_catalog() -> None:
    store = Path(os.environ["TRACKER_DIR"])
    assert len(tracker.runs()) == 3
    assert not (store / "catalog.db").exists()
    environment = {key: value for key, value in os.environ.items() if key != "TRACKER_PARENT_RUN"}
    code = "import tracker; print(len(tracker.runs(where='p or two')))"
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == "1\n"
    assert (store / "catalog.db").exists()
    assert ids(tracker.runs()) == ["three", "two", "one"]


def test_config_and_summary_of_many_listed_runs_come_from_the_catalog(store: Path) -> None:
    for i in range(20):
        with tracker.init(project="many", quiet=True, config={"i": i, "opt": {"lr": i / 10}}) as run:
            run.log({"loss": i / 7, "nan": float("nan")}, step=0)
            run.summary["best"] = i
    found = tracker.runs(project="many")
    configs, summaries = [run.config for run in found], [run.summary for run in found]
    opened = [tracker.open_run(run.uid) for run in found]
    assert configs == [run.config for run in opened]
    assert [repr(summary) for summary in summaries] == [repr(run.summary) for run in opened]
    assert configs[15]["opt/lr"] == found[15].config.opt.lr
    assert [run._opened is None for run in found] == [False] * OPENED_MAX + [True] * (20 - OPENED_MAX)
    configs[15]["i"] = "changed"
    assert found[15].config == opened[15].config
    with tracker.init(project="many", id=found[15].id, resume="must", quiet=True) as run:
        run.config["i"] = "resumed"
    assert found[15].config["i"] == "resumed", "as in a run that was opened: this process has resumed it"
