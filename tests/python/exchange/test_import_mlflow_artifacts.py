# SPDX-License-Identifier: MIT
"""Goal: of the files of an MLflow run those that are media become media of it, models and all others artifacts that it
made, once, and no file beside the store is read.

Method: a run of MLflow 3.17 with its artifacts (make_data.py), in the file store and below a database, whole, in two
parts, and with others in their place.
"""

from __future__ import annotations

import gzip
import os
import random
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import tracker
from importing import DATA, import_json, opened, unpacked
from tracker.exchange import mlflow_artifacts
from tracker.exchange.mlflow_artifacts import TIMED, tables_of
from tracker.exchange.plain_files import MLFLOW_DEPTH_MAX

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
OTHERS = 4
SECRET = b"plain words of somebody else"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return unpacked(tmp_path, "mlflow_media")


def artifacts_of(folder: Path) -> Path:
    (found,) = (path for path in folder.rglob("artifacts") if path.is_dir())
    return found


def artifacts_in(store: Path, run: Any) -> dict[str, dict[str, bytes]]:
    """What the run made, by name: the bytes of each file, as a download has them."""
    out: dict[str, dict[str, bytes]] = {}
    for use in run.outputs:
        folder = Path(use.artifact().download(store.parent / "fetched" / use.name.replace("/", "_")))
        files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        out[use.name] = files
    return out


def all_media(run: Any) -> dict[str, list[tuple[int, str]]]:
    return {name: [(e.step, e.kind) for e in run.media(name, all=True)] for name in run.media_names()}


def test_artifacts_of_mlflow_that_are_media_become_media(tmp_path: Path, folder: Path) -> None:
    # Bug: they were counted alone.
    report = import_json(tmp_path / "s", folder)
    run = opened(tmp_path / "s", report)
    assert all_media(run) == MEDIA
    assert report["left_out"] == {}
    assert [entry.load()[0][0].tolist() for entry in run.media("val/dogs")] == [[step] * 3 for step in (1, 2, 10)]
    times = [entry.time for entry in run.media("val/dogs")]
    assert times == sorted(times)
    names = [path.name for path in (artifacts_of(folder) / "images").iterdir()]
    assert {str(round(time * 1000)) for time in times} == {name.split("+")[4] for name in names}
    assert run.ended is not None
    assert run.created.timestamp() <= run.media("still.png")[0].time <= run.ended.timestamp()
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
    run = opened(tmp_path / "s", report)
    assert all_media(run) == MEDIA
    assert report["left_out"] == {}
    ((name, files),) = artifacts_in(tmp_path / "s", run).items()
    assert (name, len(files)) == (f"{run.project}/{run.id}-artifacts:v0", OTHERS)


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
        run = opened(tmp_path / "s", report)
        assert (run.media_names(), run.outputs) == ([], [])


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


def test_files_that_are_no_media_become_an_artifact_of_the_run(tmp_path: Path, folder: Path) -> None:
    # Bug: they were counted alone.
    artifacts = artifacts_of(folder)
    report = import_json(tmp_path / "s", folder)
    run = opened(tmp_path / "s", report)
    name = f"{run.project}/{run.id}-artifacts:v0"
    assert report["artifacts"] == [name]
    assert report["runs"][0]["artifacts"] == 1
    ((found, files),) = artifacts_in(tmp_path / "s", run).items()
    assert found == name
    assert {"settings.json", "weights.bin"} < set(files)
    assert len(files) == OTHERS
    assert all(files[path] == (artifacts / path).read_bytes() for path in files)
    version = tracker.artifact(name, dir=str(tmp_path / "s"))
    assert (version.type, [maker.id for maker in version.logged_by()]) == ("artifacts", [run.id])
    assert run.ended is not None
    assert run.created <= version.created <= run.ended
    assert run.created.timestamp() <= run.outputs[0].time <= run.ended.timestamp()


