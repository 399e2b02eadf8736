# SPDX-License-Identifier: MIT
"""Goal: runs that other tools wrote are carried over with the points, steps, times and settings they had.

Method: files that the tools themselves wrote (tests/data/import, made by tests/real_tools/make_data.py), imported by
the command line; cut and random bytes for the parsers written here.
"""

from __future__ import annotations

import gzip
import importlib.util
import io
import json
import math
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tracker
from importing import DATA, import_json, opened, unpacked
from tracker.exchange import leveldb_log, sqlite_source, swanlab_files, wire
from tracker.exchange.rows import Rows, microseconds


def expect_what_make_data_logs(run: Any) -> None:
    """The rows that tests/real_tools/make_data.py logs with a tool that keeps every bit of them, and its text."""
    loss = run.history("loss")
    assert loss.steps.tolist() == list(range(0, 44, 2))
    assert loss.values.tolist()[:20] == [1 / (i + 1) for i in range(20)]
    assert math.isnan(loss.values[20])
    assert loss.values[21] == math.inf
    assert run.history("nested/y").values.tolist() == [2.5]
    assert [row.text for row in run.texts("note")] == ["a text"]


def test_tensorboard_files_keep_their_scalars_texts_and_hyperparameters(tmp_path: Path) -> None:
    report = import_json(tmp_path / "s", DATA / "tensorboard", "--project", "mnist")
    assert [(run["id"], run["points"], run["new"]) for run in report["runs"]] == [
        ("train", 102, True),
        ("val", 20, True),
    ]
    run = opened(tmp_path / "s", report)
    loss = run.history("loss")
    assert loss.values.dtype == "float32"
    assert loss.steps.tolist() == [10 * i for i in range(50)]
    assert loss.values.tolist() == [struct.unpack("<f", struct.pack("<f", 1 / (i + 1)))[0] for i in range(50)]
    assert loss.times[1] == 1700000000.25
    assert run.history("double").values.tolist() == [0.1]
    assert run.history("int").values.tolist() == [2**53 + 1]
    assert [row.text for row in run.texts("note")] == ["a text"]
    assert run.config == {"lr": 0.1, "opt": "adam", "bias": True}
    assert report["left_out"] == {"histograms": 1}


def test_a_wandb_run_keeps_history_config_summary_and_names(tmp_path: Path) -> None:
    report = import_json(tmp_path / "s", DATA / "wandb")
    run = opened(tmp_path / "s", report)
    assert (run.project, run.name, run.state, run.notes) == ("mnist", "brisk", "finished", "a note")
    assert run.tags == ("a", "b")
    assert (run.group, run.job_type) == ("g", "train")
    assert run.config == {"lr": 0.1, "opt": {"name": "adam", "betas": [0.9, 0.999]}, "seed": 7}
    loss = run.history("loss")
    assert loss.steps.tolist() == [2 * i for i in range(20)]
    expected = [1 / (i + 1) for i in range(20)]
    expected[8] = math.inf
    assert all(a == b for i, (a, b) in enumerate(zip(loss.values.tolist(), expected, strict=True)) if i != 7)
    assert math.isnan(loss.values[7])
    assert run.history("val/loss").steps.tolist() == [0, 10, 20, 30]
    assert run.history("nested/y").values.tolist() == [2.5]
    assert run.history("big").values.tolist() == [2**53 + 1]
    assert [row.text for row in run.texts("note")] == ["a text"]
    assert run.summary["best"] == 0.98


@pytest.mark.parametrize("kind", ["file", "sqlite"])
def test_mlflow_runs_keep_metrics_params_tags_and_notes(tmp_path: Path, kind: str) -> None:
    source = unpacked(tmp_path, "mlflow")
    if kind == "sqlite":
        source = tmp_path / "mlflow.db"
        source.write_bytes(gzip.decompress((DATA / "mlflow.db.gz").read_bytes()))
    report = import_json(tmp_path / "s", source)
    run = opened(tmp_path / "s", report)
    assert (run.project, run.name, run.state, run.notes) == ("mnist", "brisk", "finished", "a note")
    assert run.config["lr"] == 0.1
    assert run.config["opt"] == "adam"
    assert run.config["tags"] == {"team": "vision"}
    loss = run.history("loss")
    assert loss.steps.tolist() == list(range(21))
    assert loss.values.tolist()[:20] == [1 / (i + 1) for i in range(20)]
    assert math.isnan(loss.values[20])
    assert run.history("val/acc").values.tolist() == [i / 20 for i in range(20)]
    assert abs(run.created.timestamp() - loss.times[0]) < 3600


