# SPDX-License-Identifier: MIT
"""Goal: media and artifacts of the drop-in for wandb are stored as tracker's.
Method: log through the drop-in, read back with tracker.open_run and tracker.artifact."""

from __future__ import annotations

import os
import types
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import PIL.Image
import pytest
import tracker
import tracker.compat.wandb as wandb


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("WANDB_"):
            monkeypatch.delenv(name)


@pytest.fixture
def wandb_run() -> wandb.Run:
    return wandb.init(project="p", id="m")


def entries(key: str) -> list[Any]:
    wandb.finish()
    return list(tracker.open_run("p/m").media(key))


def test_floats_of_an_image_are_parts_of_255(wandb_run: wandb.Run) -> None:
    wandb_run.log({"i": wandb.Image(np.array([[0.0, 0.5], [1.0, 0.25]]), caption="c")})
    (entry,) = entries("i")
    assert (entry.kind, entry.caption, entry.load().tolist()) == ("image", "c", [[0, 127], [255, 63]])


def test_ints_beyond_a_byte_are_cut_off_and_negative_floats_are_spread(wandb_run: wandb.Run) -> None:
    wandb_run.log({"i": [wandb.Image(np.array([[300, -5]])), wandb.Image(np.array([[-1.0, 1.0]]))]})
    assert [entry.load().tolist() for entry in entries("i")] == [[[255, 0]], [[0, 255]]]


def test_boxes_and_masks_have_the_names_of_their_classes(wandb_run: wandb.Run) -> None:
    box = {"position": {"minX": 0.5, "maxX": 1.0, "minY": 0.0, "maxY": 0.5}, "class_id": 1, "scores": {"s": 0.9}}
    middle = {"position": {"middle": [2, 2], "width": 2, "height": 2}, "domain": "pixel", "box_caption": "own"}
    image = wandb.Image(
        np.zeros((4, 8), np.uint8),
        boxes={"pred": {"box_data": [box, middle], "class_labels": {1: "cat"}}},
        masks={"truth": {"mask_data": np.ones((4, 8), np.uint8), "class_labels": {1: "dog"}}},
    )
    assert (image.width, image.height) == (8, 4)
    wandb_run.log({"i": image})
    (entry,) = entries("i")
    assert entry.info["boxes"]["pred"] == [
        {"box": [4.0, 0.0, 8.0, 2.0], "label": "cat", "score": 0.9},
        {"box": [1.0, 1.0, 3.0, 3.0], "label": "own"},
    ]
    assert entry.info["masks"]["truth"]["labels"] == {"1": "dog"}


def test_an_image_takes_a_file_another_image_and_pillow(wandb_run: wandb.Run, tmp_path: Path) -> None:
    picture = PIL.Image.new("RGB", (3, 2), (255, 0, 0))
    picture.save(tmp_path / "a.png")
    of_file = wandb.Image(str(tmp_path / "a.png"))
    wandb_run.log({"i": [of_file, wandb.Image(of_file), wandb.Image(picture, mode="L")]})
    assert [entry.load().shape for entry in entries("i")] == [(2, 3, 3), (2, 3, 3), (2, 3)]


def test_a_table_grows_and_is_stored_with_its_columns(wandb_run: wandb.Run) -> None:
    table = wandb.Table(columns=["id", "text", "mixed"])
    table.add_data(1, "a", 5)
    table.add_data(2, "b", "x")
    table.add_column("score", [0.5, 0.25])
    assert table.get_column("score", convert_to="numpy").tolist() == [0.5, 0.25]
    assert list(table.iterrows())[1] == (1, [2, "b", "x", 0.25])
    assert wandb.Table(columns=table.columns, data=table.data) == table
    with pytest.raises(ValueError, match="columns"):
        table.add_data(1)
    wandb_run.log({"a": {"t": table}})
    table.add_data(3, "later", 1, 1.0)
    (entry,) = entries("a.t")
    assert entry.load().to_rows() == [(1, "a", 5, 0.5), (2, "b", "x", 0.25)]


def test_images_in_the_cells_of_a_table_are_stored_with_it(wandb_run: wandb.Run) -> None:
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    wandb_run.log({"t": wandb.Table(columns=["id", "image"], data=[[1, wandb.Image(pixels)], [2, None]])})
    (entry,) = entries("t")
    assert np.array_equal(entry.load().columns["image"][0].load(), pixels)


def test_frames_and_arrays_are_media_without_a_constructor(wandb_run: wandb.Run) -> None:
    frame = pandas.DataFrame({"a": [1, 2]})
    assert wandb.Table(dataframe=frame).get_dataframe().equals(frame)
    wandb_run.log({"frame": frame, "array": np.arange(10.0)})
    wandb.finish()
    stored = tracker.open_run("p/m")
    assert stored.media("frame")[0].load().to_rows() == [(1,), (2,)]
    assert stored.media("array")[0].kind == "histogram"