def test_links_are_not_followed_and_what_is_no_medium_is_kept_as_it_is(tmp_path: Path, folder: Path) -> None:
    artifacts = artifacts_of(folder)
    secret = tmp_path / "secret.bin"
    secret.write_bytes(SECRET)
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "more.bin").write_bytes(SECRET)
    for name in ("secret.txt", "secret.bin"):
        (artifacts / name).symlink_to(secret)
    (artifacts / "linked").symlink_to(tmp_path / "others")
    os.mkfifo(artifacts / "pipe")
    (artifacts / "odd.png").write_bytes(b"no image")
    (artifacts / "table.json").write_text('{"columns": 7}')
    (artifacts / os.fsdecode(b"caf\xe9.txt")).write_text("a name that is no UTF-8")
    (artifacts / "a\\b\n.bin").write_text("a name that no artifact takes")
    (artifacts.parent / "params").mkdir(exist_ok=True)
    (artifacts.parent / "params" / os.fsdecode(b"caf\xe9")).write_text("1")
    report = import_json(tmp_path / "s", folder)
    run = opened(tmp_path / "s", report)
    assert set(run.media_names()) == set(MEDIA) - {"table.json"}
    assert report["left_out"] == {
        "files of artifacts": 3,  # two names, and the pipe
        "files whose names are no UTF-8": 1,
        "links among files": 3,
    }
    (files,) = artifacts_in(tmp_path / "s", run).values()
    assert len(files) == OTHERS + 2
    assert (files["odd.png"], files["table.json"]) == (b"no image", b'{"columns": 7}')
    blobs = [path for path in (tmp_path / "s" / "blobs").rglob("*") if path.is_file()]
    assert blobs
    assert not any(SECRET in path.read_bytes() for path in blobs)


def test_a_file_that_becomes_a_link_before_it_is_read_is_refused_and_the_run_is_imported(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "others").mkdir()
    secret = tmp_path / "others" / "weights.bin"
    secret.write_bytes(SECRET)
    below = artifacts_of(folder) / "below"
    below.mkdir()
    (below / "weights.bin").write_bytes(b"weights")
    listed = mlflow_artifacts._bytes

    def swap(path: Path) -> int:
        size = listed(path)
        if path.parent == below and not below.is_symlink():
            shutil.rmtree(below)
            below.symlink_to(tmp_path / "others")
        return size

    monkeypatch.setattr(mlflow_artifacts, "_bytes", swap)
    store = tracker._core.ImportStore.open(str(tmp_path / "s"))
    tracker.exchange.import_source(store, "mlflow", str(folder), "", lambda done, total: None)
    (problem,) = store.problems
    assert "weights.bin is a link that leads out of the folder" in problem
    assert (store.runs[0]["points"], store.runs[0]["artifacts"]) == (1, 0)
    assert not any(SECRET in path.read_bytes() for path in (tmp_path / "s").rglob("*") if path.is_file())


def test_a_model_is_an_artifact_of_its_own(tmp_path: Path, folder: Path) -> None:
    model = artifacts_of(folder) / "nets" / "small"
    (model / "code").mkdir(parents=True)
    written = {"MLmodel": b"flavors: {}", "requirements.txt": b"x", "code/readme.md": b"x", "code/MLmodel": b"inner"}
    for name, text in written.items():
        (model / name).write_bytes(text)
    report = import_json(tmp_path / "s", folder)
    run = opened(tmp_path / "s", report)
    assert all_media(run) == MEDIA
    assert report["left_out"] == {}
    made = artifacts_in(tmp_path / "s", run)
    names = [f"{run.project}/{run.id}-artifacts:v0", f"{run.project}/{run.id}-nets_small:v0"]
    assert list(made) == names
    assert made[names[1]] == written
    assert [use.type for use in run.outputs] == ["artifacts", "model"]


