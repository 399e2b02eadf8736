# SPDX-License-Identifier: MIT
"""Goal: of a run of W&B its media, its last names and its settings are carried over, and nothing is made up.

Method: a run of W&B 0.31 with the files beside it (make_data.py), whole, without them, and with others in their place.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tracker
from importing import import_json, opened, unpacked
from tracker.exchange.wandb_media import _histogram, media_of

# What has no place here: a cloud of points.
LEFT_OUT = {"values of type object3D-file": 1}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return unpacked(tmp_path, "wandb_media")


def made_of(value: dict[str, Any], folder: Path, leave_out: Callable[[str], None]) -> list[Any]:
    return list(media_of(value, folder, leave_out))


def left_out(report: dict[str, Any]) -> dict[str, int]:
    return {kind: count for kind, count in report["left_out"].items() if kind.startswith("values")}


def test_media_become_media_and_no_metrics(tmp_path: Path, folder: Path) -> None:
    # Bug: W&B writes an object key by key, and each became a metric or a text: img/height, img/sha256, table/nrows.
    report = import_json(tmp_path / "s", folder)
    run = opened(tmp_path / "s", report)
    assert run.series() == ["loss", "nested/x"]
    assert run.text_names() == []
    assert set(run.summary) == {"loss", "nested/x"}
    assert left_out(report) == LEFT_OUT
    assert report["runs"][0]["media"] == 14
    (image,) = run.media("img")
    assert (image.step, image.kind, image.caption) == (0, "image", "seven")
    assert image.load().tolist() == [[[7, 7, 7]] * 6] * 4
    assert abs(image.time - run.history("loss").times[0]) < 1
    assert [entry.load()[0][0].tolist() for entry in run.media("nested/img")] == [[1, 1, 1]]
    (histogram,) = run.media("hist")
    assert histogram.load() == {"counts": [2, 3], "edges": [0.0, 1.0, 2.0]}
    assert [(e.step, e.caption, e.load()[0][0].tolist()) for e in run.media("many")] == [
        (2, "two", [2, 2, 2]),
        (2, "three", [3, 3, 3]),
    ]
    assert [entry.load() for entry in run.media("page")] == ["<b>x</b>"]
    (table,) = run.media("table")
    assert table.load().to_rows() == [(1, "x"), (2, "y")]
    (tone,) = run.media("tone")
    assert tone.load()[1] == 8000
    assert [(e.kind, e.bytes[:6]) for e in run.media("film")] == [("video", b"GIF89a")]
    assert len(run.media("boxed")) == 1


def test_names_that_change_after_init_are_the_last_ones(tmp_path: Path, folder: Path) -> None:
    # Bug: only the first record of the run was read.
    run = opened(tmp_path / "s", import_json(tmp_path / "s", folder))
    assert (run.name, run.notes, run.tags) == ("second", "two", ("a", "b"))


def test_a_setting_called_value_stays_where_it_is(tmp_path: Path, folder: Path) -> None:
    # Bug: {"thr": {"value": 0.5}} became 0.5, as if W&B had wrapped it.
    run = opened(tmp_path / "s", import_json(tmp_path / "s", folder))
    assert run.config == {"thr": {"value": 0.5}, "later": 5}


def test_media_are_imported_once(tmp_path: Path, folder: Path) -> None:
    import_json(tmp_path / "s", folder)
    report = import_json(tmp_path / "s", folder)
    assert not report["runs"][0]["changed"]
    run = opened(tmp_path / "s", report)
    assert [len(run.media(name, all=True)) for name in ("img", "many", "hist", "table")] == [1, 2, 1, 1]


def test_media_whose_files_stayed_elsewhere_are_counted(tmp_path: Path, folder: Path) -> None:
    shutil.rmtree(folder / "files")
    report = import_json(tmp_path / "s", folder)
    assert opened(tmp_path / "s", report).media_names() == ["hist"]
    assert left_out(report) == {
        **LEFT_OUT,
        "values of type image-file without their file": 5,
        "values of type images/separated without their file": 4,
        "values of type boxes2D": 7,
        "values of type mask": 3,
        "values of type html-file without their file": 1,
        "values of type table-file without their file": 1,
        "values of type audio-file without their file": 1,
        "values of type video-file without their file": 1,
    }


def test_no_file_outside_the_runs_folder_becomes_a_medium(tmp_path: Path, folder: Path) -> None:
    secret = tmp_path / "secret.png"
    (image,) = (folder / "files" / "media" / "images").glob("boxed_*.png")
    image.rename(secret)
    image.symlink_to(secret)
    report = import_json(tmp_path / "s", folder)
    assert report["left_out"]["values of type image-file without their file"] == 1
    assert "boxed" not in opened(tmp_path / "s", report).media_names()
    heard: list[str] = []
    for path in ("../secret.png", str(secret), "media/../../secret.png", "", None, 7, "a\0b"):
        assert made_of({"_type": "image-file", "path": path}, folder / "files", heard.append) == [None]
    assert set(heard) == {"values of type image-file without their file"}
    (folder / "files").rename(tmp_path / "files")
    (folder / "files").symlink_to(tmp_path / "files")
    (page,) = (tmp_path / "files" / "media" / "html").iterdir()
    value = {"_type": "html-file", "path": f"media/html/{page.name}"}
    assert len(made_of(value, tmp_path / "files", heard.append)) == 1
    assert made_of(value, folder / "files", heard.append) == [None]


def test_an_object_that_is_no_such_medium_is_counted() -> None:
    heard: list[str] = []
    for value in (
        {"_type": "histogram"},
        {"_type": "histogram", "values": [1], "bins": [0, 0]},
        {"_type": "histogram", "values": "x", "packedBins": {"min": 0, "size": 1, "count": 10**9}},
        {"_type": ["x"]},
        {"_type": "images/separated", "filenames": 7},
    ):
        assert made_of(value, Path("/nowhere"), heard.append) == [None]
    assert heard == [
        *["values of type histogram"] * 3,
        "values of type ['x']",
        "values of type images/separated without their file",
    ]
    packed = {"values": [1, 2], "packedBins": {"min": 0.0, "size": 0.5, "count": 2}}
    description = _histogram(packed)._description
    assert description is not None
    assert description["data"] == {"counts": [1, 2], "edges": [0.0, 0.5, 1.0]}


def test_a_table_of_mixed_cells_is_kept_as_texts(tmp_path: Path) -> None:
    # Bug: it was left out.
    (tmp_path / "t.json").write_text('{"columns": ["n", "img"], "data": [[1, {"_type": "image-file"}], ["x", null]]}')
    heard: list[str] = []
    (table,) = media_of({"_type": "table-file", "path": "t.json"}, tmp_path, heard.append)
    description = table._description
    assert description is not None
    assert '"values":["1","x"]' in description["text"]
    assert heard == ["values of type image-file"]


def test_what_does_not_fit_on_the_disk_is_a_problem(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise tracker.LimitError("the disk is full")

    monkeypatch.setattr("tracker.exchange.media.ImportedFiles.add", full)
    store = tracker._core.ImportStore.open(str(tmp_path / "s"))
    tracker.exchange.import_source(store, "wandb", str(folder), "", lambda done, total: None)
    assert "'img' at step 0 cannot be stored: the disk is full" in store.problems[0]
    assert store.runs[0]["points"] == 3