class Figure:
    """What the test needs of a figure of matplotlib."""

    def savefig(self, out: Any, format: str) -> None:
        PIL.Image.new("L", (5, 4)).save(out, format)


def test_pyplot_itself_is_logged_as_its_current_figure(wandb_run: wandb.Run) -> None:
    pyplot = types.ModuleType("matplotlib.pyplot")
    pyplot.gcf = Figure  # type: ignore[attr-defined]
    wandb_run.log({"direct": pyplot, "image": wandb.Image(pyplot)})
    wandb.finish()
    stored = tracker.open_run("p/m")
    assert [stored.media(name)[0].load().shape for name in ("direct", "image")] == [(4, 5), (4, 5)]


def test_other_media_are_stored(wandb_run: wandb.Run) -> None:
    counts = np.histogram([1, 2, 2], bins=2)
    wandb_run.log({
        "h": wandb.Histogram([1, 2, 3], num_bins=3), "n": wandb.Histogram(np_histogram=counts),
        "p": wandb.Html("<p>x</p>"), "s": wandb.Audio(np.zeros(100, np.float32), sample_rate=8000),
        "v": wandb.Video(np.zeros((2, 3, 8, 8), np.uint8), fps=2),
    })  # fmt: skip
    wandb.finish()
    stored = tracker.open_run("p/m")
    kinds = {name: stored.media(name)[0].kind for name in stored.media_names()}
    assert kinds == {"h": "histogram", "n": "histogram", "p": "html", "s": "audio", "v": "video"}


def test_an_artifact_is_logged_and_used_by_its_name(wandb_run: wandb.Run, data: Path, tmp_path: Path) -> None:
    artifact = wandb.Artifact("model", type="model", description="d", metadata={"acc": 1})
    artifact.add_file(str(data / "one.bin"), name="weights.bin")
    artifact.add_dir(str(data / "sub"), name="more")
    artifact.add_reference("s3://bucket/x", name="far")
    with artifact.new_file("note.txt", mode="w") as file:
        file.write("hello")
    artifact.metadata["loss"] = 2
    assert artifact.is_draft()
    logged = wandb.log_artifact(artifact, aliases=["best", "latest"])
    assert logged is artifact
    assert (logged.qualified_name, logged.version, logged.state) == ("p/model:v0", "v0", "COMMITTED")
    assert sorted(logged.manifest.entries) == ["far", "more/two.bin", "note.txt", "weights.bin"]
    assert logged.manifest.entries["weights.bin"].size == 100
    used = wandb.use_artifact("me/p/model:best", type="model")
    assert (used.name, used.metadata, used.description) == ("model:v0", {"acc": 1, "loss": 2}, "d")
    assert Path(used.get_path("note.txt").download()).read_text() == "hello"
    assert used.download() == str(tmp_path / "artifacts" / "model:v0")
    assert (Path(used.download(root=str(tmp_path / "here"))) / "more" / "two.bin").stat().st_size == 50
    with pytest.raises(KeyError):
        used.get_entry("none")
    wandb.finish()
    stored = tracker.open_run("p/m")
    assert [use.name for use in stored.outputs] == ["p/model:v0"]
    assert [use.name for use in stored.inputs] == ["p/model:v0"]


def test_a_table_in_an_artifact_comes_back(wandb_run: wandb.Run) -> None:
    artifact = wandb.Artifact("tables", type="data")
    table = wandb.Table(columns=["a", "b"], data=[[1, "x"]])
    artifact.add(table, "results")
    wandb_run.log_artifact(artifact).wait()
    assert wandb_run.use_artifact("tables:latest").get("results") == table
    assert artifact.get("nothing") is None


def test_the_same_content_is_the_same_version_and_a_path_is_an_artifact(wandb_run: wandb.Run, data: Path) -> None:
    for _ in range(2):
        logged = wandb_run.log_artifact(str(data / "one.bin"), name="one", type="file")
        assert logged.wait().version == "v0"
    assert wandb_run.log_artifact(data, type="dataset").wait().name == "run-m-data:v0"


def test_aliases_are_changed_and_saved(wandb_run: wandb.Run, data: Path) -> None:
    artifact = wandb.Artifact("one", "file")
    artifact.add_file(data / "one.bin")
    wandb_run.log_artifact(artifact).wait()
    artifact.aliases.append("prod")
    artifact.save()
    artifact.wait()
    assert "prod" in tracker.artifact("p/one:v0").aliases


def test_an_artifact_that_does_not_exist_is_an_error_of_the_original(wandb_run: wandb.Run) -> None:
    with pytest.raises(wandb.CommError):
        wandb_run.use_artifact("missing:latest")