@pytest.mark.parametrize("place", ["files", "database", "a database that was moved"])
def test_a_model_that_mlflow_3_keeps_beside_its_runs_is_an_artifact_of_its_run(
    tmp_path: Path, folder: Path, place: str
) -> None:
    # Bug: it was not even counted.
    run_folder = artifacts_of(folder).parent
    if place == "files":
        source, experiment, id = folder, run_folder.parent, run_folder.name
    else:
        base = tmp_path / "base"
        base.mkdir()
        source, experiment = base / "mlflow.db", base / "mlruns" / "1"
        source.write_bytes(gzip.decompress((DATA / "mlflow.db.gz").read_bytes()))
        at = "/gone/mlruns/1" if "moved" in place else str(experiment)
        with closing(sqlite3.connect(source)) as db, db:
            (id,) = db.execute("SELECT run_uuid FROM runs").fetchone()
            db.executemany(
                "INSERT INTO logged_models(model_id, experiment_id, name, artifact_location, creation_timestamp_ms,"
                " last_updated_timestamp_ms, status, lifecycle_stage, source_run_id) VALUES(?, 1, ?, ?, ?, 1, 2, ?, ?)",
                [
                    ("m-0", "net/small", f"{at}/models/m-0/artifacts", 9, "active", id),
                    ("m-1", "net/small", f"{at}/models/m-1/artifacts", 1, "active", id),
                    ("m-2", "net", f"{at}/models/m-2/artifacts", 1, "deleted", id),
                    ("m-3", "net", f"{at}/models/m-3/artifacts", 1, "active", "another run"),
                    ("m-4", "net", "/etc/models/m-4/artifacts", 1, "active", id),
                    ("m-5", "net", f"{at}/models/../../m-5/artifacts", 1, "active", id),
                ],
            )
    for model, stage, made_ms in (
        ("m-0", "active", 9),
        ("m-1", "active", 1),
        ("m-2", "deleted", 1),
        ("m-3", "active", 1),
    ):
        files = experiment / "models" / model / "artifacts"
        files.mkdir(parents=True)
        (files / "MLmodel").write_text(model)
        (files.parent / "meta.yaml").write_text(
            f"name: net/small\nlifecycle_stage: {stage}\ncreation_timestamp: {made_ms}\n"
        )
    if place == "files":
        for model in ("m-0", "m-1", "m-2", "m-9"):
            (run_folder / "outputs" / model).mkdir(parents=True)
    report = import_json(tmp_path / "s", source)
    run = opened(tmp_path / "s", report)
    made = artifacts_in(tmp_path / "s", run)
    assert made[f"{run.project}/{run.id}-net_small:v0"] == {"MLmodel": b"m-1"}
    assert made[f"{run.project}/{run.id}-net_small-2:v0"] == {"MLmodel": b"m-0"}
    assert [use.type for use in run.outputs].count("model") == 2
    assert not import_json(tmp_path / "s", source)["runs"][0]["changed"]


def test_artifacts_of_mlflow_are_imported_once_and_what_changed_is_a_version_more(tmp_path: Path, folder: Path) -> None:
    artifacts = artifacts_of(folder)
    moved = artifacts / "weights.bin", tmp_path / "weights.bin"
    moved[0].rename(moved[1])
    first = import_json(tmp_path / "s", folder)
    assert first["artifacts"]
    again = import_json(tmp_path / "s", folder)
    assert (again["runs"][0]["changed"], again["artifacts"]) == (False, [])
    moved[1].rename(moved[0])
    report = import_json(tmp_path / "s", folder)
    run = opened(tmp_path / "s", report)
    name = f"{run.project}/{run.id}-artifacts"
    assert report["artifacts"] == [f"{name}:v1"]
    assert [use.name for use in run.outputs] == [f"{name}:v0", f"{name}:v1"]
    assert not import_json(tmp_path / "s", folder)["runs"][0]["changed"]
    # An import that was killed after the version and before its run finds it.
    shutil.rmtree(run.dir)
    report = import_json(tmp_path / "s", folder)
    assert report["artifacts"] == []
    assert [use.name for use in opened(tmp_path / "s", report).outputs] == [f"{name}:v1"]


def test_an_artifact_that_cannot_be_stored_is_a_problem_and_comes_with_the_next_import(
    tmp_path: Path, folder: Path
) -> None:
    tracker.init(project="mnist", dir=str(tmp_path / "s"), quiet=True).finish()
    (tmp_path / "s" / "artifacts").mkdir(exist_ok=True)
    (tmp_path / "s" / "artifacts" / "mnist").write_text("in the way")
    report = import_json(tmp_path / "s", folder, code=1)
    (problem,) = report["problems"]
    assert "was left out, and comes with the next import" in problem
    assert all_media(opened(tmp_path / "s", report)) == MEDIA
    (tmp_path / "s" / "artifacts" / "mnist").unlink()
    report = import_json(tmp_path / "s", folder)
    assert report["artifacts"] == ["mnist/seen-artifacts:v0"]
    assert report["runs"][0]["artifacts"] == 1


def test_progress_within_a_large_artifact_is_reported(tmp_path: Path, folder: Path) -> None:
    for number in range(4):
        (artifacts_of(folder) / f"part{number}.bin").write_bytes(bytes(1000))
    reports: list[tuple[int, int]] = []
    store = tracker._core.ImportStore.open(str(tmp_path / "s"))
    tracker.exchange.import_source(store, "mlflow", str(folder), "", lambda done, total: reports.append((done, total)))
    parts = [done / total for done, total in reports]
    assert parts == sorted(parts)
    assert parts[-1] == 1
    assert len({part for part in parts if 0.1 < part < 0.9}) >= 3