def make_trackio(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp TEXT NOT NULL,"
            " run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL)"
        )
        db.execute("CREATE TABLE configs (id INTEGER PRIMARY KEY, run_name TEXT, config TEXT, created_at TEXT)")
        db.execute("INSERT INTO configs VALUES(1, 'heron', ?, '')", (json.dumps({"lr": 0.1, "_Username": "me"}),))
        for i in range(10):
            row = ("2026-01-01T00:00:00+00:00", "heron", i, json.dumps({"loss": 1 / (i + 1), "n": i}))
            db.execute("INSERT INTO metrics(timestamp, run_name, step, metrics) VALUES(?,?,?,?)", row)
    db.close()


def test_a_trackio_database_has_a_run_a_name(tmp_path: Path) -> None:
    make_trackio(tmp_path / "mnist.db")
    report = import_json(tmp_path / "s", tmp_path / "mnist.db", "--format", "trackio")
    run = opened(tmp_path / "s", report)
    assert (run.project, run.id, run.config) == ("mnist", "heron", {"lr": 0.1})
    assert run.history("loss").values.tolist() == [1 / (i + 1) for i in range(10)]
    assert run.history("n").values.dtype == "int64"


def test_runs_that_share_a_name_in_trackio_are_runs_of_their_own(tmp_path: Path) -> None:
    # Bug: their rows were taken for one run's, and of the two configs the last one counted.
    path = tmp_path / "trackio" / "mnist.db"
    path.parent.mkdir()
    path.write_bytes(gzip.decompress((DATA / "trackio.db.gz").read_bytes()))
    report = import_json(tmp_path / "s", path)
    assert [(run["id"], run["points"]) for run in report["runs"]] == [("brisk", 64), ("brisk-2", 64)]
    for index, lr in enumerate((0.1, 0.2)):
        run = opened(tmp_path / "s", report, index)
        assert (run.project, run.group, run.config) == ("mnist", "g", {"lr": lr, "opt": {"name": "adam"}})
        expect_what_make_data_logs(run)


def test_a_swanlab_run_keeps_scalars_texts_names_and_state(tmp_path: Path) -> None:
    report = import_json(tmp_path / "s", unpacked(tmp_path, "swanlab"))
    run = opened(tmp_path / "s", report)
    assert (run.project, run.name, run.state, run.notes) == ("mnist", "brisk", "finished", "a note")
    assert run.tags == ("a", "b")
    assert (run.group, run.job_type) == ("g", "train")
    expect_what_make_data_logs(run)
    assert run.history(["loss", "acc"]).steps.tolist() == list(range(0, 44, 2))
    assert report["left_out"]["console lines"] > 0


def test_swanlabs_config_is_read_with_pyyaml_and_counted_without(tmp_path: Path) -> None:
    report = import_json(tmp_path / "s", unpacked(tmp_path, "swanlab"))
    config = opened(tmp_path / "s", report).config
    if importlib.util.find_spec("yaml") is None:
        assert config == {}
        assert any("PyYAML" in kind for kind in report["left_out"])
    else:
        assert config == {"lr": 0.1, "opt": {"name": "adam", "betas": [0.9, 0.999]}}


def test_a_swanlab_file_reads_no_file_outside_its_folder(tmp_path: Path) -> None:
    folder = unpacked(tmp_path, "swanlab")
    secret = tmp_path / "secret"
    secret.write_text("plain words")
    (text,) = (folder / "media" / "text").iterdir()
    text.unlink()
    text.symlink_to(secret)
    report = import_json(tmp_path / "s", folder)
    assert report["left_out"]["texts without their file"] == 1
    with pytest.raises(tracker.NotFoundError):
        opened(tmp_path / "s", report).texts("note")


def test_a_config_of_swanlab_that_is_too_large_or_a_link_is_not_read(tmp_path: Path) -> None:
    folder = unpacked(tmp_path, "swanlab")
    config = folder / "files" / "config.yaml"
    run = str(folder / "run-x.swanlab")
    config.write_bytes(b"x" * swanlab_files.SWANLAB_CONFIG_BYTES_MAX)
    assert swanlab_files._read_config(run)
    config.write_bytes(b"x" * (swanlab_files.SWANLAB_CONFIG_BYTES_MAX + 1))
    assert swanlab_files._read_config(run) is None
    assert import_json(tmp_path / "s", folder)["left_out"]["config over 1 MiB"] == 1
    config.rename(tmp_path / "config.yaml")
    (tmp_path / "config.yaml").write_bytes(b"a: 1")
    config.symlink_to(tmp_path / "config.yaml")
    assert swanlab_files._read_config(run) == ""


