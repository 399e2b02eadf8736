# SPDX-License-Identifier: MIT
"""Goal: swanlab.init takes what scripts of every version give it, and swanlab.config is the config of the run.

Method: each argument and variable that SwanLab's documents name; the runs are read with tracker.open_run().
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest
import tracker
from tracker.compat import swanlab


def only_run() -> tracker.StoredRun:
    (run,) = tracker.runs()
    return run


def test_the_old_order_of_positional_arguments_is_kept() -> None:
    run = swanlab.init("p", "me", "e", "text", {"lr": 1}, None, "local", None, False)
    assert (run.name, run.mode, run.path) == ("e", "local", f"p/{run.id}")
    run.finish()
    stored = only_run()
    assert (stored.project, stored.notes, stored.config) == ("p", "text", {"lr": 1})


def test_the_keywords_of_today_are_kept() -> None:
    swanlab.init(project="p", name="n", description="d", job_type="train", group="g", tags=["a", "b"], id="own")
    swanlab.finish()
    stored = tracker.open_run("p/own")
    assert (stored.name, stored.notes, stored.job_type, stored.group, stored.tags) == (
        "n", "d", "train", "g", ("a", "b"),
    )  # fmt: skip


@pytest.mark.parametrize("resume", [True, "allow", "must"])
def test_a_run_is_resumed_by_its_id(resume: Any) -> None:
    for again in (None, resume):
        swanlab.init(project="p", id="own", resume=again)
        swanlab.log({"loss": 1})
        swanlab.finish()
    assert tracker.open_run("p/own").history("loss").steps.tolist() == [0, 1]


def test_the_project_is_the_working_directory_unless_something_names_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for variable, project in (("", tmp_path.name), ("SWANLAB_PROJECT", "theirs"), ("TRACKER_PROJECT", "ours")):
        if variable:
            monkeypatch.setenv(variable, project)
        with swanlab.init() as run:
            assert run.public.project_name == (project if variable != "TRACKER_PROJECT" else "theirs")
    monkeypatch.delenv("SWANLAB_PROJECT")
    with swanlab.init() as run:
        assert run.public.project_name == "ours"


def test_the_folder_of_the_original_is_the_store_where_tracker_dir_names_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Path
) -> None:
    with swanlab.init(log_dir=tmp_path / "swanlog") as run:
        assert run.dir.is_relative_to(store)
    monkeypatch.delenv("TRACKER_DIR")
    monkeypatch.setenv("SWANLAB_LOG_DIR", str(tmp_path / "variable"))
    with swanlab.init() as run:
        assert run.dir.is_relative_to(tmp_path / "variable")
    with swanlab.init(logdir=str(tmp_path / "swanlog")) as run:
        assert run.dir.is_relative_to(tmp_path / "swanlog")


@pytest.mark.parametrize(
    ("given", "mode"),
    [("cloud", "online"), ("online", "online"), ("local", "local"), ("offline", "offline"), ("disabled", "disabled")],
)
def test_each_mode_of_the_original_is_known(monkeypatch: pytest.MonkeyPatch, given: str, mode: str) -> None:
    with swanlab.init(mode=given) as run:
        swanlab.log({"loss": 1})
        assert (run.mode, run.url, run.alive) == (mode, None, True)
    monkeypatch.setenv("SWANLAB_MODE", given)
    with swanlab.init() as run:
        assert run.mode == mode


def test_another_mode_is_an_error_that_names_those_known() -> None:
    with pytest.raises(ValueError, match=r"mode must be one of cloud, .*, got 'remote'"):
        swanlab.init(mode="remote")


def test_the_config_of_the_module_is_that_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swanlab, "config", swanlab.ModuleConfig())
    swanlab.config.update({"before": 1, "lr": 0})
    swanlab.config["also"] = 2
    run = swanlab.init(config={"lr": 0.1})
    swanlab.config.epochs = 3
    swanlab.config.update(argparse.Namespace(seed=4), depth=5)
    run.config.set("width", 6)
    assert swanlab.config["lr"] == run.config.lr == 0.1
    assert swanlab.config.get("momentum", "none") == "none"
    assert swanlab.config.pop("also") == 2
    assert "also" not in run.config
    assert dict(swanlab.config) == dict(run.config)
    swanlab.finish()
    expected = {"before": 1, "lr": 0.1, "epochs": 3, "seed": 4, "depth": 5, "width": 6}
    assert only_run().config == {**expected, "also": None}
    assert dict(swanlab.config) == {"before": 1, "lr": 0, "also": 2}
    swanlab.config.clean()
    assert len(swanlab.config) == 0


@pytest.mark.parametrize("config", [argparse.Namespace(lr=0.1), {"lr": 0.1}, "config.json", Path("config.json")])
def test_a_config_is_a_dict_a_namespace_or_a_file(tmp_path: Path, config: Any) -> None:
    (tmp_path / "config.json").write_text('{"lr": 0.1}')
    swanlab.init(config=config)
    swanlab.finish()
    assert only_run().config == {"lr": 0.1}


def test_a_file_gives_the_arguments_that_are_missing(tmp_path: Path) -> None:
    (tmp_path / "load.json").write_text('{"project": "p", "experiment_name": "e", "description": "d"}')
    swanlab.init(load="load.json", description="own")
    swanlab.finish()
    stored = only_run()
    assert (stored.project, stored.name, stored.notes) == ("p", "e", "own")
