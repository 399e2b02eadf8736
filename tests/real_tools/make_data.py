# SPDX-License-Identifier: MIT
"""Writes tests/data/import again by the tools: .venv-import/bin/python tests/real_tools/make_data.py FOLDER"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np


def write_tensorboard(folder: Path) -> None:
    from tensorboard.compat.proto import event_pb2, summary_pb2
    from tensorboard.plugins.hparams import plugin_data_pb2
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
    from tensorboard.util import tensor_util

    def scalars(name: str, count: int, offset: int) -> EventFileWriter:
        writer = EventFileWriter(str(folder / name), filename_suffix=f".{offset}")
        for i in range(count):
            event = event_pb2.Event(wall_time=1700000000.0 + offset + i * 0.25, step=i * 10)
            event.summary.value.add(tag="loss", simple_value=1.0 / (i + 1))
            event.summary.value.add(tag="acc", simple_value=i / float(count))
            writer.add_event(event)
        return writer

    def metadata(plugin: str, data_class: int) -> summary_pb2.SummaryMetadata:
        out = summary_pb2.SummaryMetadata(data_class=data_class)
        out.plugin_data.plugin_name = plugin
        return out

    writer = scalars("train", 50, 0)
    event = event_pb2.Event(wall_time=1700000100.5, step=3)
    scalar = metadata("scalars", summary_pb2.DATA_CLASS_SCALAR)
    event.summary.value.add(tag="double", tensor=tensor_util.make_tensor_proto(np.float64(0.1)), metadata=scalar)
    event.summary.value.add(tag="int", tensor=tensor_util.make_tensor_proto(np.int64(2**53 + 1)), metadata=scalar)
    note = tensor_util.make_tensor_proto(np.array([b"a text"], dtype=object))
    event.summary.value.add(tag="note", tensor=note, metadata=metadata("text", summary_pb2.DATA_CLASS_TENSOR))
    weights = event.summary.value.add(tag="weights")
    weights.histo.min, weights.histo.max = 0, 1
    writer.add_event(event)
    data = plugin_data_pb2.HParamsPluginData()
    data.session_start_info.hparams["lr"].number_value = 0.1
    data.session_start_info.hparams["opt"].string_value = "adam"
    data.session_start_info.hparams["bias"].bool_value = True
    event = event_pb2.Event(wall_time=1700000000.0)
    value = event.summary.value.add(tag="_hparams_/session_start_info")
    value.metadata.plugin_data.plugin_name = "hparams"
    value.metadata.plugin_data.content = data.SerializeToString()
    writer.add_event(event)
    writer.close()
    scalars("val", 10, 1).close()


WANDB = """
import wandb
settings = wandb.Settings(x_disable_stats=True, x_disable_meta=True, disable_git=True, disable_code=True)
config = {"lr": 0.1, "opt": {"name": "adam", "betas": [0.9, 0.999]}, "seed": 7}
run = wandb.init(project="mnist", name="brisk", tags=["a", "b"], notes="a note", config=config, group="g",
                 job_type="train", settings=settings)
for i in range(20):
    row = {"loss": 1 / (i + 1), "acc": i / 20}
    if i % 5 == 0: row["val/loss"] = 0.1 * i
    if i == 7: row["loss"] = float("nan")
    if i == 8: row["loss"] = float("inf")
    wandb.log(row, step=i * 2)
wandb.log({"nested": {"x": 1, "y": 2.5}, "note": "a text", "big": 2**53 + 1, "flag": True}, step=50)
run.summary["best"] = 0.98
print("hello from the run")
run.finish()
"""


# Media, names that change after init, and settings that look like W&B's own wrapper.
WANDB_MEDIA = """
import io, wave, numpy as np, wandb
settings = wandb.Settings(x_disable_stats=True, x_disable_meta=True, disable_git=True, disable_code=True,
                          console="off")
run = wandb.init(project="mnist", name="first", tags=["a"], notes="one", config={"thr": {"value": 0.5}},
                 settings=settings)
def pixels(value, caption=None): return wandb.Image(np.full((4, 6, 3), value, np.uint8), caption=caption)
with wave.open("tone.wav", "wb") as file:
    file.setnchannels(1), file.setsampwidth(2), file.setframerate(8000), file.writeframes(bytes(16))