def test_yaml_of_aliases_without_end_is_no_config() -> None:
    tree: list[object] = ["x"] * 10
    for _ in range(20):
        tree = [tree] * 10
    assert not swanlab_files._is_bounded({"a": tree})
    assert not swanlab_files._is_bounded(["x"] * swanlab_files.SWANLAB_SETTINGS_MAX)
    assert swanlab_files._is_bounded(["x"] * (swanlab_files.SWANLAB_SETTINGS_MAX - 1))


@pytest.mark.parametrize("source", ["tensorboard", "wandb", "mlflow", "swanlab"])
def test_a_second_import_adds_nothing(tmp_path: Path, source: str) -> None:
    folder = unpacked(tmp_path, source)
    first = import_json(tmp_path / "s", folder)
    second = import_json(tmp_path / "s", folder)
    assert [run["uid"] for run in first["runs"]] == [run["uid"] for run in second["runs"]]
    assert all(run["changed"] for run in first["runs"])
    assert not any(run["changed"] for run in second["runs"])
    assert all(len(opened(tmp_path / "s", second, i).writers) == 1 for i in range(len(second["runs"])))


def test_what_a_run_goes_on_to_log_is_added_by_the_next_import(tmp_path: Path) -> None:
    folder = unpacked(tmp_path, "mlflow")
    metric = next(folder.rglob("loss"))
    import_json(tmp_path / "s", folder)
    with metric.open("a") as file:
        file.write("1700000000000 0.125 21\n")
    report = import_json(tmp_path / "s", folder)
    assert [(run["points"], run["new"], run["changed"]) for run in report["runs"]] == [(1, False, True)]
    loss = opened(tmp_path / "s", report).history("loss", all=True)
    assert len(loss.steps) == 22


