# SPDX-License-Identifier: MIT
"""Goal: a script written for SwanLab runs with only its import line changed, and what it did is in the store.

Method: the calls of SwanLab's documents in this process and in scripts; the runs are read with tracker.open_run().
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tracker
from tracker.compat import _accepted, swanlab

Script = Callable[..., "subprocess.CompletedProcess[str]"]

# U2 of the scenarios, with arithmetic in the place of PyTorch and a part of its steps.
LAUNCH = """
import math
import tracker.compat.swanlab as swanlab

{init}
loss = type("Loss", (), {{"item": lambda self: self.value}})()
for i in range(2000):
    loss.value = 1 / (i + 1)
    if i % 5 == 0:
        swanlab.log({{"loss": loss.item()}}, step=i)
        print("step", i)
for i in range(100):
    swanlab.log({{"GroundTruth": math.sin(i / 10)}}, step=i)
for i in range(100):
    swanlab.log({{"PredictFunc": math.sin(i / 10) + 0.01}}, step=i)
swanlab.finish()
"""
POSITIONAL = 'swanlab.init("Launch-Example", experiment_name="test-remote")'
KEYWORDS = 'swanlab.init(project="Launch-Example", name="test-remote", config={"lr": 0.1}, mode="offline")'


def only_run() -> tracker.StoredRun:
    (run,) = tracker.runs()
    return run


@pytest.mark.parametrize("init", [POSITIONAL, KEYWORDS])
def test_a_script_with_live_curves_has_all_three_complete(script: Script, init: str) -> None:
    done = script(LAUNCH.format(init=init))
    assert done.returncode == 0, done.stderr
    run = only_run()
    assert (run.project, run.name, run.state) == ("Launch-Example", "test-remote", "finished")
    assert run.series() == ["GroundTruth", "PredictFunc", "loss"]
    assert run.history("loss").steps.tolist() == list(range(0, 2000, 5))
    assert run.history("loss").values.tolist() == [1 / (i + 1) for i in range(0, 2000, 5)]
    for name in ("GroundTruth", "PredictFunc"):
        assert run.history(name).steps.tolist() == list(range(100))
    assert run.losses.dropped == 0
    assert [line.text for line in run.console(stream="stdout")][-1] == "step 1995"


def test_the_first_value_of_a_step_wins_and_steps_may_come_in_any_order() -> None:
    run = swanlab.init()
    for step, value in ((3, 1.0), (1, 2.0), (3, 9.0), (0, 3.0), (1, 9.0)):
        swanlab.log({"loss": value}, step=step)
    swanlab.finish()
    history = tracker.open_run(run.path).history("loss")
    assert (history.steps.tolist(), history.values.tolist()) == ([0, 1, 3], [3.0, 2.0, 1.0])
    assert tracker.open_run(run.path).history("loss", all=True).values.size == 5


def test_without_a_step_it_is_the_largest_one_plus_1() -> None:
    run = swanlab.init()
    swanlab.log({"a": 1}, step=7)
    swanlab.log({"a": 1}, step=2)
    swanlab.log({"b": 1})
    run.log({"a": 1})
    swanlab.finish()
    stored = only_run()
    assert (stored.history("a").steps.tolist(), stored.history("b").steps.tolist()) == ([2, 7, 9], [8])


def test_texts_nested_dicts_and_keys_that_are_numbers_are_logged() -> None:
    swanlab.init()
    swanlab.log({"note": "hello", "train": {"loss": 0.5, "deep": {"acc": 1}}, 7: 1.5}, step=1, print_to_console=True)
    swanlab.log_text(key="caption", data="text", caption="c", step=1)
    swanlab.log_text(key="plain", data="text", step=1)
    swanlab.log({"Text": swanlab.Text("t", caption="c")}, step=1)
    swanlab.finish()
    stored = only_run()
    assert stored.series() == ["7", "train/deep/acc", "train/loss"]
    assert [row.text for row in stored.texts("note")] == ["hello"]
    assert [row.text for row in stored.texts("plain")] == ["text"]
    assert stored.media_names() == ["Text", "caption"]


def test_what_cannot_be_logged_is_reported_and_training_goes_on(capfd: pytest.CaptureFixture[str]) -> None:
    swanlab.init()
    swanlab.log([1, 2])  # type: ignore[arg-type]
    swanlab.log({"a": 1}, step="one")  # type: ignore[arg-type]
    swanlab.log({"a": 1}, step=np.int64(4))  # type: ignore[arg-type]
    lines = capfd.readouterr().err.splitlines()
    assert lines[-2:] == [
        "tracker: swanlab.log: data must be a dict, got list; nothing was logged",
        "tracker: swanlab.log: step must be an int, got str; nothing was logged",
    ]
    swanlab.finish()
    assert only_run().history("a").steps.tolist() == [4]


def test_log_after_finish_raises_and_a_second_finish_reports_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError):
        swanlab.log({"a": 1})
    run = swanlab.init()
    swanlab.finish()
    for log in (swanlab.log, run.log):
        with pytest.raises(RuntimeError, match=r"swanlab\.init\(\) first"):
            log({"a": 1})
    capfd.readouterr()
    swanlab.finish()
    run.finish()
    assert capfd.readouterr().err.splitlines() == [
        "tracker: swanlab.finish: the run has ended already, or none was begun",
        "tracker: swanlab.finish: the run has ended already",
    ]
    assert not run.alive


@pytest.mark.parametrize(
    ("arguments", "state", "detail"),
    [
        (("success",), "finished", ""),
        (("crashed", "Traceback\nValueError: bad"), "failed", "ValueError: bad"),
        (("aborted",), "interrupted", ""),
        (("other",), "finished", ""),
    ],
)
def test_a_run_ends_in_the_state_that_finish_names(arguments: tuple[str, ...], state: str, detail: str) -> None:
    swanlab.init()
    swanlab.finish(*arguments)
    assert only_run().state == state
    assert detail in only_run().state_detail


def test_an_exception_in_the_block_of_a_run_is_its_end() -> None:
    with pytest.raises(ZeroDivisionError), swanlab.init():
        _ = 1 / 0
    stored = only_run()
    assert stored.state == "failed"
    assert "ZeroDivisionError: division by zero" in stored.state_detail


def test_a_second_init_returns_the_live_run_and_reinit_begins_another(capfd: pytest.CaptureFixture[str]) -> None:
    first = swanlab.init(name="first")
    assert swanlab.init(name="second") is first
    assert "tracker: swanlab.init: there is a run already, which goes on" in capfd.readouterr().err
    second = swanlab.init(name="second", reinit=True)
    assert (first.alive, second.name) == (False, "second")
    assert len(tracker.runs()) == 2


def test_the_current_run_is_known_by_its_three_names() -> None:
    assert (swanlab.has_run(), swanlab.get_run(), swanlab.run) == (False, None, None)
    run = swanlab.init()
    assert swanlab.has_run()
    assert swanlab.get_run() is run
    assert swanlab.run is run
    assert isinstance(run, swanlab.Run)
    swanlab.finish()
    assert (swanlab.has_run(), swanlab.run) == (False, None)


def test_a_run_that_tracker_has_begun_is_the_current_one_too() -> None:
    with tracker.init(project="p", config={"lr": 1}, quiet=True) as run:
        swanlab.log({"loss": 1})
        assert (swanlab.config.lr, swanlab.get_run().id) == (1, run.id)  # type: ignore[union-attr]
    assert tracker.open_run(run.uid).series() == ["loss"]


def test_earlier_scripts_read_folder_and_address_of_the_run() -> None:
    run = swanlab.init()
    assert Path(run.public.run_dir) == run.dir
    assert (run.public.cloud.exp_url, run.get_url(), run.get_project_url()) == (None, None, None)


def test_login_reports_one_line_and_contacts_no_server(capfd: pytest.CaptureFixture[str]) -> None:
    assert swanlab.login("key") is False
    assert swanlab.login(api_key="key", host="https://swanlab.example") is False
    assert capfd.readouterr().err.splitlines() == [
        "tracker: swanlab.login: no server is known, runs stay local",
        "tracker: swanlab.login: no server is known, runs stay local; "
        "the host https://swanlab.example is not contacted",
    ]


def test_sync_takes_the_folder_of_a_run(capfd: pytest.CaptureFixture[str], store: Path, tmp_path: Path) -> None:
    run = swanlab.init(mode="offline")
    swanlab.finish()
    swanlab.sync(run.dir)
    assert f"tracker: no server is known: the run is in {store}" in capfd.readouterr().err
    with pytest.raises(ValueError, match="is no run of tracker"):
        swanlab.sync(tmp_path)


def test_other_names_are_accepted_named_once_and_counted(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_accepted, "counts", {})
    swanlab.merge_settings(swanlab.Settings(hardware_monitor=False))
    run = swanlab.init(settings={"a": 1}, color="#fff", callbacks=[], made_up=1)
    swanlab.log_echarts(key="a", data=swanlab.echarts.Bar().add_xaxis(["a"]))
    swanlab.log_echarts(key="a", data=1)
    run.log_audio(key="a", data=1)
    swanlab.log({"loss": 1, "sound": swanlab.Audio("a.wav")})

    class Own(swanlab.Callback):  # type: ignore[misc]
        pass

    swanlab.merge_callbacks(Own())
    swanlab.finish()
    names = [line.split()[1] for line in capfd.readouterr().err.splitlines() if "is accepted" in line]
    assert names == [
        f"swanlab.{name}"
        for name in (
            *("merge_settings", "Settings", "init(color=)", "init(settings=)", "init(callbacks=)", "init(made_up=)"),
            *("log_echarts", "echarts", "Run.log_audio", "Audio", "Callback", "merge_callbacks"),
        )
    ]
    assert _accepted.count("swanlab")["log_echarts"] == 2
    assert only_run().series() == ["loss"]
    assert only_run().losses.rejected_values == 0


def test_a_name_that_the_original_does_not_have_is_an_attribute_error() -> None:
    run = swanlab.init()
    for thing in (swanlab, run):
        with pytest.raises(AttributeError, match="no_such_name"):
            _ = thing.no_such_name
    assert not hasattr(swanlab, "__wrapped__")


def test_a_rank_that_records_nothing_runs_the_same_script(script: Script) -> None:
    source = LAUNCH.format(init=POSITIONAL + "\nswanlab.login()\nswanlab.log_audio(key='a', data=1)")
    done = script(source, env={"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "TRACKER_RUN_ID": "shared"})
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "records nothing" not in line] == []


def test_importing_swanlab_imports_neither_numpy_nor_pillow(script: Script) -> None:
    done = script(
        "import sys; import tracker.compat.swanlab; print(sorted({'numpy', 'PIL', 'yaml'} & set(sys.modules)))"
    )
    assert done.stdout == "[]\n", done.stderr
    assert sys.modules["tracker.compat.swanlab"] is swanlab
