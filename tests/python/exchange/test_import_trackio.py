# SPDX-License-Identifier: MIT
"""Goal: media of Trackio become media of the run, once, no file beside its folder is read, and tables keep their cells.

Method: a database of Trackio 0.43 with the files beside it (make_data.py), whole, in two parts, without them, and with
others in their place; rows made by hand and at random.
"""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import tracker
from importing import import_json, opened, unpacked
from tracker._media.table_columns import TABLE_COLUMNS_MAX
from tracker.exchange.rows import sort_value
from tracker.exchange.tables import table_of_objects, table_of_rows
from tracker.exchange.trackio_media import media_of

IMPORTED_ALERTS_MAX = 1000  # kAlertsMax


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return unpacked(tmp_path, "trackio_media")


def imported(store: Path, folder: Path, code: int = 0) -> dict[str, Any]:
    return import_json(store, folder / "mnist.db", "--format", "trackio", code=code)


def all_media(run: Any) -> dict[str, list[tuple[int, str, str | None]]]:
    return {name: [(e.step, e.kind, e.caption) for e in run.media(name, all=True)] for name in run.media_names()}


def cells_of(table: Any, store: Path) -> Any:
    """As a reader has them."""
    run = tracker.init(project="p", dir=str(store), quiet=True)
    run.log({"table": table}, step=0)
    run.finish()
    return tracker.open_run(f"p/{run.id}", dir=str(store)).media("table")[0].load()


def test_media_of_trackio_keep_steps_captions_and_cells(tmp_path: Path, folder: Path) -> None:
    # Bug: they were counted alone.
    report = imported(tmp_path / "s", folder)
    run = opened(tmp_path / "s", report)
    assert run.series() == ["loss"]
    assert all_media(run) == {
        "film": [(3, "video", "a dot")],
        "hist": [(3, "histogram", None)],
        "img": [(0, "image", "seven"), (2, "image", None)],
        "md": [(5, "markdown", None)],
        "page": [(5, "html", "bold")],
        "table": [(4, "table", None)],
        "tone": [(3, "audio", "quiet")],
    }
    assert [entry.load()[0][0].tolist() for entry in run.media("img")] == [[7, 7, 7, 255], [8, 8, 8, 255]]
    assert run.media("img")[0].time == run.history("loss").times[0]
    assert run.media("hist")[0].load() == {"counts": [2, 3], "edges": [0.0, 1.0, 2.0]}
    assert [run.media(name)[0].load() for name in ("md", "page")] == ["**b**", "<b>x</b>"]
    assert run.media("tone")[0].load()[1] == 8000
    table = run.media("table")[0].load()
    assert table.types == {"n": "int", "name": "text", "score": "float", "mixed": "text", "img": "text"}
    first, second = table.to_rows()
    assert first[:4] == (1, "x", 0.5, "1")
    assert json.loads(first[4])["_type"] == "trackio.image"
    assert second[:2] + second[3:4] == (2, "y", "two")
    assert math.isnan(second[2])
    assert report["left_out"] == {"values of type trackio.image": 2, "values of type trackio.object3d": 1}


def change(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "mnist.db")) as db, db:
        for statement in statements:
            db.execute(statement)


def alerts_of(run: Any) -> list[tuple[str, str, str, int | None]]:
    return [(alert.level, alert.title, alert.text, alert.step) for alert in run.alerts]


def test_alerts_of_trackio_become_alerts_of_the_run_once(tmp_path: Path, folder: Path) -> None:
    # Bug: they were counted alone.
    report = imported(tmp_path / "s", folder)
    assert report["runs"][0]["alerts"] == 1
    (alert,) = opened(tmp_path / "s", report).alerts
    assert (alert.level, alert.title, alert.text, alert.step) == ("warn", "too high", "the loss", 6)
    with closing(sqlite3.connect(folder / "mnist.db")) as db:
        (said,) = db.execute("SELECT timestamp FROM alerts").fetchone()
    assert alert.time == pytest.approx(datetime.fromisoformat(said).timestamp(), abs=1e-6)
    assert not imported(tmp_path / "s", folder)["runs"][0]["changed"]
    change(
        folder,
        "INSERT INTO alerts(run_id, timestamp, run_name, title, level) "
        "SELECT run_id, timestamp, run_name, 'again', 'ERROR' FROM alerts",
    )
    report = imported(tmp_path / "s", folder)
    assert (report["runs"][0]["alerts"], report["runs"][0]["points"]) == (1, 0)
    run = opened(tmp_path / "s", report)
    assert sorted(alerts_of(run)) == [("error", "again", "", None), ("warn", "too high", "the loss", 6)]
    assert not imported(tmp_path / "s", folder)["runs"][0]["changed"]