def test_a_progress_that_raises_costs_nothing(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: said.append(str(found.exc_value)))

    def report(done: int, total: int) -> None:
        if total > 1:
            raise RuntimeError("no terminal")

    store = tracker._core.ImportStore.open(str(tmp_path / "s"))
    tracker.exchange.import_source(store, "mlflow", str(folder), "", report)
    assert (store.runs[0]["artifacts"], store.problems) == (1, [])
    assert said == ["no terminal"] * OTHERS


def stored_files(store: Path) -> dict[str, bytes]:
    """All but the lock and caches."""
    return {
        str(path.relative_to(store)): path.read_bytes()
        for path in store.rglob("*")
        if path.is_file() and path.name != "import.lock" and not path.name.startswith(("catalog", "digests-"))
    }


def run_files(store: Path) -> dict[str, bytes]:
    """Not the list of an artifact's files with their times, which gc takes where no version has it."""
    return {name: data for name, data in stored_files(store).items() if not name.startswith("blobs/")}


def copied_run(folder: Path, id: str, name: str, files: dict[str, str]) -> None:
    """A run beside that of the data, with these artifacts alone."""
    first = artifacts_of_first(folder)
    run = first.parent.parent / id
    shutil.copytree(first.parent, run, ignore=shutil.ignore_patterns("artifacts", "tags", "outputs"))
    meta = (run / "meta.yaml").read_text()
    lines = [line for line in meta.splitlines() if not line.startswith(("run_id", "run_uuid", "run_name"))]
    said = [f"run_id: {id}", f"run_uuid: {id}", f"run_name: '{name}'"]
    (run / "meta.yaml").write_text("\n".join(lines + said) + "\n")
    for path, text in files.items():
        (run / "artifacts" / path).parent.mkdir(parents=True, exist_ok=True)
        (run / "artifacts" / path).write_text(text)


def artifacts_of_first(folder: Path) -> Path:
    return next(path for path in sorted(folder.rglob("artifacts")) if (path / "still.png").exists())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # The names of both runs become lr_0.1.
        (("lr:0.1", {"a.bin": "one"}), ("lr_0.1", {"a.bin": "two"})),
        # The model of one run has the name of what the other one's files get, with another type.
        (("x", {"a-artifacts/MLmodel": "m"}), ("x-a", {"b.bin": "two"})),
        (("x-a", {"b.bin": "two"}), ("x", {"a-artifacts/MLmodel": "m"})),
        (("x", {"a:b/MLmodel": "m", "a_b/MLmodel": "n"}), ("x", {"a_b/MLmodel": "o"})),
    ],
)
def test_artifacts_of_two_runs_have_two_names_and_an_unchanged_import_writes_nothing(
    tmp_path: Path, folder: Path, first: tuple[str, dict[str, str]], second: tuple[str, dict[str, str]]
) -> None:
    # Bug: they were versions of one artifact; each import wrote marks in turns, or refused the second one's files.
    for number, (name, files) in enumerate((first, second)):
        copied_run(folder, f"{number}" * 32, name, files)
    report = import_json(tmp_path / "s", folder)
    assert report["problems"] == []
    before = stored_files(tmp_path / "s")
    names: list[str] = []
    for index, run in enumerate(report["runs"]):
        if run["id"].startswith(("lr", "x")):
            made = artifacts_in(tmp_path / "s", opened(tmp_path / "s", report, index))
            names += [name.partition(":")[0] for name in made]
            assert all(name.endswith(":v0") for name in made)
    assert len(names) == len(set(names)) == len(first[1]) + len(second[1])
    shutil.rmtree(tmp_path / "fetched")
    for _ in range(2):
        assert not any(run["changed"] for run in import_json(tmp_path / "s", folder)["runs"])
        assert stored_files(tmp_path / "s") == before


def test_a_copy_of_the_source_without_its_times_brings_no_medium_twice(tmp_path: Path, folder: Path) -> None:
    # Bug: the time at which a file was written was part of what it is.
    artifacts = artifacts_of(folder)
    (artifacts / "long.txt").write_text("x" * 100_000)
    import_json(tmp_path / "s", folder)
    before = run_files(tmp_path / "s")
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (1.7e9, 1.7e9))
    assert not import_json(tmp_path / "s", folder)["runs"][0]["changed"]
    assert run_files(tmp_path / "s") == before
    # What was written again is imported, whatever its time says.
    stamp = (artifacts / "note.txt").stat().st_mtime_ns
    (artifacts / "note.txt").write_text("another text")
    (artifacts / "long.txt").write_text("y" * 100_000)
    os.utime(artifacts / "note.txt", ns=(stamp, stamp))
    report = import_json(tmp_path / "s", folder)
    assert report["runs"][0]["media"] == 2
    run = opened(tmp_path / "s", report)
    assert [entry.load() for entry in run.media("note.txt", all=True)] == ["a text", "another text"]
    assert not import_json(tmp_path / "s", folder)["runs"][0]["changed"]