with open("dot.gif", "wb") as file:
    file.write(bytes.fromhex("47494638396101000100800000000000ffffff2c00000000010001000002024401003b"))
run.log({"loss": 0.5, "img": pixels(7, "seven"), "nested": {"img": pixels(1), "x": 2}})
run.log({"loss": 0.25, "hist": wandb.Histogram(np_histogram=([2, 3], [0.0, 1.0, 2.0]))})
run.log({"many": [pixels(2, "two"), pixels(3, "three")], "page": wandb.Html("<b>x</b>", inject=False)})
run.log({"table": wandb.Table(columns=["n", "name"], data=[[1, "x"], [2, "y"]])})
run.log({"tone": wandb.Audio("tone.wav"), "film": wandb.Video("dot.gif"), "cloud": wandb.Object3D(np.ones((5, 3)))})
box = {"position": {"minX": 0, "maxX": 1, "minY": 0, "maxY": 1}, "class_id": 1}
run.log({"boxed": wandb.Image(np.zeros((4, 6, 3), np.uint8), boxes={"found": {"box_data": [box]}})})
half = {"position": {"minX": 0.5, "maxX": 1, "minY": 0.25, "maxY": 0.5}, "class_id": 1, "scores": {"sure": 0.75}}
middle = {"position": {"middle": [3, 2], "width": 2, "height": 2}, "domain": "pixel", "class_id": 2,
          "box_caption": "a dog", "scores": {"sure": 0.5, "iou": 0.25}}
classes = {1: "cat", 2: "dog"}
def seen(): return wandb.Image(np.zeros((4, 6, 3), np.uint8), caption="seen",
    boxes={"found": {"box_data": [half, middle], "class_labels": classes}, "true": {"box_data": [half]}},
    masks={"parts": {"mask_data": np.arange(24, dtype=np.uint8).reshape(4, 6) % 3, "class_labels": classes}})
run.log({"seen": seen(), "nested": {"seen": seen()}})
run.log({"both": [pixels(5, "five"), seen()]})
run.name, run.notes, run.tags = "second", "two", ("a", "b")
run.config.update({"later": 5})
run.finish()
"""


def run_wandb(program: str, scratch: str) -> Path:
    """The folder of its run."""
    env = {**os.environ, "WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_DIR": scratch}
    subprocess.run([sys.executable, "-c", program], check=True, env=env, cwd=scratch, stdout=subprocess.DEVNULL)
    (folder,) = Path(scratch, "wandb").glob("offline-run-*")
    return folder


def write_wandb(folder: Path) -> None:
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        for path in run_wandb(WANDB, scratch).glob("run-*.wandb"):
            shutil.copy(path, folder)


def write_wandb_media(folder: Path) -> None:
    """The run's file and the media beside it."""
    with tempfile.TemporaryDirectory() as scratch:
        run = run_wandb(WANDB_MEDIA, scratch)
        for path in (*run.glob("run-*.wandb"), *(run / "files" / "media").rglob("*.*")):
            place = folder / path.relative_to(run)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)


def write_mlflow(uri: str) -> None:
    import mlflow

    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment("mnist")
    with mlflow.start_run(run_name="brisk", description="a note"):
        mlflow.log_params({"lr": 0.1, "opt": "adam"})
        mlflow.set_tag("team", "vision")
        for i in range(20):
            mlflow.log_metric("loss", 1 / (i + 1), step=i)
            mlflow.log_metric("val/acc", i / 20, step=i)
        mlflow.log_metric("loss", float("nan"), step=20)


def write_mlflow_model(folder: Path) -> None:
    """For tests with MLflow itself alone: it writes what its environment is."""
    import mlflow

    class Echo(mlflow.pyfunc.PythonModel):
        def predict(self, context: object, model_input: list[str]) -> list[str]:
            return model_input

    os.chdir(folder)  # where it puts mlruns beside a database
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    mlflow.set_experiment("mnist")
    with mlflow.start_run(run_name="brisk"):
        mlflow.log_dict({"a": 1}, "settings.json")
        mlflow.pyfunc.log_model(name="net", python_model=Echo(), pip_requirements=[])


