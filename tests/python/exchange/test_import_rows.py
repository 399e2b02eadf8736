# SPDX-License-Identifier: MIT
"""Goal: the CSVs and JSON lines that people have come in whole, and a row that does not is named and in the exit code;
an export as JSON lines comes back bit for bit.

Method: files as their writers leave them, imported by the command and read back.
"""

from __future__ import annotations

import json
import math
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracker
from importing import import_json, opened

# name: text of the file, points by metric
FILES = {
    "a second line of names": ("epoch,loss\n0,2.3\n1,2.1\nepoch,loss\n2,1.9\n", {"loss": 3}),
    "a line of names that has grown": ("step,loss\n1,0.5\nstep,loss,val\n2,0.4,0.6\n", {"loss": 2, "val": 1}),
    "a line of names in another order": ("step,loss\n1,0.5\nval,loss,step\n0.6,0.4,2\n", {"loss": 2, "val": 1}),
    "Ray": ("reward,training_iteration,timesteps_total\n1.5,1,4000\n", {"reward": 1, "timesteps_total": 1}),
    "Stable-Baselines3": ("time/total_timesteps,train/loss\n2048,0.5\n4096,0.3\n", {"train/loss": 2}),
    "capital letters": ("Epoch,Loss\n1,0.5\n", {"Loss": 1}),
    "STEP": ("STEP,loss\n1,0.5\n", {"loss": 1}),
    "the index of a data frame": (",loss\n0,0.5\n1,0.4\n", {"loss": 2}),
    "an index beside steps": (",step,loss\n0,10,0.5\n", {"loss": 1, "Unnamed: 0": 1}),
    "two columns of one name": ("step,loss,loss\n0,0.5,0.6\n", {"loss": 1, "loss.1": 1}),
}


@pytest.mark.parametrize("name", FILES)
def test_my_csv_comes_in_whole(name: str, tmp_path: Path) -> None:
    text, points = FILES[name]
    (tmp_path / "run.csv").write_text(text)
    report = import_json(tmp_path / "s", tmp_path / "run.csv")
    run = opened(tmp_path / "s", report)
    assert {metric: len(run.history(metric, all=True)) for metric in run.series()} == points
    assert run.text_names() == []
    assert report["left_out"] == {}


@pytest.mark.parametrize(
    ("rows", "kind", "line"),
    [
        ("1,0.5\n2,0.4,0.6\n3\n", "2 lines with more or fewer fields than names", 3),
        ("1,0.5\nlater,0.4\n", "1 steps that are no integers", 3),
    ],
)
def test_a_row_of_my_csv_that_is_left_out_is_named_and_the_exit_code_says_so(
    rows: str, kind: str, line: int, tmp_path: Path
) -> None:
    (tmp_path / "run.csv").write_text("step,loss\n" + rows)
    report = import_json(tmp_path / "s", tmp_path / "run.csv", code=3)
    (problem,) = report["problems"]
    assert problem.endswith(f"run.csv: {kind} were left out, first in line {line}; everything else was taken")
    assert list(report["left_out"].values()) == [int(kind[0])]
    assert opened(tmp_path / "s", report).history("loss").values[0] == 0.5


