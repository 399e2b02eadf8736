# SPDX-License-Identifier: MIT
"""Goal: of a store of MLflow what was committed and not deleted is carried over, and what is not is said.

Method: files that MLflow wrote, changed as MLflow, or a kill of it, changes them.
"""

from __future__ import annotations

import gzip
import math
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import tracker
import tracker.exchange
from importing import DATA, import_json, opened, unpacked

# A transaction that outgrows its cache, so that some of it is in the file when the process is killed.
KILLED_WRITER = """
import os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size=1")
db.execute("BEGIN")
db.execute("UPDATE metrics SET value=999.0 WHERE key='loss'")
for i in range(300):
    db.execute("INSERT INTO tags(key, value, run_uuid) SELECT ?, hex(zeroblob(500)), run_uuid FROM runs", (str(i),))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "source" / "mlflow.db"
    path.parent.mkdir()
    path.write_bytes(gzip.decompress((DATA / "mlflow.db.gz").read_bytes()))
    return path


def run_id(database: Path) -> str:
    with closing(sqlite3.connect(database)) as db:
        return str(db.execute("SELECT run_uuid FROM runs").fetchone()[0])


# Promise P12: An import reads no file outside the source, and counts by kind what has no place here.
def test_values_that_were_never_committed_are_not_imported(tmp_path: Path, database: Path) -> None:
    # Bug: the file was read as it was, and what the killed transaction had written there was stored.
    subprocess.run([sys.executable, "-c", KILLED_WRITER, str(database)], check=False, timeout=60)
    assert database.with_name("mlflow.db-journal").stat().st_size > 0
    with closing(sqlite3.connect(f"file:{database}?immutable=1", uri=True)) as db:
        assert db.execute("SELECT max(value) FROM metrics WHERE key='loss'").fetchone() == (999.0,)
    before = database.read_bytes()
    report = import_json(tmp_path / "s", database, code=3)
    assert report["runs"] == []
    (problem,) = report["problems"]
    assert "holds a transaction that its writer did not end" in problem
    assert "mlflow.db-journal" in problem
    assert database.read_bytes() == before
    # The tool that wrote it opens it again.
    with closing(sqlite3.connect(database)) as db:
        db.execute("SELECT count(*) FROM runs").fetchone()
    run = opened(tmp_path / "s", import_json(tmp_path / "s", database))
    assert run.history("loss").values.tolist()[:20] == [1 / (i + 1) for i in range(20)]


def test_a_store_that_mlflow_still_writes_is_read_between_its_commits(tmp_path: Path, database: Path) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE metrics SET value=999.0 WHERE key='loss'")
        assert database.with_name("mlflow.db-journal").exists()
        run = opened(tmp_path / "s", import_json(tmp_path / "s", database))
        assert run.history("loss").values.tolist()[0] == 1.0
        writer.execute("ROLLBACK")


@pytest.mark.parametrize("stage", ["run", "experiment"])
def test_a_deleted_run_of_the_file_store_is_counted_and_not_imported(tmp_path: Path, stage: str) -> None:
    # Bug: it came back as a live one.
    root = unpacked(tmp_path, "mlflow") / "mlruns"
    (meta,) = (path for path in root.glob("*/*/meta.yaml") if "run_id" in path.read_text())
    if stage == "run":
        meta.write_text(meta.read_text().replace("lifecycle_stage: active", "lifecycle_stage: deleted"))
    else:  # MLflow moves its folder
        (root / ".trash").mkdir(exist_ok=True)
        meta.parent.parent.rename(root / ".trash" / meta.parent.parent.name)
    report = import_json(tmp_path / "s", root, code=1)
    assert report["runs"] == []
    assert report["left_out"]["deleted runs"] == 1


def test_a_deleted_run_of_the_database_is_counted_and_not_imported(tmp_path: Path, database: Path) -> None:
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("UPDATE runs SET lifecycle_stage='deleted'")
    report = import_json(tmp_path / "s", database, code=1)
    assert report["runs"] == []
    assert report["left_out"] == {"deleted runs": 1}


def test_artifacts_of_the_database_are_counted(tmp_path: Path, database: Path) -> None:
    # Bug: nothing said that they are not imported.
    folder = tmp_path / "runs" / run_id(database) / "artifacts"
    (folder / "model").mkdir(parents=True)
    for name in ("plot.png", "model/weights"):
        (folder / name).write_bytes(b"x")
    for uri, left_out in (
        (str(folder), {"files of artifacts": 2}),
        (folder.as_uri(), {"files of artifacts": 2}),
        ("s3://bucket/1/artifacts", {"folders of artifacts that lie elsewhere": 1}),
        (str(tmp_path), {"folders of artifacts that lie elsewhere": 1}),  # not read: not that run's
    ):
        with closing(sqlite3.connect(database)) as db, db:
            db.execute("UPDATE runs SET artifact_uri=?", (uri,))
        assert import_json(tmp_path / "s", database)["left_out"] == left_out


def test_a_param_and_those_below_its_name_are_all_kept(tmp_path: Path, database: Path) -> None:
    # Bug: the later one replaced the other in silence, and each import put them the other way round.
    params = {"model": "resnet", "model/layers": "50", "opt/lr": "0.1", "opt": "adam", "opt/value": "7", "a/b/c": "1"}
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("DELETE FROM params")
        for key, value in params.items():
            db.execute("INSERT INTO params SELECT ?, ?, run_uuid FROM runs", (key, value))
    report = import_json(tmp_path / "s", database)
    assert sum(count for kind, count in report["left_out"].items() if "NAME/value" in kind) == 2
    config = opened(tmp_path / "s", report).config
    assert config["model"] == {"value": "resnet", "layers": 50}
    assert config["opt"] == {"lr": 0.1, "value_": "adam", "value": 7}
    assert config["a"] == {"b": {"c": 1}}
    again = import_json(tmp_path / "s", database)
    assert not again["runs"][0]["changed"]
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("UPDATE params SET value='vit' WHERE key='model'")
    run = opened(tmp_path / "s", import_json(tmp_path / "s", database))
    assert run.config["model"] == {"value": "vit", "layers": 50}
    assert len(run.writers) == 2


def test_params_are_numbers_where_their_text_is_exactly_that_of_the_number(tmp_path: Path, database: Path) -> None:
    numbers = {"int": 50, "lr": 1e-05, "negative": -0.0, "largest": 2**63 - 1, "inf": math.inf}
    texts = {"padded": "007", "long": "0.10", "big": str(2**63), "underscore": "1_000", "bool": "True", "e": "1e-5"}
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("DELETE FROM params")
        for key, value in {**numbers, **texts, "password": "12345"}.items():
            db.execute("INSERT INTO params SELECT ?, ?, run_uuid FROM runs", (key, str(value)))
    config = opened(tmp_path / "s", import_json(tmp_path / "s", database)).config
    assert {key: repr(config[key]) for key in numbers} == {key: repr(value) for key, value in numbers.items()}
    assert {key: config[key] for key in texts} == texts
    assert config["password"] == "[redacted]"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return unpacked(tmp_path, "mlflow")


def refuse(monkeypatch: pytest.MonkeyPatch, refused: set[Path]) -> None:
    """As a disk does that has lost what they hold."""
    opened_by_path = Path.open

    def open_unless_refused(self: Path, *args: Any, **more: Any) -> Any:
        if self in refused:
            raise OSError(5, "Input/output error", str(self))
        return opened_by_path(self, *args, **more)

    monkeypatch.setattr(Path, "open", open_unless_refused)


def import_here(store: Path, source: Path) -> Any:
    opened_store = tracker._core.ImportStore.open(str(store))
    tracker.exchange.import_source(opened_store, "mlflow", str(source), "", lambda done, total: None)
    return opened_store


def test_files_that_cannot_be_read_are_counted_and_named_and_the_rest_is_imported(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Bug: one of them ended the whole import.
    (meta,) = (path for path in folder.rglob("meta.yaml") if (path.parent / "metrics").is_dir())
    refused = {meta.parent / "params" / "lr", meta.parent / "metrics" / "loss", meta.parent / "tags" / "mlflow.user"}
    assert all(path.is_file() for path in refused)
    refuse(monkeypatch, refused)
    store = import_here(tmp_path / "s", folder)
    assert {kind: count for kind, count in store.left_out.items() if "cannot be read" in kind} == {
        "params that cannot be read": 1,
        "tags that cannot be read": 1,
        "metrics that cannot be read": 1,
    }
    named = [line for line in store.problems if "Input/output error" in line]
    assert sorted(line.split(" cannot be read")[0] for line in named) == sorted(map(str, refused))
    (run,) = tracker.runs(dir=str(tmp_path / "s"))
    assert "loss" not in run.series()
    assert run.series()
    assert run.state == "finished"
    monkeypatch.undo()
    del store
    import_here(tmp_path / "s", folder)  # when the disk works again
    (run,) = tracker.runs(dir=str(tmp_path / "s"))
    assert run.config["lr"] == 0.1
    assert run.history("loss").values[0] == 1.0


def test_a_run_whose_own_file_cannot_be_read_is_named(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (meta,) = (path for path in folder.rglob("meta.yaml") if (path.parent / "metrics").is_dir())
    refuse(monkeypatch, {meta})
    store = import_here(tmp_path / "s", folder)
    assert store.runs == []
    (problem,) = store.problems
    assert f"{meta} cannot be read: Input/output error" in problem


@pytest.mark.parametrize("damage", ["garbage", "empty", "cut", "link"])
@pytest.mark.parametrize("damaged", ["run", "experiment"])
def test_a_run_whose_meta_yaml_or_its_experiments_is_damaged_is_named_and_left_out(
    tmp_path: Path, folder: Path, damaged: str, damage: str
) -> None:
    # Bug: it was imported as what was left to guess, a deleted one, too.
    (meta,) = (path for path in folder.rglob("meta.yaml") if (path.parent / "metrics").is_dir())
    path = meta if damaged == "run" else meta.parent.parent / "meta.yaml"
    whole = path.read_bytes()
    path.rename(tmp_path / "whole.yaml")
    if damage == "link":
        path.symlink_to(tmp_path / "whole.yaml")
    else:
        cut = whole[: whole.index(b"lifecycle_stage: ") + len(b"lifecycle_stage: ")] + b"del"
        path.write_bytes({"garbage": b"\xff\x00" * 100, "empty": b"", "cut": cut}[damage])
    report = import_json(tmp_path / "s", folder, code=3)
    assert report["runs"] == []
    (problem,) = report["problems"]
    assert problem.startswith(f"the run of {meta.parent} was left out: {path} ")
    path.unlink()
    path.write_bytes(whole)
    assert len(import_json(tmp_path / "s", folder)["runs"]) == 1


def test_a_damaged_model_is_named_and_the_others_are_imported(tmp_path: Path, folder: Path) -> None:
    (meta,) = (path for path in folder.rglob("meta.yaml") if (path.parent / "metrics").is_dir())
    for model, text in (("m-1", "name: 'net"), ("m-2", "name: net\n")):
        (meta.parent / "outputs" / model).mkdir(parents=True)
        (meta.parent.parent / "models" / model / "artifacts").mkdir(parents=True)
        (meta.parent.parent / "models" / model / "artifacts" / "MLmodel").write_text(model)
        (meta.parent.parent / "models" / model / "meta.yaml").write_text(text)
    report = import_json(tmp_path / "s", folder, code=3)
    assert report["left_out"]["models that cannot be read"] == 1
    (problem,) = report["problems"]
    assert problem.startswith(f"{meta.parent.parent / 'models' / 'm-1' / 'meta.yaml'} cannot be read: line 1: ")
    assert [use.name for use in opened(tmp_path / "s", report).outputs if use.type == "model"] == ["mnist/brisk-net:v0"]


@pytest.mark.parametrize("linked", ["artifacts", "metrics", "run", "experiment"])
def test_a_folder_that_is_a_link_is_counted(tmp_path: Path, folder: Path, linked: str) -> None:
    # Bug: nothing was said.
    (meta,) = (path for path in folder.rglob("meta.yaml") if (path.parent / "metrics").is_dir())
    path = {"run": meta.parent, "experiment": meta.parent.parent}.get(linked, meta.parent / linked)
    if linked == "artifacts":
        path.mkdir(exist_ok=True)
        (path / "a.bin").write_text("a")
    moved = path.rename(tmp_path / "moved")
    path.symlink_to(moved)
    store = import_here(tmp_path / "s", folder)
    assert store.left_out == {"links among files": 1}
    assert [run["points"] > 0 for run in store.runs] == {"artifacts": [True], "metrics": [False]}.get(linked, [])


def test_artifacts_of_mlflow_may_be_left_where_they_are(tmp_path: Path) -> None:
    folder = unpacked(tmp_path, "mlflow_media")
    report = import_json(tmp_path / "s", folder, "--no-artifacts")
    assert report["artifacts"] == []
    assert report["left_out"]["files of artifacts"] > 0
    assert report["runs"][0]["artifacts"] == 0
    assert report["runs"][0]["media"] > 0
    report = import_json(tmp_path / "s", folder)  # a later import brings them
    assert report["runs"][0]["artifacts"] > 0
    assert report["runs"][0]["media"] == 0
    said = import_json(tmp_path / "s", "--format", "bundle", "--no-artifacts", folder / "mlruns", code=2)["stderr"]
    assert "--no-artifacts is of imports from MLflow" in said


def test_progress_moves_within_a_large_file(tmp_path: Path, folder: Path) -> None:
    # Bug: the bar did not move while one file was read.
    (meta,) = (path for path in folder.rglob("meta.yaml") if (path.parent / "metrics").is_dir())
    (meta.parent / "artifacts").mkdir(exist_ok=True)
    with (meta.parent / "artifacts" / "weights.bin").open("wb") as file:
        file.truncate(64 << 20)
    parts: list[float] = []
    store = tracker._core.ImportStore.open(str(tmp_path / "s"))
    tracker.exchange.import_source(store, "mlflow", str(folder), "", lambda done, total: parts.append(done / total))
    assert parts == sorted(parts)
    assert len([part for part in parts if 0.05 < part < 0.95]) >= 5