def test_a_wandb_file_that_was_cut_keeps_what_is_before_and_names_the_byte(tmp_path: Path) -> None:
    whole = next((DATA / "wandb").glob("*.wandb")).read_bytes()
    path = tmp_path / "run-x.wandb"
    path.write_bytes(whole[: len(whole) * 2 // 3])
    report = import_json(tmp_path / "s", path, code=3)
    assert len(report["problems"]) == 1
    assert f"{path} ends within the record at byte" in report["problems"][0]
    run = opened(tmp_path / "s", report)
    assert run.state == "crashed"
    assert 0 < len(run.history("loss").steps) <= 20


def test_random_bytes_never_get_past_the_parsers(tmp_path: Path) -> None:
    seed = int(os.environ.get("TRACKER_TEST_SEED", random.randrange(1 << 32)))
    print(f"TRACKER_TEST_SEED={seed}")
    rng = random.Random(seed)
    whole = next((DATA / "wandb").glob("*.wandb")).read_bytes()
    for _ in range(300):
        damaged = bytearray(whole[: rng.randrange(len(whole))])
        for _ in range(rng.randrange(4)):
            if damaged:
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        found = []
        try:
            for _, record in leveldb_log.records(io.BytesIO(bytes(damaged)), "file", leveldb_log.WANDB):
                found.append(record)
        except leveldb_log.DamagedError:
            pass
        assert sum(map(len, found)) <= len(damaged)
        noise = rng.randbytes(rng.randrange(200))
        try:
            read = list(wire.fields(noise))
        except ValueError:
            continue
        assert len(read) <= len(noise)


@pytest.mark.parametrize("format", ["wandb", "swanlab"])
def test_damaged_run_files_end_in_a_problem_and_never_in_a_traceback(tmp_path: Path, format: str) -> None:
    seed = int(os.environ.get("TRACKER_TEST_SEED", random.randrange(1 << 32)))
    print(f"TRACKER_TEST_SEED={seed}")
    rng = random.Random(seed)
    whole = next(unpacked(tmp_path, format).glob(f"*.{format}")).read_bytes()
    store = tracker._core.ImportStore.open(str(tmp_path / "s"))
    for i in range(20):
        damaged = bytearray(whole)
        damaged[rng.randrange(7, len(damaged))] ^= 1 << rng.randrange(8)
        path = tmp_path / f"run-{i}.{format}"
        path.write_bytes(damaged)
        tracker.exchange.import_source(store, format, str(path), "", lambda done, total: None)
        assert store.problems


def test_a_link_or_a_pipe_in_a_source_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "password").write_text("plain words")
    folder = unpacked(tmp_path, "mlflow")
    taken = sorted(path for path in folder.rglob("params") if path.is_dir())
    assert taken
    for path in taken:
        shutil.rmtree(path)
        path.symlink_to(secret)
    os.mkfifo(folder / "x.wandb")
    report = import_json(tmp_path / "s", folder)
    assert report["runs"]
    for index in range(len(report["runs"])):
        assert "password" not in opened(tmp_path / "s", report, index).config
    pipes = tmp_path / "pipes"
    shutil.copytree(DATA / "wandb", pipes)
    os.mkfifo(pipes / "x.wandb")
    assert import_json(tmp_path / "s", pipes)["runs"]


def test_a_time_beyond_every_float_is_no_time() -> None:
    assert microseconds(10**400) == 0
    assert microseconds(-(10**400)) == 0


def test_many_rows_of_changing_shapes_are_carried_over_in_order(tmp_path: Path) -> None:
    store = tracker._core.ImportStore.open(str(tmp_path / "s"))
    rows = Rows(store.begin("test", "key", "here", "p", "r"))
    for i in range(30_000):
        rows.add([("a", float(i))] if i % 10_000 < 9_000 else [("a", float(i)), ("b", i)], 5, i)
    rows.flush()
    rows.run.end()
    run = tracker.open_run("p/r", dir=str(tmp_path / "s"))
    assert run.history("a", all=True).values.tolist() == [float(i) for i in range(30_000)]
    assert len(run.history("b", all=True).steps) == 3_000


def test_a_view_in_the_place_of_a_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mnist.db"
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE VIEW metrics AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n)"
            " SELECT i AS timestamp, 'a' AS run_name, i AS step, '{}' AS metrics FROM n"
        )
    db.close()
    with pytest.raises(ValueError, match="table metrics: it is not there"):
        sqlite_source.open_source(str(path), {"metrics": {"step"}})
    report = import_json(tmp_path / "s", path, "--format", "trackio", code=2)
    assert not report["runs"]


def test_an_import_from_sqlite_writes_nothing_beside_the_source(tmp_path: Path) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    make_trackio(folder / "mnist.db")
    before = sorted(folder.iterdir())
    import_json(tmp_path / "s", folder / "mnist.db", "--format", "trackio")
    assert sorted(folder.iterdir()) == before


def test_an_unknown_format_and_a_source_of_none_are_mistakes_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("hello")
    assert "known format" in import_json(tmp_path / "s", tmp_path, code=2)["stderr"]
    assert "unknown format" in import_json(tmp_path / "s", tmp_path, "--format", "csw", code=2)["stderr"]
    assert "there is no" in import_json(tmp_path / "s", tmp_path / "missing", code=1)["stderr"]