def write_mlflow_media(uri: str) -> None:
    """Files that become media, and those that do not: JSON, an image of a table's cell, weights."""
    import mlflow
    from matplotlib.figure import Figure
    from PIL import Image

    def pixels(value: int) -> np.ndarray:
        return np.full((4, 6, 3), value, np.uint8)

    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment("mnist")
    with mlflow.start_run(run_name="seen"), tempfile.TemporaryDirectory() as scratch:
        mlflow.log_metric("loss", 0.5, step=0)
        for step in (1, 2, 10):
            mlflow.log_image(pixels(step), key="val/dogs", step=step)
        mlflow.log_image(pixels(7), "still.png")
        mlflow.log_figure(Figure(figsize=(0.2, 0.1)), "plots/figure.png")
        mlflow.log_text("a text", "note.txt")
        mlflow.log_text("<b>x</b>", "page.html")
        mlflow.log_text("**b**", "notes/more.md")
        mlflow.log_dict({"a": 1}, "settings.json")
        mlflow.log_table({"n": [1, 2], "name": ["x", None], "score": [0.5, 1.0]}, "table.json")
        mlflow.log_table({"n": [1], "img": [Image.fromarray(pixels(3))]}, "cells.json")
        weights = Path(scratch, "weights.bin")
        weights.write_bytes(b"abc")
        mlflow.log_artifact(str(weights))


TRACKIO = """
import trackio
for lr in (0.1, 0.2):  # two runs of one name
    trackio.init(project="mnist", name="brisk", group="g", config={"lr": lr, "opt": {"name": "adam"}},
                 auto_log_cpu=False, auto_log_gpu=False)
    for i in range(20):
        trackio.log({"loss": 1 / (i + 1), "acc": i / 20, "n": i}, step=i * 2)
    trackio.log({"loss": float("nan")}, step=40)
    trackio.log({"loss": float("inf"), "nested": {"x": 1, "y": 2.5}, "note": "a text"}, step=42)
    trackio.finish()
"""


# Media of each kind; a cloud of points, the images in a table and an alert have no place with us.
TRACKIO_MEDIA = """
import numpy as np, trackio
trackio.init(project="mnist", name="seen", auto_log_cpu=False, auto_log_gpu=False)
def pixels(value, caption=None): return trackio.Image(np.full((4, 6, 3), value, np.uint8), caption=caption)
with open("dot.gif", "wb") as file:
    file.write(bytes.fromhex("47494638396101000100800000000000ffffff2c00000000010001000002024401003b"))
trackio.log({"loss": 0.5, "img": pixels(7, "seven")}, step=0)
trackio.log({"loss": 0.25, "img": pixels(8)}, step=2)
tone = trackio.Audio(np.zeros(8, np.int16), sample_rate=8000, caption="quiet")
trackio.log({"tone": tone, "film": trackio.Video("dot.gif", caption="a dot")}, step=3)
trackio.log({"hist": trackio.Histogram(np_histogram=([2, 3], [0.0, 1.0, 2.0]))}, step=3)
rows = [[1, "x", 0.5, 1, pixels(1)], [2, "y", float("nan"), "two", pixels(2)]]
trackio.log({"table": trackio.Table(columns=["n", "name", "score", "mixed", "img"], data=rows)}, step=4)
trackio.log({"page": trackio.Html("<b>x</b>", inject=False, caption="bold"), "md": trackio.Markdown("**b**")}, step=5)
trackio.log({"cloud": trackio.Object3D(np.ones((5, 3)))}, step=6)
trackio.alert("too high", "the loss")
trackio.finish()
"""


