# SPDX-License-Identifier: MIT
"""Goal: artifacts of MLflow that are media become media of the run, once, and no file beside the store is read.

Method: a run of MLflow 3.17 with its artifacts (make_data.py), in the file store and below a database, whole, in two
parts, and with others in their place.
"""

from __future__ import annotations

import gzip
import os
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import tracker
from importing import DATA, import_json, opened, unpacked
from tracker.exchange import mlflow_artifacts
from tracker.exchange.mlflow_artifacts import TIMED, tables_of

MEDIA = {
    "cells.json": [(0, "table")],
    "note.txt": [(0, "text")],
    "notes/more.md": [(0, "markdown")],
    "page.html": [(0, "html")],
    "plots/figure.png": [(0, "image")],
    "still.png": [(0, "image")],
    "table.json": [(0, "table")],
    "val/dogs": [(1, "image"), (2, "image"), (10, "image")],
}
# The settings, the weights, and two sizes of a cell's image.
LEFT_OUT = {"files of artifacts": 4}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return unpacked(tmp_path, "mlflow_media")


def artifacts_of(folder: Path) -> Path:
    (found,) = (path for path in folder.rglob("artifacts") if path.is_dir())
    return found


def all_media(run: Any) -> dict[str, list[tuple[int, str]]]:
    return {name: [(e.step, e.kind) for e in run.media(name, all=True)] for name in run.media_names()}


def test_artifacts_of_mlflow_that_are_media_become_media(tmp_path: Path, folder: Path) -> None:
    # Bug: they were counted alone.
    report = import_json(tmp_path / "s", folder)
    run = opened(tmp_path / "s", report)
    assert all_media(run) == MEDIA
    assert report["left_out"] == LEFT_OUT
    assert [entry.load()[0][0].tolist() for entry in run.media("val/dogs")] == [[step] * 3 for step in (1, 2, 10)]
    times = [entry.time for entry in run.media("val/dogs")]
    assert times == sorted(times)
    names = [path.name for path in (artifacts_of(folder) / "images").iterdir()]
    assert {str(round(time * 1000)) for time in times} == {name.split("+")[4] for name in names}
    assert run.created <= run.media("still.png")[0].time <= run.ended
    assert [run.media(name)[0].load() for name in ("note.txt", "page.html")] == ["a text", "<b>x</b>"]
    assert run.media("table.json")[0].load().to_rows() == [(1, "x", 0.5), (2, None, 1.0)]
    ((number, cell),) = run.media("cells.json")[0].load().to_rows()
    assert number == 1
    assert '"filepath": "table_images/cells/' in cell


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        ("{base}/mlruns/1/{id}/artifacts", "mlruns/1"),
        ("file://{base}/mlruns/1/{id}/artifacts", "mlruns/1"),
        ("./mlruns/1/{id}/artifacts", "mlruns/1"),
        ("/gone/mlruns/1/{id}/artifacts", "mlruns/1"),  # both were moved here
        ("mlflow-artifacts:/1/{id}/artifacts", "mlartifacts/1"),
    ],
)
def test_artifacts_below_a_database_of_mlflow_become_media(tmp_path: Path, folder: Path, uri: str, place: str) -> None:
    base = tmp_path / "data base"
    base.mkdir()
    database = base / "mlflow.db"
    database.write_bytes(gzip.decompress((DATA / "mlflow.db.gz").read_bytes()))
    with closing(sqlite3.connect(database)) as db, db:
        (id,) = db.execute("SELECT run_uuid FROM runs").fetchone()
        said = uri.format(base=str(base).replace(" ", "%20"), id=id)
        db.execute("UPDATE runs SET artifact_uri=?", (said,))
        tag = (artifacts_of(folder).parent / "tags" / "mlflow.loggedArtifacts").read_text()
        db.execute("INSERT INTO tags(key, value, run_uuid) VALUES('mlflow.loggedArtifacts', ?, ?)", (tag, id))
    shutil.copytree(artifacts_of(folder), base / place / id / "artifacts")
    report = import_json(tmp_path / "s", database)
    assert all_media(opened(tmp_path / "s", report)) == MEDIA
    assert report["left_out"] == LEFT_OUT


def test_a_database_that_names_a_folder_elsewhere_has_its_files_counted_and_not_read(
    tmp_path: Path, folder: Path
) -> None:
    base = tmp_path / "base"
    base.mkdir()
    database = base / "mlflow.db"
    database.write_bytes(gzip.decompress((DATA / "mlflow.db.gz").read_bytes()))
    elsewhere = tmp_path / "mlruns" / "1" / "x" / "artifacts"
    shutil.copytree(artifacts_of(folder), elsewhere)
    (base / "linked").symlink_to(tmp_path / "mlruns")
    with closing(sqlite3.connect(database)) as db, db:
        for table in ("runs", "metrics", "params", "tags", "latest_metrics"):
            db.execute(f"UPDATE {table} SET run_uuid='x'")
    for uri, left_out in (
        (str(elsewhere), {"files of artifacts": 17}),
        ("../mlruns/1/x/artifacts", {"files of artifacts": 17}),
        (str(base / "linked" / "1" / "x" / "artifacts"), {"files of artifacts": 17}),
        (f"/gone/{base.name}/../x/artifacts", {}),
        ("mlflow-artifacts:/../mlruns/1/x/artifacts", {"folders of artifacts that lie elsewhere": 1}),
        ("dbfs:/1/x/artifacts", {"folders of artifacts that lie elsewhere": 1}),
    ):
        with closing(sqlite3.connect(database)) as db, db:
            db.execute("UPDATE runs SET artifact_uri=?", (uri,))
        report = import_json(tmp_path / "s", database)
        assert report["left_out"] == left_out, uri
        assert opened(tmp_path / "s", report).media_names() == []