def test_i_say_which_column_counts_the_steps(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("batch,step,loss\n7,1,0.5\n9,2,0.25\n")
    (tmp_path / "run.jsonl").write_text('{"current_steps": 10, "loss": 0.5, "eval": {"acc": 1}}\n')
    run = opened(tmp_path / "s", import_json(tmp_path / "s", tmp_path / "run.csv", "--step", "batch"))
    assert run.history("loss").steps.tolist() == [7, 9]
    assert sorted(run.series()) == ["loss", "step"]
    run = opened(tmp_path / "s", import_json(tmp_path / "s", tmp_path / "run.jsonl", "--step", "current_steps"))
    assert {name: run.history(name).steps.tolist() for name in run.series()} == {"loss": [10], "eval/acc": [10]}
    report = import_json(tmp_path / "t", tmp_path / "run.csv", "--step", "Batch", code=3)
    assert "no column is called Batch" in report["problems"][0]
    assert "--step COLUMN says which counts the steps: batch, step, loss" in report["problems"][0]
    import_json(tmp_path / "t", tmp_path / "run.jsonl", code=3)


def test_files_of_one_folder_are_one_run_when_i_join_them(tmp_path: Path) -> None:
    for name in ("train", "val"):
        (tmp_path / "exp").mkdir(exist_ok=True)
        (tmp_path / "exp" / f"{name}.csv").write_text("step,time,loss\n0,1700000000,0.5\n")
    assert len(import_json(tmp_path / "s", tmp_path / "exp")["runs"]) == 2
    for _ in range(2):
        report = import_json(tmp_path / "t", tmp_path / "exp", "--join")
        (run,) = report["runs"]
        assert run["id"] == "exp"
    assert not run["changed"]
    assert sorted(opened(tmp_path / "t", report).series()) == ["train/loss", "val/loss"]


def export(store: Path, run: str, path: Path, *more: str) -> str:
    command = [sys.executable, "-m", "tracker", "export", run, "--output", str(path), "--dir", str(store), *more]
    subprocess.run(command, check=True, timeout=120, capture_output=True)
    return path.read_text()


def bits(run: Any, name: str) -> list[tuple[Any, ...]]:
    history = run.history(name, all=True)
    values = [struct.pack("<d", value) if isinstance(value, float) else value for value in history.values.tolist()]
    return [*zip(history.steps.tolist(), values, strict=True), history.values.dtype]


def test_an_export_as_json_lines_comes_back_bit_for_bit(store: Path, tmp_path: Path) -> None:
    odd_nan = struct.unpack("<d", struct.pack("<Q", 0x7FF8DEADBEEF0001))[0]
    config = {"opt": {"lr": 0.1, "betas": [0.9, 1.0]}, "n": 3, "none": None, "text": "NaN"}
    with tracker.init(project="p", id="r", name="the run", config=config, tags=["a"], notes="n", quiet=True) as run:
        run.define_metric("loss", summary="min")
        for step, value in enumerate([0.1, -0.0, math.nan, -math.nan, odd_nan, math.inf, -math.inf, 5e-324, 3.0]):
            run.log({"loss": value, "int": 2**60 + step, "f32": np.float32(value), "flag": step % 2 == 0}, step=step)
            run.log({"f16": np.float16(0.1), "note": "NaN" if step == 1 else f"step {step}"}, step=step)
        run.log({"mixed": 0.5}, step=0)
        run.log({"mixed": 2**62 + 1}, step=1)
        run.log({"mixed": np.float32(0.1)}, step=2)
        run.summary["best"] = 7
    text = export(store, "p/r", tmp_path / "r.jsonl", "--format", "jsonl")
    assert json.loads(text.partition("\n")[0])["run"]["config"] == config
    report = import_json(tmp_path / "t", tmp_path / "r.jsonl")
    assert (report["left_out"], report["problems"]) == ({}, [])
    before, after = tracker.open_run("p/r"), opened(tmp_path / "t", report)
    assert (after.id, after.project, after.config) == ("r", "p", before.config)
    assert before.summary.keys() == after.summary.keys()
    assert (after.summary["best"], after.summary["loss"]) == (7, before.summary["loss"])
    assert (after.name, after.tags, after.notes) == (before.name, before.tags, before.notes)
    assert before.series() == after.series()
    for name in before.series():
        assert bits(before, name) == bits(after, name), name
    assert [row.text for row in before.texts("note")] == [row.text for row in after.texts("note")]
    again = export(tmp_path / "t", "p/r", tmp_path / "again.jsonl", "--format", "jsonl")
    assert again.partition("\n")[2] == text.partition("\n")[2]
    assert not import_json(tmp_path / "t", tmp_path / "r.jsonl")["runs"][0]["changed"]


def test_an_export_of_some_metrics_has_no_line_of_the_run_and_comes_in_too(store: Path, tmp_path: Path) -> None:
    with tracker.init(project="p", id="r", quiet=True) as run:
        run.log({"loss": 0.5, "acc": 1.0}, step=3)
    text = export(store, "p/r", tmp_path / "some.jsonl", "--format", "jsonl", "--metric", "loss")
    assert json.loads(text.partition("\n")[0])["metric"] == "loss"
    back = opened(tmp_path / "t", import_json(tmp_path / "t", tmp_path / "some.jsonl"))
    assert back.series() == ["loss"]
    assert (back.history("loss").steps[0], back.history("loss").values[0]) == (3, 0.5)


def test_a_line_that_is_no_json_is_named_and_the_others_come_in(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"step": 1, "loss": 0.5}\nTraining done!\n{"step": 2, "loss": 0.25}\n[1]\n')
    report = import_json(tmp_path / "s", tmp_path / "log.jsonl", code=3)
    assert "2 lines that are no JSON objects were left out, first in line 2" in report["problems"][0]
    assert opened(tmp_path / "s", report).history("loss").values.tolist() == [0.5, 0.25]


def test_a_line_of_json_may_have_16_mib(tmp_path: Path) -> None:
    k_json_line_bytes_max = 16 << 20  # kJsonLineBytesMax
    filler = ", " + " " * (k_json_line_bytes_max - 100)
    (tmp_path / "log.jsonl").write_text('{"step": 1, "a": 1' + filler + '"loss": 0.5}\n{"step": 2, "loss": 1}\n')
    report = import_json(tmp_path / "s", tmp_path / "log.jsonl")
    assert opened(tmp_path / "s", report).history("loss").values.tolist() == [0.5, 1]
    (tmp_path / "long.jsonl").write_text('{"step": 1, "loss": 1}\n{"step": 2' + 2 * filler + '"loss": 0.5}\n')
    report = import_json(tmp_path / "t", tmp_path / "long.jsonl", code=3)
    assert "line 2 has more than 16 MiB" in report["problems"][0]
    assert opened(tmp_path / "t", report).history("loss").values.tolist() == [1]