def test_of_very_many_alerts_the_first_are_stored_and_the_page_says_what_json_has(tmp_path: Path, folder: Path) -> None:
    # Bug: 100,000 were stored, of which no reader showed more than the last 1,000.
    database = folder / "mnist.db"
    with closing(sqlite3.connect(database)) as db, db:
        for number in range(IMPORTED_ALERTS_MAX + 4):
            db.execute(
                "INSERT INTO alerts(run_id, timestamp, run_name, title, level, text)"
                " SELECT run_id, timestamp, run_name, ?, level, text FROM alerts LIMIT 1",
                (f"alert {number}",),
            )
    for _ in range(2):
        report = imported(tmp_path / "s", folder)
        assert report["left_out"]["alerts beyond 1000 of a run"] == 5
    assert not report["runs"][0]["changed"]
    run = opened(tmp_path / "s", report)
    assert run.alerts.total == IMPORTED_ALERTS_MAX
    shown = [sys.executable, "-m", "tracker", "show", run.id, "--dir", str(tmp_path / "s")]
    assert "and 980 alerts before; --json has them" in subprocess.check_output(shown, text=True)
    with tracker.init(project=run.project, id=run.id, resume="must", dir=str(tmp_path / "s"), quiet=True) as more:
        more.alert("one more")
    page = subprocess.check_output(shown, text=True)
    assert "and 981 alerts before; --json has the last 1000 of all" in page
    assert len(json.loads(subprocess.check_output([*shown, "--json"], text=True))["alerts"]) == IMPORTED_ALERTS_MAX


def test_alerts_of_trackio_are_bounded_redacted_and_never_cost_the_run(tmp_path: Path, folder: Path) -> None:
    secret = "sk-" + "a1B2" * 10
    change(
        folder,
        f"UPDATE alerts SET title='{'t' * 300}', text='token {secret}', level='loud', step=NULL",
        "INSERT INTO alerts(run_id, timestamp, run_name, title) SELECT run_id, 'no time', run_name, x'ff' FROM alerts",
        "INSERT INTO alerts(run_id, timestamp, run_name, title) VALUES('missing', '', 'missing', 'of no run')",
    )
    report = imported(tmp_path / "s", folder)
    run = opened(tmp_path / "s", report)
    assert report["left_out"]["alerts of runs without rows"] == 1
    assert report["left_out"]["secrets in alerts"] == 1
    levels = [(alert.level, len(alert.title)) for alert in run.alerts]
    assert sorted(levels) == [("info", 256), ("warn", 0)]
    assert not any(secret in alert.text for alert in run.alerts)
    change(folder, "UPDATE alerts SET title=CAST(x'ff' AS TEXT) WHERE title=x'ff'")
    report = imported(tmp_path / "two", folder, code=3)
    assert "table alerts" in report["problems"][0]
    assert opened(tmp_path / "two", report).series() == ["loss"]


def test_alerts_of_an_older_trackio_are_those_of_the_runs_name(tmp_path: Path, folder: Path) -> None:
    change(
        folder,
        "ALTER TABLE alerts RENAME TO newer",
        "CREATE TABLE alerts(id INTEGER PRIMARY KEY, timestamp TEXT, run_name TEXT, title TEXT)",
        "INSERT INTO alerts SELECT id, timestamp, run_name, title FROM newer",
    )
    report = imported(tmp_path / "s", folder)
    assert alerts_of(opened(tmp_path / "s", report)) == [("info", "too high", "", None)]


def test_media_of_trackio_are_imported_once(tmp_path: Path, folder: Path) -> None:
    first = imported(tmp_path / "s", folder)
    before = all_media(opened(tmp_path / "s", first))
    second = imported(tmp_path / "s", folder)
    assert not second["runs"][0]["changed"]
    assert all_media(opened(tmp_path / "s", second)) == before