def test_a_parquet_export_holds_every_row_exactly(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    run = tracker.init(project="mnist", id="otter", dir=str(tmp_path / "s"), quiet=True)
    for step in range(100):
        run.log({"loss": 1 / (1 + step), "n": 2**53 + step}, step=step)
    run.log({"note": "a text"})
    # Bug: of a metric of several types all went out as float64, and no integer.
    for step, value in enumerate((2**53 + 1, 0.5, True)):
        run.log({"mixed": value}, step=step)
    run.finish()
    out = tmp_path / "run.parquet"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tracker",
            "export",
            "otter",
            "--format",
            "parquet",
            "-o",
            str(out),
            "--dir",
            str(tmp_path / "s"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(out).to_pylist()
    assert [row["value"] for row in rows if row["metric"] == "loss"] == [1 / (1 + step) for step in range(100)]
    assert [row["integer"] for row in rows if row["metric"] == "n"] == [2**53 + step for step in range(100)]
    assert [row["text"] for row in rows if row["metric"] == "note"] == ["a text"]
    assert [(row["integer"], row["value"]) for row in rows if row["metric"] == "mixed"] == [
        (2**53 + 1, 2.0**53),
        (None, 0.5),
        (1, 1.0),
    ]
    assert len(rows) == 204


def test_a_parquet_export_holds_the_series_of_the_system(tmp_path: Path) -> None:
    """Bug: they were left out without a word, and by name the run had no such metric. CSV had them."""
    import pyarrow.parquet as pq
    from tracker.exchange import export_parquet

    store = str(tmp_path / "s")
    run = tracker.init(project="mnist", id="otter", dir=store, quiet=True, system_interval=0.1)
    run.log({"loss": 0.5}, step=0)
    deadline = time.monotonic() + 60
    while not tracker.open_run("mnist/otter", dir=store).series(system=True) and time.monotonic() < deadline:
        time.sleep(0.05)
    run.finish()
    stored = tracker.open_run("mnist/otter", dir=store)
    system = stored.series(system=True)
    assert system
    out = tmp_path / "run.parquet"
    seen: list[tuple[int, int]] = []
    rows, _, metrics = export_parquet(str(stored.dir), [], False, str(out), lambda *now: seen.append(now))
    assert metrics == ["loss", *system]
    written = pq.read_table(out).to_pylist()
    for name in system:
        values = [row["value"] for row in written if row["metric"] == name]
        assert values, name
        assert values == list(stored.history(name).values), name
    points = 1 + sum(metric.points for metric in stored.metrics(system=True))
    assert rows == len(written) == points
    assert seen[-1] == (points, points)
    assert export_parquet(str(stored.dir), system[:1], False, str(out))[2] == system[:1]


def test_a_parquet_export_is_written_in_batches_of_the_limit(tmp_path: Path) -> None:
    import pyarrow.parquet as pq
    from tracker.exchange import export_parquet
    from tracker.exchange.parquet import PARQUET_ROWS

    run = tracker.init(project="p", dir=str(tmp_path / "s"), quiet=True, on_full="block")
    for step in range(PARQUET_ROWS + 1):
        run.log({"loss": step}, step=step)
        if step < PARQUET_ROWS:
            run.log({"acc": step}, step=step)
    run.finish()
    out = tmp_path / "run.parquet"
    folder = str(tracker.open_run(f"p/{run.id}", dir=str(tmp_path / "s")).dir)
    assert export_parquet(folder, [], False, str(out))[0] == 2 * PARQUET_ROWS + 1
    file = pq.ParquetFile(out)
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [PARQUET_ROWS, PARQUET_ROWS, 1]
    for i in range(3):
        values = file.read_row_group(i, ["integer"])["integer"].to_numpy()
        assert (values == (range(PARQUET_ROWS) if i < 2 else [PARQUET_ROWS])).all()


def test_a_parquet_export_says_how_far_it_is(tmp_path: Path) -> None:
    from tracker.exchange import export_parquet

    run = tracker.init(project="mnist", id="otter", dir=str(tmp_path / "s"), quiet=True)
    for step in range(10):
        run.log({"loss": 0.5, "acc": 0.25}, step=step)
    run.log({"note": "a text"})
    run.finish()
    seen: list[tuple[int, int]] = []
    folder = tracker.open_run("mnist/otter", dir=str(tmp_path / "s")).dir
    export_parquet(str(folder), [], False, str(tmp_path / "run.parquet"), lambda *now: seen.append(now))
    assert seen == [(10, 20), (20, 20), (20, 20)]


def test_a_run_goes_out_to_tensorboard_and_comes_back_the_same(tmp_path: Path) -> None:
    run = tracker.init(project="mnist", id="otter", dir=str(tmp_path / "s"), config={"lr": 0.1}, quiet=True)
    for step in range(200):
        run.log({"loss": math.sin(step), "none": math.nan}, step=step)
    run.finish()
    out = tmp_path / "tb"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "tracker",
            "export",
            "otter",
            "--format",
            "tensorboard",
            "--float64",
            "-o",
            str(out),
            "--dir",
            str(tmp_path / "s"),
        ],
        check=True,
        timeout=120,
    )
    report = import_json(tmp_path / "t", out)
    before, after = tracker.open_run("otter", dir=str(tmp_path / "s")), opened(tmp_path / "t", report)
    for name in ("loss", "none"):
        a, b = before.history(name), after.history(name)
        assert a.steps.tobytes() == b.steps.tobytes()
        assert a.values.tobytes() == b.values.tobytes()
        assert a.times.tobytes() == b.times.tobytes()
    assert after.config == {"lr": 0.1}