def test_media_of_mlflow_are_imported_once_and_new_ones_by_the_next_import(tmp_path: Path, folder: Path) -> None:
    artifacts, later = artifacts_of(folder), tmp_path / "later"
    later.mkdir()
    taken = [
        *(artifacts / "images").glob("*step+10+*"),
        *(artifacts / "images").glob("*step+2+*"),
        artifacts / "note.txt",
    ]
    for path in taken:
        path.rename(later / path.name)
    assert import_json(tmp_path / "s", folder)["runs"][0]["media"] == 7
    assert not import_json(tmp_path / "s", folder)["runs"][0]["changed"]
    for path in taken:
        (later / path.name).rename(path)
    report = import_json(tmp_path / "s", folder)
    assert report["runs"][0]["media"] == 3
    run = opened(tmp_path / "s", report)
    assert all_media(run) == MEDIA
    assert [entry.load()[0][0][0] for entry in run.media("val/dogs")] == [1, 2, 10]
    assert not import_json(tmp_path / "s", folder)["runs"][0]["changed"]


def test_links_and_files_that_are_not_what_they_are_called_are_no_media(tmp_path: Path, folder: Path) -> None:
    artifacts = artifacts_of(folder)
    secret = tmp_path / "secret.txt"
    secret.write_text("plain words")
    (artifacts / "secret.txt").symlink_to(secret)
    (artifacts / "linked").symlink_to(tmp_path)
    (artifacts / "odd.png").write_bytes(b"no image")
    (artifacts / "table.json").write_text('{"columns": 7}')
    (artifacts / os.fsdecode(b"caf\xe9.txt")).write_text("a name that is no UTF-8")
    (artifacts.parent / "params").mkdir(exist_ok=True)
    (artifacts.parent / "params" / os.fsdecode(b"caf\xe9")).write_text("1")
    report = import_json(tmp_path / "s", folder)
    run = opened(tmp_path / "s", report)
    assert set(run.media_names()) == set(MEDIA) - {"table.json"}
    assert report["left_out"] == {"files of artifacts": 4 + 3, "files whose names are no UTF-8": 1}


def test_files_of_a_model_are_counted(tmp_path: Path, folder: Path) -> None:
    model = artifacts_of(folder) / "model"
    (model / "code").mkdir(parents=True)
    for name in ("MLmodel", "requirements.txt", "code/readme.md"):
        (model / name).write_text("x")
    report = import_json(tmp_path / "s", folder)
    assert all_media(opened(tmp_path / "s", report)) == MEDIA
    assert report["left_out"] == {"files of artifacts": 4 + 3}


def test_artifacts_beyond_the_limit_are_counted(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlflow_artifacts, "MLFLOW_ARTIFACTS_MAX", 3)
    store = tracker._core.ImportStore.open(str(tmp_path / "s"))
    tracker.exchange.import_source(store, "mlflow", str(folder), "", lambda done, total: None)
    # Of the first three files the second is a smaller copy of the third.
    assert (store.runs[0]["media"], store.left_out) == (2, {"files of artifacts": 14})


def test_images_of_older_versions_keep_their_key_and_step() -> None:
    for name in ("images/a#b%step%-3%timestamp%17%0f-1.png", "images/a~b+step+-3+timestamp+17+0f-1.webp"):
        found = TIMED.fullmatch(name)
        assert found is not None
        assert (found["step"], found["ms"], found["small"]) == ("-3", "17", None)
    for name in ("images/a.png", "images/a+step+x+timestamp+17+0f.png", "images/x/a+step%3+timestamp+1+0f.png"):
        assert TIMED.fullmatch(name) is None


def test_tags_that_name_no_tables_name_none() -> None:
    assert tables_of('[{"path": "a.json", "type": "table"}, {"path": "b", "type": "x"}, 7]') == {"a.json"}
    for tag in ("", "7", "{}", "[" * 100_000, '[{"type": "table"'):
        assert tables_of(tag) == set()


def test_random_files_among_the_artifacts_never_end_in_a_traceback(tmp_path: Path, folder: Path) -> None:
    seed = int(os.environ.get("TRACKER_TEST_SEED", random.randrange(1 << 32)))
    print(f"TRACKER_TEST_SEED={seed}")
    rng = random.Random(seed)
    artifacts = artifacts_of(folder)
    heads = (
        b"",
        b"\x89PNG\r\n\x1a\n",
        b"GIF89a",
        b"<svg",
        b"RIFF\0\0\0\0WAVE",
        b"\0\0\0 ftypisom",
        b"{",
        b"\xff\xd8\xff",
    )
    endings = ("png", "gif", "svg", "wav", "mp4", "md", "txt", "html", "json", "webp")
    for i in range(200):
        name = f"{'+step+'.join(rng.choices(('k', '1', '', '-'), k=rng.randrange(1, 4)))}{i}.{rng.choice(endings)}"
        (artifacts / "images" / name).write_bytes(rng.choice(heads) + rng.randbytes(rng.randrange(80)))
    store = tracker._core.ImportStore.open(str(tmp_path / "s"))
    tracker.exchange.import_source(store, "mlflow", str(folder), "", lambda done, total: None)
    assert store.problems == []
    assert store.runs[0]["media"] + store.left_out["files of artifacts"] == 10 + 4 + 200
