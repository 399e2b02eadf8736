# SPDX-License-Identifier: MIT
"""Goal: log() of the drop-in for wandb writes the rows that the original's semantics of steps ask for.
Method: log through the drop-in, read back with tracker.open_run."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracker
import tracker.compat.wandb as wandb


@pytest.fixture(autouse=True)
def quiet_and_no_host(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("WANDB_"):
            monkeypatch.delenv(name)


def rows(run: wandb.Run, key: str) -> list[tuple[int, Any]]:
    history = tracker.open_run(run._run.uid).history(key)
    return list(zip(history.steps.tolist(), history.values.tolist(), strict=True))


def test_each_call_of_log_is_a_step_of_its_own() -> None:
    run = wandb.init(project="p")
    for value in (0.5, 0.25):
        wandb.log({"loss": value})
    assert run.step == 2
    wandb.finish()
    assert rows(run, "loss") == [(0, 0.5), (1, 0.25)]


def test_commit_false_adds_to_the_row_of_the_next_call() -> None:
    run = wandb.init(project="p")
    run.log({"a": 1, "b": 1}, commit=False)
    assert run.step == 0
    run.log({"b": 2})
    run.log({"a": 3})
    run.finish()
    assert rows(run, "a") == [(0, 1), (1, 3)]
    assert rows(run, "b") == [(0, 2)]
    assert len(tracker.open_run(run.id).history("b", all=True)) == 1


def test_a_row_with_a_step_is_written_when_a_later_step_begins() -> None:
    run = wandb.init(project="p")
    run.log({"a": 1}, step=5)
    assert (run.step, tracker.open_run(run.id).series()) == (5, [])
    run.log({"a": 2, "b": 1}, step=5)
    run.log({"a": 3}, step=7)
    assert rows(run, "a") == [(5, 2)]
    run.log({"b": 4}, step=7, commit=True)
    assert run.step == 8
    run.finish()
    assert rows(run, "a") == [(5, 2), (7, 3)]
    assert rows(run, "b") == [(5, 1), (7, 4)]


def test_a_call_without_a_step_commits_the_row_that_a_step_began() -> None:
    run = wandb.init(project="p")
    run.log({"a": 1}, step=3)
    run.log({"b": 2})
    assert run.step == 4
    run.finish()
    assert (rows(run, "a"), rows(run, "b")) == ([(3, 1)], [(3, 2)])


def test_a_step_below_the_current_one_warns_once_and_is_stored_at_its_step(capfd: pytest.CaptureFixture[str]) -> None:
    run = wandb.init(project="p")
    run.log({"a": 1}, step=10)
    run.log({"late": 1}, step=4)
    run.log({"late": 2}, step=5, commit=True)
    assert run.step == 10
    run.finish()
    said = capfd.readouterr().err
    assert said.count("less than the current step") == 1
    assert "step 4 that is less than the current step 10" in said
    assert rows(run, "late") == [(4, 1), (5, 2)]
    assert tracker.open_run(run.id)._view().attribute("wandb")["late_rows"] == 2


def test_what_waits_is_written_when_the_process_ends(script: Callable[..., Any]) -> None:
    done = script("""
        import tracker.compat.wandb as wandb
        run = wandb.init(project="p", id="left")
        run.log({"a": 1}, commit=False)
        raise SystemExit(3)
    """)
    assert done.returncode == 3, done.stderr
    stored = tracker.open_run("p/left")
    assert stored.history("a").values.tolist() == [1]
    assert stored.state == "failed"


def test_an_array_that_waits_keeps_the_value_it_had_in_the_call() -> None:
    run = wandb.init(project="p")
    value = np.array(1.0)
    run.log({"a": value}, commit=False)
    value += 5
    run.log({})
    run.finish()
    assert rows(run, "a") == [(0, 1.0)]


def test_nested_dicts_become_names_with_dots_and_the_callers_dict_stays_as_it_was() -> None:
    run = wandb.init(project="p")
    given = {"a": {"b": {"c": 1}, "d": 2}, "we ird[\\": 3, "x/y": 4}
    before = deepcopy(given)
    run.log(given)
    run.finish()
    assert given == before
    assert tracker.open_run(run.id).series() == ["a.b.c", "a.d", "we ird[\\", "x/y"]


def test_log_refuses_what_is_no_dict_and_keys_that_are_no_str() -> None:
    run = wandb.init(project="p")
    wrong: Any
    for wrong in (5, [("a", 1)], {1: 2}):
        with pytest.raises(TypeError):
            run.log(wrong)
    assert run.step == 0


def test_log_after_finish_is_an_error_of_the_original() -> None:
    run = wandb.init(project="p")
    run.finish()
    run.finish()
    with pytest.raises(wandb.UsageError, match="is finished"):
        run.log({"a": 1})
    with pytest.raises(wandb.Error, match=r"wandb\.init\(\) before"):
        wandb.log({"a": 1})


def test_numbers_texts_and_lists_are_taken_and_a_bad_value_leaves_the_rest() -> None:
    run = wandb.init(project="p")
    run.log({"half": np.float16(2), "long": np.longdouble(1.5), "nan": float("nan"), "text": "hello", "list": [1, 2]})
    run.log({"bad": object(), "good": 1})
    run.finish()
    stored = tracker.open_run(run.id)
    assert rows(run, "half") == [(0, 2.0)]
    assert rows(run, "long") == [(0, 1.5)]
    assert np.isnan(rows(run, "nan")[0][1])
    assert [row.text for row in stored.texts("text")] == ["hello"]
    assert [row.text for row in stored.texts("list")] == ["[1, 2]"]
    assert rows(run, "good") == [(1, 1)]


def test_a_step_metric_is_added_to_rows_that_lack_it() -> None:
    run = wandb.init(project="p")
    step = run.define_metric("epoch")
    run.define_metric("val/*", step_metric=step)
    run.log({"epoch": 7})
    run.log({"val/acc": 0.5})
    run.finish()
    assert rows(run, "epoch") == [(0, 7), (1, 7)]
    assert tracker.open_run(run.id)._view().default_x("val/acc") == "epoch"


def test_define_metric_refuses_what_the_original_refuses() -> None:
    run = wandb.init(project="p")
    for wrong in ({"summary": "median"}, {"goal": "up"}, {"step_metric": 5}):
        with pytest.raises(wandb.Error):
            run.define_metric("loss", **wrong)
    with pytest.raises(wandb.Error):
        run.define_metric("a*b")


def test_a_context_ends_the_run_and_an_exception_fails_it() -> None:
    run = wandb.init(project="p")
    run.log({"a": 1}, commit=False)
    with pytest.raises(ValueError, match="bad"), run:
        raise ValueError("bad")
    stored = tracker.open_run(run.id)
    assert (stored.state, stored.state_detail) == ("failed", "exit code 1: ValueError: bad")
    assert rows(run, "a") == [(0, 1)]
    assert wandb.run is None


def test_a_copy_of_a_run_is_the_run() -> None:
    run = wandb.init(project="p")
    assert deepcopy(run) is run
    assert pickle.loads(pickle.dumps(run)) is run
    assert run == wandb.run


def test_a_forked_child_that_logs_joins_the_run(script: Callable[..., Any]) -> None:
    done = script("""
        import os
        import tracker.compat.wandb as wandb
        run = wandb.init(project="p", id="forked")
        run.log({"parent": 1}, commit=False)
        pid = os.fork()
        if pid == 0:
            wandb.log({"child": 2})
            wandb.finish()
            os._exit(0)
        os.waitpid(pid, 0)
        run.log({"parent": 2})
    """)
    assert done.returncode == 0, done.stderr
    stored = tracker.open_run("p/forked")
    assert stored.series() == ["child", "parent"]
    assert stored.history("parent", all=True).values.tolist() == [2]
    assert stored.state == "finished"


def test_names_that_are_not_recorded_are_reported_once_and_others_do_not_exist(
    capfd: pytest.CaptureFixture[str],
) -> None:
    from tracker.compat._accepted import count

    before = count("wandb").get("Api", 0)
    assert not wandb.Api().run("a/b/c").history(samples=3)
    assert not wandb.Api()
    assert capfd.readouterr().err.count("wandb.Api") == (0 if before else 1)
    assert count("wandb")["Api"] == before + 2
    run = wandb.init(project="p")
    assert not run.log_code(".").manifest
    for owner in (wandb, run):
        with pytest.raises(AttributeError):
            owner.no_such_name  # noqa: B018


def test_ids_are_made_by_the_functions_that_old_scripts_call() -> None:
    first, second = wandb.util.generate_id(), wandb.sdk.lib.runid.generate_id(length=12)
    assert (len(first), len(second)) == (8, 12)
    run = wandb.init(project="p", id=first)
    assert run.id == first
    assert isinstance(run, wandb.sdk.wandb_run.Run)
    assert not isinstance(run, wandb.sdk.lib.RunDisabled)


def test_a_run_that_is_sent_to_a_process_of_its_own_records_nothing_there(script: Callable[..., Any]) -> None:
    done = script("""
        import multiprocessing
        import tracker.compat.wandb as wandb

        def child(run):
            run.log({"child": 1})
            print(run.id, run.project_name(), wandb.run)

        if __name__ == "__main__":
            run = wandb.init(project="p", id="sent")
            run.log({"parent": 1})
            process = multiprocessing.get_context("spawn").Process(target=child, args=(run,))
            process.start()
            process.join()
            assert process.exitcode == 0
    """)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "sent p None\n"
    assert "this copy records nothing" in done.stderr
    assert tracker.open_run("p/sent").series() == ["parent"]


def test_functions_of_the_module_are_always_the_same_objects() -> None:
    log = wandb.log
    assert vars(wandb)["log"] is log
    wandb.init(project="p")
    assert wandb.log is log
    assert {"init", "finish", "log", "login", "save", "watch"} <= vars(wandb).keys()


def test_watch_is_accepted_and_records_nothing() -> None:
    run = wandb.init(project="p")
    wandb.watch(object(), log="all", log_freq=10)
    run.finish()
    assert tracker.open_run(run.id).series() == []


def test_saved_files_become_an_artifact_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "out" / "sub").mkdir(parents=True)
    (tmp_path / "out" / "sub" / "a.txt").write_text("first")
    run = wandb.init(project="p", id="saver")
    assert run.save() is True
    saved = wandb.save("out/sub/*.txt", base_path="out")
    assert saved == [str(Path(run.dir) / "sub" / "a.txt")]
    (tmp_path / "out" / "sub" / "a.txt").write_text("changed later")
    (Path(run.dir) / "by_hand.txt").write_text("mine")
    with wandb.restore("by_hand.txt") as file:  # type: ignore[union-attr]
        assert file.read() == "mine"
    run.finish()
    (made,) = tracker.open_run("p/saver").outputs
    artifact = made.artifact()
    assert [file.name for file in artifact.files()] == ["by_hand.txt", "sub/a.txt"]
    assert artifact.get_path("sub/a.txt").read_text() == "changed later"
