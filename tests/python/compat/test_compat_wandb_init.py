# SPDX-License-Identifier: MIT
"""Goal: init() and login() of the drop-in for wandb open the run that the original's arguments and variables ask for.
Method: open runs, read them back with tracker.open_run."""

from __future__ import annotations

import inspect
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tracker
import tracker.compat.wandb as wandb
from tracker.compat.wandb import _state


@pytest.fixture(autouse=True)
def no_variables_and_no_login(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("WANDB_"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(_state, "_said", set())


def test_before_init_there_is_no_run_and_config_and_summary_say_so() -> None:
    assert wandb.run is None
    for read in (wandb.config, wandb.summary):
        with pytest.raises(wandb.Error, match=r"must call wandb\.init"):
            read.loss  # noqa: B018
        with pytest.raises(wandb.Error, match=r"must call wandb\.init"):
            read["loss"]
    with pytest.raises(wandb.Error, match=r"must call wandb\.init"):
        wandb.config.lr = 1
    wandb.finish()


def test_a_second_init_returns_the_live_run_unless_reinit_says_otherwise() -> None:
    run = wandb.init(project="p", config={"a": 1})
    assert wandb.init(project="other", config={"b": 2}) is run
    assert dict(run.config) == {"a": 1, "b": 2}
    other = wandb.init(project="p", reinit=True)
    assert other is not run
    assert tracker.open_run(run.id).state == "finished"
    beside = wandb.init(project="p", reinit="create_new")
    assert wandb.run is other
    beside.finish()
    assert wandb.run is other


def test_what_init_is_given_is_recorded() -> None:
    run = wandb.init(
        project="p", entity="me", name="first", notes="n", tags=["a", "b"], group="g", job_type="train", id="x1",
        config={"lr": 0.1}, magic=True, no_such_argument=5, monitor_gym=True, anonymous="allow",
    )  # fmt: skip
    run.tags += ("c",)
    assert (run.entity, run.path, run.id, run.name) == ("me", "me/p/x1", "x1", "first")
    run.finish()
    stored = tracker.open_run("p/x1")
    assert (stored.name, stored.notes, stored.tags) == ("first", "n", ("a", "b", "c"))
    assert (stored.group, stored.job_type, stored.config) == ("g", "train", {"lr": 0.1})
    assert stored._view().attribute("entity") == "me"


def test_variables_of_the_environment_replace_missing_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "PROJECT": "envp", "NAME": "envn", "RUN_ID": "envid", "TAGS": "a, b", "NOTES": "note", "ENTITY": "team",
        "RUN_GROUP": "g", "JOB_TYPE": "j",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"WANDB_{name}", value)
    run = wandb.init(notes="argument")
    run.finish()
    stored = tracker.open_run("envp/envid")
    assert (stored.name, stored.tags, stored.notes) == ("envn", ("a", "b"), "argument")
    assert (stored.group, stored.job_type, run.entity) == ("g", "j", "team")


def test_settings_may_be_a_dict_or_an_object_and_arguments_beat_them() -> None:
    run = wandb.init(project="p", settings={"run_id": "s1", "mode": "offline", "x_disable_stats": True})
    assert (run.id, run.settings.mode, run.settings.run_mode) == ("s1", "offline", "offline-run")
    assert run.settings.x_disable_stats is True
    run.finish()
    run = wandb.init(settings=wandb.Settings(project="q", run_id="s2"), id="s3")
    assert (run.project, run.id) == ("q", "s3")


@pytest.mark.parametrize("given", [("train",), ("train", None, {"lr": 1}), ("train", None, {"lr": 1}, "p", "me")])
def test_the_old_order_of_positional_arguments_begins_with_the_job_type(given: tuple[Any, ...]) -> None:
    run = wandb.init(*given)
    assert run.job_type == "train"
    assert dict(run.config) == ({"lr": 1} if len(given) > 1 else {})
    assert (run.project, run.entity) == (("p", "me") if len(given) > 3 else ("default", ""))


def test_the_order_of_positional_arguments_of_today_begins_with_the_entity() -> None:
    run = wandb.init("me", "p", None, "id7", "called")
    assert (run.entity, run.project, run.id, run.name) == ("me", "p", "id7", "called")
    assert list(inspect.signature(wandb.init).parameters)[:5] == ["entity", "project", "dir", "id", "name"]


@pytest.mark.parametrize(
    "variables, given, mode",
    [
        ({}, {"mode": "offline"}, "offline"),
        ({"WANDB_MODE": "dryrun"}, {}, "offline"),
        ({"WANDB_MODE": "disabled"}, {}, "disabled"),
        ({"WANDB_DISABLED": "true"}, {}, "disabled"),
        ({}, {"mode": "online"}, "local"),
        ({}, {}, "local"),
    ],
)
def test_modes_of_the_original(
    variables: dict[str, str], given: dict[str, Any], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    run = wandb.init(project="p", **given)
    assert run._run._core.mode == mode
    assert run.url is None


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(wandb.UsageError, match="mode must be"):
        wandb.init(mode="sideways")


def test_every_method_of_a_disabled_run_can_be_called_without_arguments(store: Path) -> None:
    run = wandb.init(mode="disabled", project="p", config={"lr": 1})
    assert (run.project, run.disabled, run.config.lr) == ("dummy", True, 1)
    assert run.id
    for name in dir(type(run)):
        if not name.startswith("_") and callable(getattr(run, name)) and name not in ("finish", "join"):
            getattr(run, name)()
    run.log({"a": 1})
    run.summary["best"] = 3
    assert run.summary["best"] == 3
    with pytest.raises(AttributeError):
        run.no_such_name  # noqa: B018
    run.finish()
    assert not store.exists()


def test_without_a_server_one_line_says_that_runs_stay_local(capfd: pytest.CaptureFixture[str]) -> None:
    assert wandb.login() is False
    assert wandb.login(key="abc", host="https://api.wandb.ai") is False
    wandb.init(project="p").finish()
    said = capfd.readouterr().err
    assert said.count("no server is known") == 2  # the second names the host that is not contacted
    assert "https://api.wandb.ai is not contacted" in said


def test_a_host_is_taken_with_a_token_of_a_tracker_server_or_where_it_is_known_already(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert wandb.login(key="trk_abc", host="http://127.0.0.1:9") is True
    assert wandb.login() is True
    assert wandb.login(key="abc", host="127.0.0.1:9") is True
    run = wandb.init(project="p")  # by the login file, as a later process does
    assert run._run._core.mode == "online"
    run.finish()
    # The bug: the token of the environment went to whatever host a script named.
    monkeypatch.setenv("TRACKER_TOKEN", "trk_abc")
    assert wandb.login(host="http://127.0.0.1:10") is False
    assert "the host http://127.0.0.1:10 is not contacted" in capfd.readouterr().err
    monkeypatch.delenv("TRACKER_TOKEN")
    shutil.rmtree(os.environ["XDG_CONFIG_HOME"])
    assert wandb.login() is False
    monkeypatch.setenv("TRACKER_HOST", "http://127.0.0.1:9")
    assert wandb.login() is True
    assert capfd.readouterr().err.count("no server is known") == 1


def test_silence_by_the_variable_or_by_the_settings(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    wandb.init(project="p", settings={"silent": True}).finish()
    monkeypatch.setenv("WANDB_SILENT", "true")
    wandb.login()
    wandb.init(project="p").finish()
    assert capfd.readouterr().err == ""


def test_dir_holds_the_store_unless_the_variable_of_tracker_names_one(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = wandb.init(project="p", dir=tmp_path / "out")
    assert Path(run._run.dir).is_relative_to(store)
    assert Path(run.dir).is_relative_to(tmp_path / "out" / "wandb")
    run.finish()
    monkeypatch.delenv("TRACKER_DIR")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path / "elsewhere"))
    run = wandb.init(project="p")
    assert Path(run._run.dir).is_relative_to(tmp_path / "elsewhere" / ".tracker")


@pytest.mark.parametrize("resume", ["allow", "must", True, "auto"])
def test_resume_goes_on_with_the_run_and_its_steps(resume: Any) -> None:
    run = wandb.init(project="p", id="again", config={"lr": 1})
    run.log({"a": 1})
    run.log({"a": 2})
    run.finish()
    run = wandb.init(project="p", id="again", resume=resume)
    assert (run.resumed, run.step, run.starting_step, run.config.lr) == (True, 2, 2, 1)
    run.log({"a": 3})
    run.finish()
    assert tracker.open_run("p/again").history("a").values.tolist() == [1, 2, 3]


def test_resume_of_a_run_that_does_not_exist() -> None:
    with pytest.raises(wandb.UsageError, match="no run"):
        wandb.init(project="p", id="missing", resume="must")
    for resume in ("allow", "never"):
        run = wandb.init(project="p", id=f"new-{resume}", resume=resume)
        assert (run.resumed, run.step) == (False, 0)
        run.finish()


def test_an_id_without_resume_begins_an_attempt_that_hides_the_earlier_rows() -> None:
    for values in ((1, 2, 3), (9,)):
        run = wandb.init(project="p", id="same")
        for value in values:
            run.log({"a": value})
        run.finish()
    stored = tracker.open_run("p/same")
    assert stored.history("a").values.tolist() == [9]
    assert stored.history("a", all=True).values.tolist() == [1, 2, 3, 9]


def test_resume_auto_goes_on_with_the_run_that_did_not_end_well(script: Callable[..., Any]) -> None:
    source = """
        import os, sys
        import tracker.compat.wandb as wandb
        run = wandb.init(project="p", resume=True)
        print(run.id, run.step, flush=True)
        run.log({"a": run.step})
        if len(sys.argv) > 1:
            os.kill(os.getpid(), 9)
    """
    first = script(source, "die").stdout.split()
    second = script(source).stdout.split()
    assert second == [first[0], "1"]
    assert script(source).stdout.split()[1] == "2"  # the end of a process leaves the file: finish() removes it
