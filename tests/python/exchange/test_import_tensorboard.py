# SPDX-License-Identifier: MIT
"""Goal: what a SummaryWriter wrote is one run, an image in an event file is an image of it with the bytes it had, and
what is exported is found by every reader.

Method: files of tensorboardX, and an event as torch's SummaryWriter writes it, imported by the command.
"""

from __future__ import annotations

import io
import math
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tracker
from importing import import_json, opened
from PIL import Image
from tensorboardX import SummaryWriter
from tensorboardX.proto.event_pb2 import Event


def masked_crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def field(number: int, data: bytes) -> bytes:
    size = bytes([len(data)]) if len(data) < 128 else bytes([len(data) & 127 | 128, len(data) >> 7])
    return bytes([number << 3 | 2]) + size + data


def record(event: bytes) -> bytes:
    head = struct.pack("<Q", len(event))
    return head + struct.pack("<I", masked_crc32c(head)) + event + struct.pack("<I", masked_crc32c(event))


def test_an_image_in_an_event_file_becomes_an_image_of_the_run(tmp_path: Path) -> None:
    png = io.BytesIO()
    Image.new("RGB", (6, 4), (1, 2, 3)).save(png, "PNG")
    image = bytes([0x08, 4, 0x10, 6]) + field(4, png.getvalue())
    summary = field(1, field(1, b"img") + field(4, image))
    event = b"\x09" + struct.pack("<d", 1.7e9) + b"\x10\x05" + field(5, summary)
    source = tmp_path / "logs" / "events.out.tfevents.1.host"
    source.parent.mkdir()
    source.write_bytes(record(event))
    report = import_json(tmp_path / "s", source)
    assert report["runs"][0]["media"] == 1
    assert report["left_out"] == {}
    (entry,) = opened(tmp_path / "s", report).media("img")
    assert (entry.step, entry.time, entry.bytes) == (5, 1.7e9, png.getvalue())
    assert entry.load().tolist() == [[[1, 2, 3]] * 6] * 4


def logged_by_one_writer(folder: Path) -> None:
    with SummaryWriter(str(folder)) as writer:
        for i in range(5):
            writer.add_scalar("loss", 1 / (i + 1), i)
            writer.add_scalars("losses/all", {"train": i, "val": 2 * i}, i)
        writer.add_hparams({"lr": 0.1, "opt": "adam"}, {"hparam/acc": 0.9})


# Bug (pytorch#32651): curves and their hyperparameters were runs that nothing connected.
def test_what_one_summary_writer_wrote_is_one_run(tmp_path: Path) -> None:
    for name in ("exp1", "exp2"):
        logged_by_one_writer(tmp_path / "tb" / name)
    report = import_json(tmp_path / "s", tmp_path / "tb")
    assert [run["id"] for run in report["runs"]] == ["exp1", "exp2"]
    assert report["left_out"] == {}
    run = opened(tmp_path / "s", report)
    assert run.config == {"lr": 0.1, "opt": "adam"}
    assert {name: len(run.history(name)) for name in run.series()} == {
        "hparam/acc": 1,
        "loss": 5,
        "losses/all/train": 5,
        "losses/all/val": 5,
    }
    assert not any(run["changed"] for run in import_json(tmp_path / "s", tmp_path / "tb")["runs"])
    assert len(import_json(tmp_path / "t", tmp_path / "tb", "--no-join")["runs"]) == 8
    again = import_json(tmp_path / "t", tmp_path / "tb")
    assert len(again["runs"]) == 8
    assert not any(run["changed"] for run in again["runs"])


def test_folders_that_torch_makes_for_add_scalars_are_of_the_run_too(tmp_path: Path) -> None:
    # torch joins tag and key with "_", tensorboardX with "/".
    folders = {"": "loss", "losses_all_train": "losses/all", "losses_all_val_x": "losses/all", "other": "losses/all"}
    for folder, tag in folders.items():
        with SummaryWriter(str(tmp_path / "exp" / folder)) as writer:
            writer.add_scalar(tag, 0.5, 0)
    report = import_json(tmp_path / "s", tmp_path / "exp")
    assert [run["id"] for run in report["runs"]] == ["exp", "other"]
    assert opened(tmp_path / "s", report).series() == ["loss", "losses/all/train", "losses/all/val_x"]


def test_a_writer_that_was_given_several_sets_of_hyperparameters_logged_several_trials(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path / "tb")) as writer:
        for i in range(3):
            writer.add_hparams({"lr": 0.1 * i}, {"hparam/acc": i}, name=f"trial{i}")
    report = import_json(tmp_path / "s", tmp_path / "tb")
    configs = [opened(tmp_path / "s", report, i).config for i in range(len(report["runs"]))]
    assert sorted(config["lr"] for config in configs if config) == [0.0, 0.1, 0.2]


def test_folders_of_train_and_validation_are_one_run_when_i_join_them(tmp_path: Path) -> None:
    for name in ("a/train", "a/validation", "b/train"):
        with SummaryWriter(str(tmp_path / "tb" / name)) as writer:
            for tag in ("epoch_loss", "epoch_acc"):
                writer.add_scalar(tag, 0.5, 0)
    assert len(import_json(tmp_path / "s", tmp_path / "tb")["runs"]) == 3
    report = import_json(tmp_path / "t", tmp_path / "tb", "--join")
    assert [run["id"] for run in report["runs"]] == ["a", "b"]
    expected = [f"{part}/{tag}" for part in ("train", "validation") for tag in ("epoch_acc", "epoch_loss")]
    assert opened(tmp_path / "t", report).series() == expected


def test_an_export_to_tensorboard_has_scalars_that_every_reader_finds_and_the_exact_ones_beside_them(
    store: Path, tmp_path: Path
) -> None:
    with tracker.init(project="p", id="r", quiet=True) as run:
        for step, value in enumerate([0.1, 0.5, 1e300]):
            run.log({"loss": value, "half": 0.5, "int": 2**60 + step}, step=step)
    for arguments in ((), ("--float64",)):
        folder = tmp_path / f"tb{len(arguments)}"
        command = ["export", "p/r", "--format", "tensorboard", "--output", folder, *arguments]
        subprocess.run([sys.executable, "-m", "tracker", *command], check=True, timeout=120)
        (path,) = folder.iterdir()
        simple = [value for value in summary_values(path) if value.HasField("simple_value")]
        assert [value.simple_value for value in simple if value.tag == "loss"] == [np.float32(0.1), 0.5, math.inf]
        assert len(simple) == 9
    back = opened(tmp_path / "s", import_json(tmp_path / "s", folder))
    assert back.history("loss").values.tolist() == [0.1, 0.5, 1e300]
    assert back.history("int").values.tolist() == [2**60, 2**60 + 1, 2**60 + 2]
    assert back.series() == ["half", "int", "loss"]


def summary_values(path: Path) -> list[Any]:
    data, at, values = path.read_bytes(), 0, []
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        values += Event.FromString(data[at + 12 : at + 12 + size]).summary.value
        at += size + 16
    return values
