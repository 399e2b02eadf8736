# SPDX-License-Identifier: MIT
"""Goal: the names that users know are there, with the defaults that are documented. Method: signatures, and one run
that says every line of the documentation's summary."""

from __future__ import annotations

import inspect
import time
from pathlib import Path

import numpy as np
import pytest
import tracker

INIT = {
    "project": None,
    "name": None,
    "config": None,
    "tags": None,
    "group": None,
    "job_type": None,
    "notes": None,
    "id": None,
    "resume": None,
    "mode": None,
    "dir": None,
    "ranks": None,
    "strict": False,
}
FURTHER = ("journal", "on_full", "on_sigterm", "on_exit", "resume_from", "duplicate_policy", "max_disk")
FURTHER += ("host", "token", "console", "capture", "system_interval", "tensorboard", "quiet", "rank", "world_size")


def test_init_takes_the_names_that_users_know_in_their_order() -> None:
    parameters = inspect.signature(tracker.init).parameters
    by_position = {name: p.default for name, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD}
    assert list(by_position.items()) == list(INIT.items())
    by_name = {name for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY}
    assert by_name == set(FURTHER)


def test_a_run_has_the_verbs_and_facts_of_the_documentation(store: Path) -> None:
    run = tracker.init(project="mnist", name=None, config={"lr": 0.1}, tags=[], quiet=True)
    run.log({"loss": 0.3, "val/acc": 0.9}, step=0)
    run.log({"loss": 0.2, "val": {"acc": 0.95}})
    run.metric("loss").log(0.1, 2)
    assert run.config["lr"] == 0.1
    run.summary["best_acc"] = 0.98
    assert run.flush(timeout=10) is True
    status = run.status()
    assert (status.points_logged, status.points_stored, status.points_dropped, status.points_pending) == (5, 5, 0, 0)
    deadline = time.monotonic() + 20
    while "container" not in run.status().survives and time.monotonic() < deadline:
        time.sleep(0.01)  # a commit that a busy disk holds up takes it back for that time
    assert set(run.status().survives) == {"process", "container", "power"}
    assert (run.project, run.url, run.step) == ("mnist", None, 2)
    assert all((run.id, run.uid, run.name, Path(run.dir).is_dir()))
    run.finish(timeout=10)

    r = tracker.open_run(f"mnist/{run.id}")
    assert tracker.open_run(run.id).uid == run.uid
    assert (r.state, r.config, r.series()) == ("finished", {"lr": 0.1}, ["loss", "val/acc"])
    assert r.summary == {"loss": 0.1, "val/acc": 0.95, "best_acc": 0.98}
    h = r.history("loss")
    assert (h.steps.dtype, h.values.dtype, h.times.dtype) == (np.int64, np.float64, np.float64)
    assert (h.steps.tolist(), h.values.tolist()) == ([0, 1, 2], [0.3, 0.2, 0.1])
    assert (h.ranks.tolist(), h.attempts.tolist()) == ([0, 0, 0], [1, 1, 1])
    assert len(r.history("loss", all=True)) == 3
    table = r.history(["loss", "val/acc"])
    assert table.to_pandas().index.tolist() == [0, 1, 2]
    assert hasattr(table, "__arrow_c_stream__")
    c = r.chart("loss", lo=None, hi=None, pixels=2000)
    for name in ("x0", "x1", "first", "last", "min", "max", "sum", "count", "nan", "pos_inf", "neg_inf"):
        assert len(getattr(c, name)) == len(c.count), name
    listed = tracker.runs(project="mnist", where="config.lr < 0.2 and state = finished")
    assert [each.uid for each in listed] == [run.uid]
    assert listed.to_pandas()["id"].tolist() == [run.id]


def test_the_module_acts_on_the_current_run() -> None:
    assert tracker.run is None
    run = tracker.init(project="p", quiet=True)
    assert tracker.run is run
    tracker.log({"x": 1.0}, step=0)
    tracker.config["lr"] = 0.1
    tracker.summary["best"] = 2
    assert tracker.flush() is True
    tracker.finish()
    assert tracker.run is None
    r = tracker.open_run(run.uid)
    assert (r.series(), r.config, r.summary) == (["x"], {"lr": 0.1}, {"x": 1.0, "best": 2})


# Verbs of a later version say so instead of doing nothing.
@pytest.mark.parametrize("name", ["sync", "upload"])
def test_what_is_not_in_this_version_says_so(name: str) -> None:
    with pytest.raises(AttributeError, match=f"tracker.{name} is not in this version yet"):
        getattr(tracker, name)