def test_media_that_trackio_logs_after_an_import_are_added_by_the_next_one(tmp_path: Path, folder: Path) -> None:
    whole = (folder / "mnist.db").read_bytes()
    with closing(sqlite3.connect(folder / "mnist.db")) as db, db:
        db.execute("DELETE FROM metrics WHERE step > 1")
    assert imported(tmp_path / "s", folder)["runs"][0]["media"] == 1
    (folder / "mnist.db").write_bytes(whole)
    report = imported(tmp_path / "s", folder)
    assert report["runs"][0]["media"] == 7
    at_once = opened(tmp_path / "one", imported(tmp_path / "one", folder))
    assert all_media(opened(tmp_path / "s", report)) == all_media(at_once)


def test_media_of_trackio_whose_files_stayed_elsewhere_are_counted(tmp_path: Path, folder: Path) -> None:
    shutil.rmtree(folder / "media")
    report = imported(tmp_path / "s", folder)
    assert opened(tmp_path / "s", report).media_names() == ["hist", "md", "table"]
    assert {kind: count for kind, count in report["left_out"].items() if kind.endswith("file")} == {
        "values of type trackio.image without their file": 2,
        "values of type trackio.audio without their file": 1,
        "values of type trackio.video without their file": 1,
        "values of type trackio.html without their file": 1,
    }


def test_no_file_outside_the_folder_of_trackio_becomes_a_medium(tmp_path: Path, folder: Path) -> None:
    secret = tmp_path / "secret.png"
    (picture,) = (folder / "media" / "mnist" / "seen" / "0").iterdir()
    picture.rename(secret)
    picture.symlink_to(secret)
    report = imported(tmp_path / "s", folder)
    assert report["left_out"]["values of type trackio.image without their file"] == 1
    heard: list[str] = []
    names = ("../../../secret.png", str(secret), "mnist/../../../../secret.png", "mnist", "", "a\0b", None, 7, ["x"])
    for name in names:
        value = {"_type": "trackio.image", "file_path": name}
        assert list(media_of(value, folder / "media", heard.append)) == []
    assert heard == ["values of type trackio.image without their file"] * len(names)


def add_rows(folder: Path, documents: dict[int, str]) -> None:
    with closing(sqlite3.connect(folder / "mnist.db")) as db, db:
        for step, text in documents.items():
            db.execute(
                "INSERT INTO metrics(run_id, timestamp, run_name, step, metrics)"
                " SELECT run_id, timestamp, run_name, ?, ? FROM metrics LIMIT 1",
                (step, text),
            )


def test_a_name_or_a_text_that_is_no_unicode_does_not_cost_the_run(tmp_path: Path, folder: Path) -> None:
    # Bug: such a name ended the import, and nothing of the run was stored.
    add_rows(folder, {11: '{"\\ud800": 1.0, "x": {"\\ud800": "a"}, "said": "a\\ud800b"}', 12: '{"loss": 0.125}'})
    report = imported(tmp_path / "s", folder)
    run = opened(tmp_path / "s", report)
    assert report["left_out"]["values whose name is not valid Unicode"] == 2
    assert run.history("loss").steps.tolist() == [0, 2, 12]
    assert [row.text for row in run.texts("said")] == ["a?b"]


