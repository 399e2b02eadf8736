# SPDX-License-Identifier: MIT
"""Goal: what the current versions of TensorBoard, W&B, MLflow, Trackio and SwanLab write is read, and TensorBoard
reads what we write.

Method: the files of tests/data/import are made again by the tools that are installed here (tools/test-import.sh).
"""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import math
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tracker
from unpack import unpack_tar


def load_maker() -> object:
    spec = importlib.util.spec_from_file_location("make_data", Path(__file__).with_name("make_data.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    maker = load_maker()
    maker.write_all(folder)  # type: ignore[attr-defined]
    for name in maker.PACKED:  # type: ignore[attr-defined]
        unpack_tar(folder / f"{name}.tar.gz", folder)
    for name in ("mlflow.db", "trackio.db"):
        (folder / name).write_bytes(gzip.decompress((folder / f"{name}.gz").read_bytes()))
    return folder


def command(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "tracker", *map(str, arguments)], check=True, timeout=300)


@pytest.mark.parametrize("source", ["tensorboard/train", "wandb", "mlflow", "mlflow.db", "swanlab"])
def test_what_a_tool_writes_today_is_read(tmp_path: Path, data: Path, source: str) -> None:
    command("import", data / source, "--dir", tmp_path / "s")
    (run,) = tracker.runs(dir=str(tmp_path / "s"))
    values = run.history("loss").values.tolist()
    assert values[0] == 1.0
    assert values[1] == 0.5
    assert run.config["lr"] in (0.1, "0.1")


def test_media_that_wandb_writes_today_are_read(tmp_path: Path, data: Path) -> None:
    command("import", data / "wandb_media", "--dir", tmp_path / "s")
    (run,) = tracker.runs(dir=str(tmp_path / "s"))
    assert run.series() == ["loss", "nested/x"]
    names = [
        "both",
        "boxed",
        "film",
        "hist",
        "img",
        "many",
        "nested/img",
        "nested/seen",
        "page",
        "seen",
        "table",
        "tone",
    ]
    assert run.media_names() == names
    assert run.media("seen")[0].info["boxes"]["found"][0] == {
        "box": [3.0, 1.0, 6.0, 2.0],
        "label": "cat",
        "score": 0.75,
    }
    assert run.media("nested/seen")[0].info["masks"]["parts"]["labels"] == {"1": "cat", "2": "dog"}
    assert (run.name, run.notes, run.tags) == ("second", "two", ("a", "b"))


def test_runs_of_one_name_that_trackio_writes_today_are_runs_of_their_own(tmp_path: Path, data: Path) -> None:
    command("import", data / "trackio.db", "--format", "trackio", "--dir", tmp_path / "s")
    runs = tracker.runs(dir=str(tmp_path / "s"))
    assert sorted(run.config["lr"] for run in runs) == [0.1, 0.2]
    for run in runs:
        loss = run.history("loss")
        assert loss.steps.tolist() == [*range(0, 42, 2), 42]
        assert loss.values[1] == 0.5
        assert math.isnan(loss.values[20])
        assert loss.values[21] == math.inf
        assert run.history("nested/y").values.tolist() == [2.5]
        assert run.group == "g"


def test_artifacts_that_mlflow_writes_today_become_media(tmp_path: Path, data: Path) -> None:
    command("import", data / "mlflow_media", "--dir", tmp_path / "s")
    (run,) = tracker.runs(dir=str(tmp_path / "s"))
    names = ["cells.json", "note.txt", "notes/more.md", "page.html", "plots/figure.png", "still.png", "table.json"]
    assert run.media_names() == [*names, "val/dogs"]
    assert [entry.step for entry in run.media("val/dogs")] == [1, 2, 10]


def test_models_and_other_files_that_mlflow_writes_today_become_artifacts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "source").mkdir()
    monkeypatch.chdir(tmp_path)
    load_maker().write_mlflow_model(tmp_path / "source")  # type: ignore[attr-defined]
    (tmp_path / "source").rename(tmp_path / "moved")
    command("import", tmp_path / "moved", "--dir", tmp_path / "s")
    (run,) = tracker.runs(dir=str(tmp_path / "s"))
    found = {use.name: use.artifact() for use in run.outputs}
    assert list(found) == ["mnist/brisk-artifacts:v0", "mnist/brisk-net:v0"]
    assert [file.name for file in found["mnist/brisk-artifacts:v0"].files()] == ["settings.json"]
    model = found["mnist/brisk-net:v0"]
    assert model.type == "model"
    assert {"MLmodel", "python_model.pkl"} <= {file.name for file in model.files()}
    loaded = importlib.import_module("mlflow").pyfunc.load_model(str(model.download(tmp_path / "out")))
    assert loaded.predict(["x"]) == ["x"]


