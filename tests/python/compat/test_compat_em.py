# SPDX-License-Identifier: MIT
"""Goal: a script written for t9k's em runs with only its import line changed, and what it did is in the store.

Method: the calls of em's documents in this process and in scripts; the runs are read with tracker.open_run().
"""

from __future__ import annotations

import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracker
from tracker.compat import _accepted, em

Script = Callable[..., "subprocess.CompletedProcess[str]"]

# U1 of the scenarios, with arithmetic in the place of PyTorch.
TRAINING = """
from tracker.compat import em

hparams = {"batch_size": 32, "epochs": 2, "learning_rate": 0.001}
run = em.create_run(name="mnist_torch_distributed", hparams=hparams)
hparams = run.hparams
for epoch in range(1, hparams["epochs"] + 1):
    for step in range(1, 11):
        global_step = (epoch - 1) * 10 + step
        run.log(type="train", metrics={"loss": 1 / global_step}, step=global_step, epoch=epoch)
    for kind in ("val", "test"):
        run.log(type=kind, metrics={"loss": 0.5 / epoch, "accuracy": 0.5 + epoch / 10}, step=global_step, epoch=epoch)
with open("model_state_dict.pt", "wb") as file:
    file.write(b"weights")
art = em.create_artifact(name="mnist_torch_saved_model")
art.add_file("model_state_dict.pt")
run.mark_output(art)
run.finish()
em.login()
run.upload(folder="em-examples", make_folder=True)
"""


def only_run() -> tracker.StoredRun:
    (run,) = tracker.runs()
    return run


def test_the_script_of_a_cluster_is_recorded_with_its_artifact(script: Script, tmp_path: Path) -> None:
    done = script(TRAINING)
    assert done.returncode == 0, done.stderr
    run = only_run()
    assert (run.name, run.project, run.state) == ("mnist_torch_distributed", "default", "finished")
    assert run.config == {"batch_size": 32, "epochs": 2, "learning_rate": 0.001}
    assert run.series() == [
        *("test/accuracy", "test/epoch", "test/loss"),
        *("train/epoch", "train/loss"),
        *("val/accuracy", "val/epoch", "val/loss"),
    ]
    assert run.history("train/loss").values.tolist() == [1 / step for step in range(1, 21)]
    assert run.history("val/epoch").steps.tolist() == [10, 20]
    (output,) = run.outputs
    artifact = output.artifact()
    assert artifact.name == "mnist_torch_saved_model"
    assert artifact.get_path("model_state_dict.pt").read_bytes() == b"weights"
    assert [each.id for each in artifact.logged_by()] == [run.id]
    assert not (tmp_path / ".em").exists()  # the store has the files


def test_login_and_upload_after_the_end_report_one_line_each(script: Script, store: Path) -> None:
    lines = script(TRAINING).stderr.splitlines()
    assert "tracker: em.login: no server is known, runs stay local" in lines
    assert f"tracker: no server is known: the run is in {store}" in lines