def test_a_row_that_cannot_be_read_is_a_problem_and_the_others_are_taken(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Pythons differ in whether the parser of JSON or what follows it finds a row too deep.
    def sort_or_fail(name: str, *rest: Any) -> None:
        if name == "img":
            raise RecursionError("too deep")
        sort_value(name, *rest)

    monkeypatch.setattr("tracker.exchange.trackio_store.sort_value", sort_or_fail)
    add_rows(folder, {depth: '{"x":' * depth + "1.0" + "}" * depth for depth in range(800, 1000)})
    add_rows(folder, {2000: '{"loss": 0.125}'})
    store = tracker._core.ImportStore.open(str(tmp_path / "s"))
    tracker.exchange.import_source(store, "trackio", str(folder / "mnist.db"), "", lambda done, total: None)
    assert store.problems[0].endswith("row 1 of table metrics cannot be read: too deep")
    assert all("of table metrics cannot be read" in line for line in store.problems)
    run = tracker.open_run("mnist/seen", dir=str(tmp_path / "s"))
    assert run.history("loss").steps.tolist() == [2000]


def test_values_of_trackio_that_are_no_media_are_counted(tmp_path: Path) -> None:
    heard: list[str] = []
    for value in (
        {"_type": "trackio.histogram"},
        {"_type": "trackio.histogram", "values": [], "bins": []},
        {"_type": "trackio.markdown", "_value": 7},
        {"_type": "trackio.table", "_value": 7},
        {"_type": "trackio.table", "_value": [7]},
        {"_type": "trackio.table", "_value": []},
        {"_type": "trackio.trace", "messages": []},
        {"_type": ["x"]},
    ):
        assert list(media_of(value, tmp_path, heard.append)) == []
    assert len(heard) == 8
    assert heard[-2:] == ["values of type trackio.trace", "values of type ['x']"]


def test_random_values_never_get_past_the_makers_of_media(tmp_path: Path) -> None:
    seed = int(os.environ.get("TRACKER_TEST_SEED", random.randrange(1 << 32)))
    print(f"TRACKER_TEST_SEED={seed}")
    rng = random.Random(seed)
    words = ("_type", "_value", "bins", "values", "file_path", "caption", "NaN", "trackio.table", "trackio.histogram",
             "trackio.markdown", "trackio.image", "\ud800", "", "../x", "x" * 5000)  # fmt: skip

    def anything(depth: int) -> Any:
        kind = rng.randrange(8 if depth else 5)
        if kind > 5:
            return [anything(depth - 1) for _ in range(rng.randrange(4))]
        if kind == 5:
            return {rng.choice(words): anything(depth - 1) for _ in range(rng.randrange(4))}
        return (None, rng.random() * 1e300, rng.randrange(-(1 << 70), 1 << 70), True, rng.choice(words))[kind]

    for _ in range(3000):
        value = {rng.choice(words): anything(4) for _ in range(4)} | {"_type": rng.choice(words)}
        assert sum(1 for _ in media_of(value, tmp_path, lambda _: None)) <= 1


def test_a_column_of_a_table_has_one_type_and_keeps_what_it_can(tmp_path: Path) -> None:
    rows: list[Any] = [[1, 1, "NaN", True, 1, None, 1 << 70], [2, 0.5, "-Infinity", False, [2, {"a": None}]], [3, 1, 7]]
    table = cells_of(table_of_rows([*"abcdef", 7], rows, pytest.fail, None), tmp_path / "s")
    assert table.types == {"a": "int", "b": "float", "c": "float", "d": "bool", "e": "text", "f": "text", "7": "text"}
    first, second, third = table.to_rows()
    assert first[:2] + first[3:] == (1, 1.0, True, "1", None, str(1 << 70))
    assert math.isnan(first[2])
    assert second == (2, 0.5, -math.inf, False, '[2, {"a": null}]', None, None)
    assert third == (3, 1.0, 7.0, None, None, None, None)
    mixed = cells_of(table_of_objects([{"a": "NaN"}, {"a": "x", "b": 1}], pytest.fail, None), tmp_path / "s")
    assert mixed.to_rows() == [("NaN", None), ("x", 1)]


def test_what_is_no_table_is_refused_before_it_takes_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns, rows in ((["a"], [["x", "y"]]), (["a", "a"], [[1, 2]]), (["a"], ["x"]), (["a"], [{"a": 1}]), ([], [])):
        with pytest.raises((TypeError, ValueError)):
            table_of_rows(columns, rows, pytest.fail, None)
    many = [{f"column {i}": 1} for i in range(TABLE_COLUMNS_MAX)]
    assert table_of_objects(many, pytest.fail, None).kind == "table"
    monkeypatch.setattr("tracker.exchange.tables._column", pytest.fail)
    with pytest.raises(ValueError, match="columns; at most"):
        table_of_rows([*many, "one more"], [[]], pytest.fail, None)
    monkeypatch.setattr("tracker.exchange.tables.table_of_rows", pytest.fail)
    with pytest.raises(ValueError, match="columns; at most"):
        table_of_objects([*many, {"one more": 1}], pytest.fail, None)