def test_media_that_trackio_writes_today_are_read(tmp_path: Path, data: Path) -> None:
    command("import", data / "trackio_media", "--format", "trackio", "--dir", tmp_path / "s")
    (run,) = tracker.runs(dir=str(tmp_path / "s"))
    assert run.series() == ["loss"]
    assert run.media_names() == ["film", "hist", "img", "md", "page", "table", "tone"]
    assert [entry.caption for entry in run.media("img")] == ["seven", None]
    assert [(alert.level, alert.title, alert.text, alert.step) for alert in run.alerts] == [
        ("warn", "too high", "the loss", 6)
    ]


def test_what_swanlab_writes_today_keeps_config_names_and_texts(tmp_path: Path, data: Path) -> None:
    command("import", data / "swanlab", "--dir", tmp_path / "s")
    (run,) = tracker.runs(dir=str(tmp_path / "s"))
    assert (run.project, run.name, run.state, run.notes, run.group) == ("mnist", "brisk", "finished", "a note", "g")
    assert run.config == {"lr": 0.1, "opt": {"name": "adam", "betas": [0.9, 0.999]}}
    assert [row.text for row in run.texts("note")] == ["a text"]


def test_media_that_swanlab_writes_today_are_read(tmp_path: Path, data: Path) -> None:
    command("import", data / "swanlab_media", "--dir", tmp_path / "s")
    (run,) = tracker.runs(dir=str(tmp_path / "s"))
    assert run.series() == ["loss"]
    assert run.text_names() == ["note"]
    names = ["chart", "film", "img", "many", "nested/img", "notes", "page", "photo", "said", "tone"]
    assert run.media_names() == names
    assert [entry.caption for entry in run.media("many")] == ["two", "three", None]


def test_tensorboard_reads_what_is_exported_for_it(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing import event_accumulator, event_file_loader
    from tensorboard.util import tensor_util

    numbers = [math.sin(step) for step in range(100)]
    run = tracker.init(project="mnist", id="otter", dir=str(tmp_path / "s"), config={"lr": 0.1}, quiet=True)
    for step, number in enumerate(numbers):
        run.log({"loss": number, "narrow": np.float32(number)}, step=step)
    run.log({"note": "a text"}, step=3)
    run.finish()
    out = tmp_path / "tb"
    command("export", "otter", "--format", "tensorboard", "--float64", "-o", out, "--dir", tmp_path / "s")
    (file,) = out.iterdir()
    events = list(event_file_loader.EventFileLoader(str(file)).Load())
    read = [
        (event.step, tensor_util.make_ndarray(value.tensor).item())
        for event in events
        for value in event.summary.value
        if value.tag == "loss/exact"
    ]
    assert read == list(enumerate(numbers))
    # Without a guide ten tensors of a tag are kept, drawn at random.
    accumulator = event_accumulator.EventAccumulator(
        str(out), {event_accumulator.TENSORS: 0, event_accumulator.SCALARS: 0}
    )
    accumulator.Reload()
    narrow = [struct.unpack("<f", struct.pack("<f", number))[0] for number in numbers]
    for name in ("loss", "narrow"):
        assert [(one.step, one.value) for one in accumulator.Scalars(name)] == list(enumerate(narrow))
    assert "note" in accumulator.Tags()["tensors"]


def test_tensorboard_follows_a_live_run_and_forgets_what_a_resume_shadows(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing import plugin_event_accumulator as event_accumulator

    board = tmp_path / "board"
    options = {"project": "mnist", "dir": str(tmp_path / "s"), "tensorboard": board, "quiet": True}
    run = tracker.init(id="otter", **options)  # type: ignore[arg-type]
    for step in range(100):
        run.log({"loss": step}, step=step)
    run.finish()
    accumulator = event_accumulator.EventAccumulator(str(board / "mnist" / "otter"), {event_accumulator.TENSORS: 0})
    accumulator.Reload()
    assert [one.step for one in accumulator.Tensors("loss")] == list(range(100))
    run = tracker.init(resume_from="otter@49", **options)  # type: ignore[arg-type]
    for step in range(50, 60):
        run.log({"loss": -step}, step=step)
    run.finish()
    accumulator.Reload()  # continues after the marks
    assert [one.step for one in accumulator.Tensors("loss")] == list(range(60))
    fresh = event_accumulator.EventAccumulator(str(board / "mnist" / "otter"), {event_accumulator.TENSORS: 0})
    fresh.Reload()
    assert [one.step for one in fresh.Tensors("loss")] == list(range(60))