@pytest.mark.parametrize("gate", ["", "if int(os.environ['RANK']) == 0:"])
def test_a_rank_that_records_nothing_runs_the_same_script(script: Script, store: Path, gate: str) -> None:
    source = TRAINING if not gate else f"import os\n{gate}\n" + TRAINING.replace("\n", "\n    ")
    done = script(source, env={"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "TRACKER_RUN_ID": "shared"})
    assert done.returncode == 0, done.stderr
    assert not (store / "runs").exists() or list(tracker.runs()) == []
    said = [line for line in done.stderr.splitlines() if "records nothing" not in line]
    assert said == []


def test_other_words_for_a_type_become_train_val_and_test() -> None:
    run = em.create_run()
    for step, kind in enumerate(("training", "validate", "validation", "testing", "eval", "evaluate", "evaluation")):
        run.log(kind, {"loss": step}, step)
    run.log("pretrain", {"loss": 1}, 0)
    run.finish()
    stored = only_run()
    assert stored.series() == ["pretrain/loss", "test/loss", "train/loss", "val/loss"]
    assert stored.history("test/loss").steps.tolist() == [3, 4, 5, 6]


def test_values_of_one_element_are_metrics() -> None:
    run = em.create_run()
    run.log("train", {"a": np.array([0.5]), "b": np.float32(0.25), "c": 1}, 1)
    run.finish()
    assert only_run().summary == {"train/a": 0.5, "train/b": 0.25, "train/c": 1}


def test_a_type_and_metrics_of_the_wrong_kind_are_named() -> None:
    run = em.create_run()
    with pytest.raises(TypeError, match="type must be a str, got int"):
        run.log(1, {"loss": 1}, 0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="metrics must be a dict, got float"):
        run.log("train", 0.5, 0)  # type: ignore[arg-type]


def test_a_folder_is_a_project_and_labels_are_tags() -> None:
    run = em.create_run(name="cnn", labels=["torch", "CNN"], description="A small net.", folder="/cv/mnist")
    run.finish()
    stored = only_run()
    assert (stored.project, stored.name, stored.tags, stored.notes) == (
        "cv/mnist", "cnn", ("torch", "CNN"), "A small net.",
    )  # fmt: skip


def test_the_default_folder_leaves_the_project_to_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_PROJECT", "mine")
    em.create_run().finish()
    assert only_run().project == "mine"


def test_em_run_parent_dir_is_the_store_where_tracker_dir_names_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EM_RUN_PARENT_DIR", str(tmp_path / "runs of em"))
    monkeypatch.delenv("TRACKER_DIR")
    run = em.create_run(name="here")
    run.finish()
    (stored,) = tracker.runs(dir=str(tmp_path / "runs of em"))
    assert stored.dir == run.local
    assert em.load_run(run.alternative_name).local == run.local


def test_hyperparameters_are_items_and_attributes_and_are_recorded() -> None:
    run = em.create_run(hparams={"lr": 0.1})
    hparams = run.hparams
    assert hparams is run.params
    hparams["batch_size"] = 32
    hparams.epochs = 10
    hparams.update(types.SimpleNamespace(lr=0.2, seed=1).__dict__, override=False)
    hparams.update({"layers": (1, 2)})
    assert (hparams.lr, hparams["batch_size"], hparams.epochs, hparams.layers) == (0.1, 32, 10, (1, 2))
    assert list(hparams.keys()) == ["lr", "batch_size", "epochs", "seed", "layers"]
    assert hparams.as_dict() == dict(hparams.items())
    with pytest.raises(AttributeError):
        _ = hparams.momentum
    run.finish()
    assert only_run().config == {"lr": 0.1, "batch_size": 32, "epochs": 10, "seed": 1, "layers": [1, 2]}


def test_how_a_training_is_distributed_is_a_hyperparameter() -> None:
    run = em.create_run()
    run.hparams.parse(
        dist_tf_strategy=types.SimpleNamespace(num_replicas_in_sync=4),
        dist_torch_model=types.SimpleNamespace(device_ids=[0, 1]),
        dist_hvd=types.SimpleNamespace(size=lambda: 8),
    )
    assert run.hparams.dist_tf_replicas == 4
    assert run.hparams.dist_torch_devices == 2
    assert run.hparams.dist_hvd_size == 8


def test_values_of_a_json_file_win_over_arguments(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"name": "cnn", "hparams": {"lr": 0.5}, "folder": "cv", "labels": ["a"]}')
    em.create_run(config_path="run.json", name="other", hparams={"lr": 1}, folder="nlp").finish()
    stored = only_run()
    assert (stored.name, stored.project, stored.tags, stored.config) == ("cnn", "cv", ("a",), {"lr": 0.5})


def test_a_yaml_file_is_read_by_pyyaml(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    parser = types.SimpleNamespace(safe_load=lambda text: {"name": text.split()[-1]}, YAMLError=ValueError)
    monkeypatch.setitem(sys.modules, "yaml", parser)  # type: ignore[arg-type]
    (tmp_path / "run.yaml").write_text("name: cnn\n")
    em.create_run(config_path="run.yaml").finish()
    assert only_run().name == "cnn"


def test_a_yaml_file_without_pyyaml_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)  # type: ignore[arg-type]
    (tmp_path / "run.yaml").write_text("name: cnn\n")
    with pytest.raises(ImportError, match=r"PyYAML is needed to read run.yaml: pip install pyyaml, or write .* JSON"):
        em.create_run(config_path="run.yaml")


def test_the_status_follows_the_run() -> None:
    run = em.create_run(name="x")
    assert (run.status, run.end_timestamp) == ("Running", None)
    run.finish()
    assert run.status == "Complete"
    assert run.end_timestamp is not None
    assert run.start_timestamp <= run.end_timestamp
    assert run.local == only_run().dir


def test_a_second_finish_and_arguments_of_finish_do_nothing() -> None:
    run = em.create_run()
    run.finish()
    run.finish("ignored", state="ignored")
    assert only_run().state == "finished"


def test_an_alternative_name_has_the_name_the_time_and_six_characters() -> None:
    run, artifact = em.create_run(name="cnn"), em.create_artifact("model")
    for name, alternative in (("cnn", run.alternative_name), ("model", artifact.alternative_name)):
        start, date, time, last = alternative.rsplit("_", 3)
        assert (start, len(date), len(time), len(last)) == (name, 6, 6, 6)


def finished_run() -> em.Run:
    run = em.create_run(name="cnn", hparams={"lr": 0.1}, labels=["a"], description="d", folder="cv")
    run.log("train", {"loss": 0.5}, 1, epoch=1)
    run.finish()
    return run


@pytest.mark.parametrize("way", ["local", "alternative_name", "name"])
def test_a_local_run_is_brought_back(way: str) -> None:
    made = finished_run()
    path = {"local": made.local, "alternative_name": f".em/runs/{made.alternative_name}", "name": only_run().uid}[way]
    run = em.load_run(path=path)
    assert run.to_dict() == made.to_dict()
    assert run.hparams.lr == 0.1
    assert run.metrics == {"train": [{"metrics": {"loss": 0.5}, "index": {"step": 1, "epoch": 1}}]}
    assert run.status == "Complete"
    assert {**run.platform, "git": run.git} == {"git": {}, **only_run().environment}
    run.upload(folder=None, make_folder=None)  # type: ignore[arg-type]
    assert len(only_run().attempts()) == 1


def test_a_loaded_run_goes_on_with_its_first_change() -> None:
    run = em.load_run(finished_run().local)
    run.hparams["lr"] = 0.2
    run.log("train", {"loss": 0.25}, 2)
    run.finish()
    stored = only_run()
    assert stored.config == {"lr": 0.2}
    assert stored.history("train/loss").steps.tolist() == [1, 2]
    assert len(stored.attempts()) == 2


def test_a_run_that_is_not_there_is_a_runtime_error(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for path in ("user/cnn", "folder", "cnn_220823_194728_4e48t2"):
        with pytest.raises(RuntimeError, match="there is no run"):
            em.load_run(path)
        with pytest.raises(RuntimeError, match="there is no artifact"):
            em.load_artifact(path)


def test_a_run_is_made_from_its_dict() -> None:
    data = finished_run().to_dict()
    run = em.Run({"name": "empty"})
    run.parse_from_dict(data)
    assert run.to_dict() == {**data, "metadata": {**data["metadata"], "local": ""}}
    assert len(tracker.runs()) == 1  # nothing was recorded by it


def test_a_conflict_strategy_is_checked_and_counts_where_runs_are_sent(capfd: pytest.CaptureFixture[str]) -> None:
    run = em.create_run(name="x", auto_upload=True)
    with pytest.raises(ValueError, match="conflict_strategy must be one of skip, error, new, replace, got 'merge'"):
        run.upload(conflict_strategy="merge")
    with pytest.raises(RuntimeError, match="has a run 'x' already"):
        em.create_run(name="x", auto_upload=True, conflict_strategy="error")
    for strategy in ("skip", "new", "replace", None):
        em.create_run(name="x", auto_upload=True, conflict_strategy=strategy).finish()  # type: ignore[arg-type]
    em.create_run(name="x", conflict_strategy="error").finish()
    assert len(tracker.runs()) == 6
    assert "so this one stays local (conflict_strategy='skip')" in capfd.readouterr().err


def test_another_vendors_host_is_not_contacted(capfd: pytest.CaptureFixture[str]) -> None:
    em.login(ais_host="https://www.example.net/t9k/aistore/server", api_key="k", timeout=1)
    em.logout()
    assert capfd.readouterr().err.splitlines() == [
        "tracker: em.login: no server is known, runs stay local; "
        "the host https://www.example.net/t9k/aistore/server is not contacted"
    ]


def test_callbacks_are_accepted_named_once_and_counted(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_accepted, "counts", {})
    run = em.create_run()
    from tracker.compat.em.keras import EMFitCallback

    callback: Any = EMFitCallback(run)
    assert not callback
    assert not em.keras.EMFitCallback(run).anything(1)
    assert not em.lightning.EMCallback(run)
    run.mark_output(object())
    lines = [line for line in capfd.readouterr().err.splitlines() if "is accepted" in line]
    assert lines == [
        "tracker: em.keras.EMFitCallback is accepted and does nothing: it is not recorded",
        "tracker: em.lightning.EMCallback is accepted and does nothing: it is not recorded",
        "tracker: em.Run.mark_output of builtins.object is accepted and does nothing: it is not recorded",
    ]
    assert _accepted.count("em.keras") == {"EMFitCallback": 2}
    with pytest.raises(AttributeError):
        _ = em.keras.Other
    with pytest.raises(AttributeError):
        _ = em.Model


def test_importing_em_imports_neither_numpy_nor_pillow(script: Script) -> None:
    done = script(
        "import sys; from tracker.compat import em; print(sorted({'numpy', 'PIL', 'yaml'} & set(sys.modules)))"
    )
    assert done.stdout == "[]\n", done.stderr