def write_trackio(folder: Path, program: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        env = {**os.environ, "TRACKIO_DIR": str(folder), "HF_HUB_OFFLINE": "1", "HF_HOME": scratch}
        subprocess.run([sys.executable, "-c", program], check=True, env=env, cwd=scratch, stdout=subprocess.DEVNULL)
    for path in folder.glob("*.lock"):
        path.unlink()


SWANLAB = """
import swanlab
swanlab.init(project="mnist", experiment_name="brisk", description="a note", group="g", job_type="train",
             config={"lr": 0.1, "opt": {"name": "adam", "betas": [0.9, 0.999]}}, tags=["a", "b"], mode="offline",
             logdir=".")
for i in range(20):
    swanlab.log({"loss": 1 / (i + 1), "acc": i / 20, "n": i}, step=i * 2)
swanlab.log({"loss": float("nan")}, step=40)
swanlab.log({"loss": float("inf"), "nested": {"x": 1, "y": 2.5}, "note": swanlab.Text("a text")}, step=42)
print("hello from the run")
swanlab.finish()
"""


# Media of each kind; a BMP and a cloud of points have no place with us.
SWANLAB_MEDIA = """
import numpy as np, swanlab
from pyecharts.charts import Bar
swanlab.init(project="mnist", experiment_name="seen", mode="offline", logdir=".")
def pixels(value, caption=None, type="png"):
    return swanlab.Image(np.full((4, 6, 3), value, np.uint8), caption=caption, file_type=type)
with open("dot.gif", "wb") as file:
    file.write(bytes.fromhex("47494638396101000100800000000000ffffff2c00000000010001000002024401003b"))
swanlab.log({"loss": 0.5, "img": pixels(7, "seven"), "nested": {"img": pixels(1)}}, step=0)
swanlab.log({"loss": 0.25, "many": [pixels(2, "two"), pixels(3, "three"), pixels(2)], "img": pixels(8)}, step=2)
tone = swanlab.Audio(np.zeros(8, np.int16), 8000, caption="quiet")
swanlab.log({"tone": tone, "photo": pixels(1, type="jpg")}, step=3)
swanlab.log({"film": swanlab.Video("dot.gif", caption="a dot"), "bmp": pixels(1, type="bmp")}, step=3)
bar = Bar()
bar.add_xaxis(["a", "b"])
bar.add_yaxis("n", [1, 2])
swanlab.log({"page": swanlab.Html("<b>x</b>", caption="bold"), "chart": bar}, step=4)
swanlab.log({"note": swanlab.Text("a text"), "said": swanlab.Text("hello", caption="a word"),
             "notes": [swanlab.Text("one"), swanlab.Text("two")]}, step=5)
swanlab.log({"cloud": swanlab.Object3D(np.ones((5, 3)))}, step=6)
swanlab.finish()
"""


def write_swanlab(folder: Path, program: str) -> None:
    """What is kept of its folder: the run's file, the media, the config. The rest says what machine it was."""
    with tempfile.TemporaryDirectory() as scratch:
        env = {**os.environ, "HOME": scratch}
        subprocess.run([sys.executable, "-c", program], check=True, env=env, cwd=scratch, stdout=subprocess.DEVNULL)
        (path,) = Path(scratch).glob("run-*/run-*.swanlab")
        for name in (
            path.name,
            "files/config.yaml",
            *(str(p.relative_to(path.parent)) for p in path.parent.glob("media/*/*")),
        ):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path.parent / name, folder / name)


PACKED = ("mlflow", "mlflow_media", "swanlab", "swanlab_media", "trackio_media", "wandb_media")  # folders of many files


def write_all(folder: Path) -> None:
    write_tensorboard(folder / "tensorboard")
    write_wandb(folder / "wandb")
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "1"
    with tempfile.TemporaryDirectory() as scratch:
        write_mlflow(Path(scratch, "mlflow", "mlruns").as_uri())
        write_mlflow_media(Path(scratch, "mlflow_media", "mlruns").as_uri())
        write_swanlab(Path(scratch, "swanlab"), SWANLAB)
        write_swanlab(Path(scratch, "swanlab_media"), SWANLAB_MEDIA)
        write_trackio(Path(scratch, "trackio_media"), TRACKIO_MEDIA)
        write_wandb_media(Path(scratch, "wandb_media"))
        for name in PACKED:
            with tarfile.open(folder / f"{name}.tar.gz", "w:gz") as packed_files:
                packed_files.add(Path(scratch, name), name)
        write_mlflow(f"sqlite:///{scratch}/mlflow.db")
        packed = gzip.compress(Path(scratch, "mlflow.db").read_bytes(), mtime=0)
        write_trackio(Path(scratch, "trackio"), TRACKIO)
        packed_trackio = gzip.compress(Path(scratch, "trackio", "mnist.db").read_bytes(), mtime=0)
    (folder / "mlflow.db.gz").write_bytes(packed)
    (folder / "trackio.db.gz").write_bytes(packed_trackio)


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
