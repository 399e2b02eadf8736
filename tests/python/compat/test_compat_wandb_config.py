# SPDX-License-Identifier: MIT
"""Goal: config and summary of the drop-in for wandb behave as the original's and are recorded.
Method: set and read in the live run, read back with tracker.open_run."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tracker
import tracker.compat.wandb as wandb


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("WANDB_"):
            monkeypatch.delenv(name)


def test_config_is_a_mapping_with_attributes() -> None:
    run = wandb.init(project="p", config={"lr": 0.1, "net": {"depth": 3}})
    config = wandb.config
    assert config is run.config
    assert (config.lr, config["lr"], config.get("none", 5)) == (0.1, 0.1, 5)
    config.batch = 32
    config["seed"] = 7
    config.setdefaults({"lr": 5, "new": 1})
    assert sorted(config.keys()) == ["batch", "lr", "net", "new", "seed"]
    assert {**config} == config.as_dict() == vars(config)["_items"]
    assert "lr" in config
    with pytest.raises(AttributeError):
        config.nothing  # noqa: B018
    config.persist()
    run.finish()
    expected = {"lr": 0.1, "net": {"depth": 3}, "batch": 32, "seed": 7, "new": 1}
    assert tracker.open_run(run.id).config == expected


def test_a_changed_value_is_refused_unless_the_change_is_allowed() -> None:
    run = wandb.init(project="p", config={"lr": 0.1, "net": {"depth": 3, "width": 2}})
    run.config.update({"lr": 0.1})
    with pytest.raises(wandb.errors.ConfigError, match=r"'lr' from 0\.1 to 0\.2"):
        run.config.update({"lr": 0.2, "other": 1})
    with pytest.raises(wandb.Error):
        run.config.lr = 0.3
    assert "other" not in run.config
    run.config.update({"lr": 0.2, "net": {"depth": 4}}, allow_val_change=True)
    run.finish()
    assert tracker.open_run(run.id).config == {"lr": 0.2, "net": {"depth": 4}}
    run = wandb.init(project="p", config={"lr": 1}, allow_val_change=True)
    run.config.lr = 2
    assert run.config.lr == 2


class Plain:
    def __init__(self) -> None:
        self.lr, self._hidden = 0.1, 1


@pytest.mark.parametrize("given", [argparse.Namespace(lr=0.1), vars(argparse.Namespace(lr=0.1)), Plain()])
def test_config_takes_a_namespace_a_dict_or_an_object(given: Any) -> None:
    assert wandb.init(project="p", config=given).config.as_dict() == {"lr": 0.1}


def test_values_and_keys_become_plain_ones() -> None:
    run = wandb.init(project="p", config={"-s": {1, 2}, "t": (1, 2), np.int64(5): np.float32(0.5)})
    assert run.config.as_dict() == {"s": [1, 2], "t": [1, 2], "5": 0.5}
    for medium in (wandb.Table(columns=["a"]), wandb.Html("<p>x</p>"), {"deep": wandb.Html("x")}):
        with pytest.raises(TypeError, match="media"):
            run.config.update({"m": medium})


def test_keys_are_chosen_by_init() -> None:
    config = {"a": 1, "b": 2, "c": 3}
    run = wandb.init(project="p", config=config, config_exclude_keys=["a"], config_include_keys=["a", "b"])
    assert run.config.as_dict() == {"b": 2}


def test_a_yaml_file_is_a_config_and_defaults_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", SimpleNamespace(safe_load=json.loads))  # JSON is YAML; PyYAML is not here
    (tmp_path / "c.yaml").write_text('{"wandb_version": 1, "lr": {"value": 0.1, "desc": "rate"}, "seed": 3}')
    run = wandb.init(project="p", config="c.yaml")
    assert run.config.as_dict() == {"lr": 0.1, "seed": 3}
    run.finish()
    (tmp_path / "config-defaults.yaml").write_text('{"lr": {"value": 5}, "extra": {"value": 1}}')
    assert wandb.init(project="p", config={"lr": 1}).config.as_dict() == {"lr": 1, "extra": 1}


def test_locked_values_stay() -> None:
    run = wandb.init(project="p", config={"lr": 1})
    run.config.update_locked({"lr": 5}, "sweep")
    run.config.lr = 7
    assert run.config.lr == 5


def test_the_summary_is_the_last_value_of_each_key() -> None:
    run = wandb.init(project="p")
    assert dict(run.summary) == {}
    run.log({"loss": 0.5, "a": {"b": 1}})
    run.log({"loss": 0.25})
    summary = wandb.summary
    assert (summary["loss"], summary.loss, summary.get("none")) == (0.25, 0.25, None)
    assert (summary["a"]["b"], summary.a.b, summary["a.b"]) == (1, 1, 1)
    assert summary["_step"] == 1
    assert 0 <= summary["_runtime"] < 60
    assert summary["_timestamp"] > 1e9
    assert {"loss", "a.b"} <= set(summary.keys())


def test_values_set_in_the_summary_win_and_nested_ones_can_be_set() -> None:
    run = wandb.init(project="p")
    run.summary["best"] = np.float32(0.5)
    run.summary.update({"foo": {"bar": {"a": 1}}})
    run.summary["foo"]["new"] = 2
    run.summary.foo.bar.a = 3
    run.log({"best": 9, "gone": 1})
    del run.summary["gone"]
    assert "gone" not in run.summary
    assert (run.summary.best, run.summary["foo"]["new"], run.summary.foo.bar.a) == (0.5, 2, 3)
    run.log({"gone": 2})
    assert run.summary["gone"] == 2
    run.finish()
    assert tracker.open_run(run.id).summary == {"best": 0.5, "foo": {"bar": {"a": 3}, "new": 2}, "gone": 2}


def test_define_metric_says_which_value_the_summary_shows() -> None:
    run = wandb.init(project="p")
    run.define_metric("loss", summary="min")
    run.define_metric("both", summary="min,max")
    run.define_metric("acc*", summary="best", goal="maximize")
    run.define_metric("hidden", summary="none")
    for value in (3.0, 1.0, 2.0):
        run.log({"loss": value, "both": value, "accuracy": value, "hidden": value, "plain": value})
    seen = {key: value for key, value in run.summary.items() if not key.startswith("_")}
    assert dict(seen["both"]) == {"min": 1.0, "max": 3.0}
    assert (run.summary["loss"]["min"], run.summary.accuracy.best) == (1.0, 3.0)
    assert set(seen) == {"loss", "both", "accuracy", "plain"}
    run.finish()
    assert tracker.open_run(run.id).summary["loss"] == 1.0