def test_a_text_that_is_no_utf_8_keeps_its_bytes_in_the_artifact(tmp_path: Path, folder: Path) -> None:
    # Bug: it became a text with replaced characters, and its bytes were nowhere.
    odd = {f"odd.{suffix}": b"caf\xe9 " + suffix.encode() for suffix in ("txt", "md", "html")}
    for name, text in odd.items():
        (artifacts_of(folder) / name).write_bytes(text)
    run = opened(tmp_path / "s", import_json(tmp_path / "s", folder))
    assert all_media(run) == MEDIA
    (files,) = artifacts_in(tmp_path / "s", run).values()
    assert {name: files[name] for name in odd} == odd


def test_files_in_too_many_folders_are_counted(tmp_path: Path, folder: Path) -> None:
    deepest = artifacts_of(folder).joinpath(*["d"] * MLFLOW_DEPTH_MAX)
    (deepest / "e" / "f").mkdir(parents=True)
    for path in (deepest / "kept.bin", deepest / "e" / "one.bin", deepest / "e" / "f" / "two.bin"):
        path.write_text(path.name)
    report = import_json(tmp_path / "s", folder, code=3)
    assert report["left_out"] == {"files of artifacts": 2}
    # Bug: that the source holds more than is read was all that was said.
    assert report["problems"] == [f"{deepest / 'e'} lies in 16 folders; what it holds is left out"]
    (files,) = artifacts_in(tmp_path / "s", opened(tmp_path / "s", report)).values()
    assert [Path(name).name for name in files if name.startswith("d/")] == ["kept.bin"]


def test_a_folder_that_cannot_be_read_is_named_and_the_rest_is_imported(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Bug: the error ended the whole import.
    closed = artifacts_of(folder) / "closed"
    closed.mkdir()
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if Path(path) == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    store = tracker._core.ImportStore.open(str(tmp_path / "s"))
    tracker.exchange.import_source(store, "mlflow", str(folder), "", lambda done, total: None)
    (problem,) = store.problems
    assert f"{closed} cannot be read: Permission denied" in problem
    assert (store.runs[0]["media"], store.runs[0]["artifacts"]) == (10, 1)


def test_a_model_of_a_database_that_lies_somewhere_odd_is_counted(tmp_path: Path) -> None:
    source = tmp_path / "mlflow.db"
    source.write_bytes(gzip.decompress((DATA / "mlflow.db.gz").read_bytes()))
    with closing(sqlite3.connect(source)) as db, db:
        (id,) = db.execute("SELECT run_uuid FROM runs").fetchone()
        db.execute(
            "INSERT INTO logged_models(model_id, experiment_id, name, artifact_location, creation_timestamp_ms,"
            " last_updated_timestamp_ms, status, lifecycle_stage, source_run_id)"
            " VALUES('m-0', 1, 'net', '/data/net', 1, 1, 2, 'active', ?)",
            (id,),
        )
    assert import_json(tmp_path / "s", source)["left_out"] == {"folders of artifacts that lie elsewhere": 1}


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
    before = len(list((artifacts / "images").iterdir()))
    for i in range(200):
        name = f"{'+step+'.join(rng.choices(('k', '1', '', '-'), k=rng.randrange(1, 4)))}{i}.{rng.choice(endings)}"
        (artifacts / "images" / name).write_bytes(rng.choice(heads) + rng.randbytes(rng.randrange(80)))
    written = len(list((artifacts / "images").iterdir())) - before  # two may get one name
    store = tracker._core.ImportStore.open(str(tmp_path / "s"))
    tracker.exchange.import_source(store, "mlflow", str(folder), "", lambda done, total: None)
    assert store.problems == []
    assert set(store.left_out) <= {"secrets in media"}  # random bytes may look like one
    run = tracker.runs(dir=str(tmp_path / "s"))[0]
    (files,) = artifacts_in(tmp_path / "s", run).values()
    assert store.runs[0]["media"] + len(files) == 10 + OTHERS + written
