# SPDX-License-Identifier: MIT
"""Whatever holds a run can be copied, pickled and shown. Method: copies here, pickles in processes of their own."""

from __future__ import annotations

import copy
import inspect
import io
import pickle
import pydoc
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]


class Callback:
    """What a training library copies: it holds a run."""

    def __init__(self, run: tracker.Run) -> None:
        self.run, self.metric, self.config = run, run.metric("loss"), run.config


@pytest.mark.parametrize("act", [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_a_copy_of_a_run_is_the_run_and_its_metric_logs_there(run: tracker.Run, act: Callable[[Any], Any]) -> None:
    assert act(run) is run
    act(run.metric("loss")).log(1.0, 3)
    held = act(Callback(run))
    held.metric.log(2.0, 4)
    assert held.run is run
    run.finish()
    assert act(run) is run, "after the end too"
    assert tracker.open_run(run.uid).history("loss").values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("act", [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_a_copy_of_config_and_summary_is_a_plain_dict(run: tracker.Run, act: Callable[[Any], Any]) -> None:
    run.config.update({"opt": {"lr": 0.1}})
    run.summary["best"] = 0.9
    for mapping, want in (
        (run.config, {"opt": {"lr": 0.1}}),
        (run.config["opt"], {"lr": 0.1}),
        (run.summary, {"best": 0.9}),
    ):
        copied = act(mapping)
        assert type(copied) is dict
        assert copied == want
    copied = act(run.config)
    copied["opt"]["lr"] = 5
    assert run.config["opt/lr"] == 0.1


def test_a_pickle_in_another_process_knows_the_run_and_records_nothing(run: tracker.Run, script: Script) -> None:
    run.metric("loss").log(1.0, 1)
    pickled = pickle.dumps((run, run.metric("loss"), run.config)).hex()
    done = script(
        f"""
        import pickle
        run, metric, config = pickle.loads(bytes.fromhex({pickled!r}))
        metric.log(2.0, 2), run.log({{"loss": 3.0, "text": "x"}}, step=3), run.finish()
        print(run.id, run.uid, run.project, run.dir, run.status().recording, config)
        assert pickle.loads(pickle.dumps(run)) is run
        import tracker
        assert tracker.run is None
        """
    )
    assert done.stdout.split() == [run.id, run.uid, "test", run.dir, "False", "{}"]
    assert done.stderr.splitlines() == [
        f"tracker: run test/{run.id} came here in a pickle and records nothing in this process; "
        f"tracker.init(project='test', id={run.id!r}, resume=\"allow\") does (said once)"
    ]
    assert tracker.open_run(run.uid).history("loss").values.tolist() == [1.0]


def test_a_stored_run_and_what_is_read_from_it_survive_copies_and_pickles(run: tracker.Run) -> None:
    run.log({"loss": 1.0, "picture": tracker.Image([[0.5]])}, step=1)
    run.config["lr"] = 0.1
    art = run.log_artifact(tracker.Artifact("a", type="t"))
    art.wait()
    run.finish()
    stored = tracker.open_run(run.uid)
    for act in (copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))):
        assert act(stored).history("loss").values.tolist() == [1.0]
        assert act(stored.config)["lr"] == 0.1
        assert act(stored.history("loss")).values.tolist() == [1.0]
        assert act(stored.history(["loss"])).steps.tolist() == [1]
        assert len(act(tracker.runs())) == 1
        assert act(tracker.artifact("test/a")).version == "v0"
        assert act(run.status()) == run.status()


def test_a_pickle_of_a_run_at_a_path_is_read_there_and_needs_no_store(run: tracker.Run, tmp_path: Path) -> None:
    run.log({"loss": 1.0}, step=1)
    run.finish()
    copied = shutil.copytree(run.dir, tmp_path / "mailed")
    at_path = pickle.loads(pickle.dumps(tracker.open_run(f"{copied}")))
    assert at_path.history("loss").values.tolist() == [1.0]
    assert not at_path._in_store, "nothing is recovered there"


@pytest.mark.parametrize("name", ["config", "summary"])
def test_hasattr_of_the_module_is_false_without_a_run(name: str) -> None:
    assert not hasattr(tracker, name)
    assert getattr(tracker, name, "default") == "default"
    with pytest.raises(RuntimeError, match=rf"tracker\.{name}: there is no run; call tracker\.init\(\) first"):
        getattr(tracker, name)


def test_help_of_the_module_and_of_every_public_name_works_without_a_run() -> None:
    assert dict(inspect.getmembers(tracker))["run"] is None
    text = pydoc.plain(pydoc.render_doc(tracker))
    for name in ("init", "log", "finish", "open_run"):
        assert f"{name}(" in text
    for name in tracker.__all__:
        if hasattr(tracker, name):
            pydoc.Helper(output=io.StringIO()).help(getattr(tracker, name))


def test_every_handle_can_be_looked_at_by_a_debugger(run: tracker.Run) -> None:
    run.log({"loss": 1.0, "picture": tracker.Image([[0.5]])}, step=1)
    art = run.log_artifact(tracker.Artifact("a", type="t"))
    waiting = tracker.Artifact("b", type="t")
    art.wait(), run.flush()
    stored = tracker.open_run(run.uid)
    handles: list[Any] = [run, run.config, run.summary, run.metric("loss"), art, waiting, run.status(), stored]
    handles += [stored.history("loss"), stored.history(["loss"]), tracker.runs(), tracker.artifact("test/a")]
    handles += [stored.config, stored.summary, stored.media("picture")[0], tracker.Image([[0.5]])]
    for handle in handles:
        members = inspect.getmembers(handle)
        assert members
        assert not hasattr(handle, "no_such_name")
        assert repr(handle)


def test_config_and_summary_entries_are_attributes_too(run: tracker.Run) -> None:
    run.config.update({"lr": 0.1, "model": {"depth": 3}, "items": "a key that is a method's name"})
    assert run.config.lr == 0.1
    assert run.config.model.depth == 3
    run.config.model.width = 64
    run.config.seed = 1
    run.summary.best = 0.9
    assert run.summary.best == 0.9
    assert tracker.config.seed == 1
    assert callable(run.config.items)
    with pytest.raises(AttributeError, match=r"config\['items'\] = value sets"):
        run.config.items = 1
    with pytest.raises(AttributeError, match="config has no entry 'sed'; did you mean 'seed'"):
        _ = run.config.sed
    run.config.np = 8  # bug: it was offered for "nope"
    with pytest.raises(AttributeError, match=r"config has no entry 'nope'$"):
        _ = run.config.nope
    run.finish()
    stored = tracker.open_run(run.uid)
    assert stored.config.model.width == 64
    assert stored.config.lr == 0.1
