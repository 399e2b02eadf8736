# SPDX-License-Identifier: MIT
"""Goal: whichever part of a source comes in which import, each row of it is imported once, and none is missing.

Method: files of W&B with a start each, a database of Trackio, imported together, one by one, grown, and into stores
that an import of before files had marks has filled.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import PIL.Image
import pytest
import tracker
from importing import import_json, opened
from tracker.exchange import import_source
from wandb_file import Row, write_start

FIRST, SECOND, THIRD = 1_788_000_000, 1_788_003_600, 1_788_007_200


def rows(started: int, steps: range) -> list[Row]:
    return [(step, started + step, {"loss": started + step / 8, "note": f"{started} {step}"}) for step in steps]


def start(source: Path, started: int, steps: range, **more: Any) -> Path:
    return write_start(source / f"offline-run-{started}-abc", "abc", started, rows(started, steps), **more)


def expect_rows(run: Any, *starts: tuple[int, range]) -> None:
    expected = sorted((step, started + step / 8) for started, steps in starts for step in steps)
    loss = run.history("loss", all=True)
    assert sorted(zip(loss.steps.tolist(), loss.values.tolist(), strict=True)) == expected
    assert sorted(row.text for row in run.texts("note", all=True)) == sorted(
        f"{started} {step}" for started, steps in starts for step in steps
    )


@pytest.fixture
def without_marks(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An import as it was before files had marks: the rows of all starts were counted as if they were one's."""
    monkeypatch.setattr(tracker._core.RunImport, "begin_part", lambda run, part: 0)
    monkeypatch.setattr(tracker._core.RunImport, "mark", lambda run, part, taken: None)
    return monkeypatch


def import_here(store: Path, source: Path) -> None:
    import_source(tracker._core.ImportStore.open(str(store)), "wandb", str(source), "", lambda done, total: None)


def test_each_start_of_a_run_of_wandb_is_an_attempt_of_it(tmp_path: Path) -> None:
    # Bug: as many rows of a later start's file as the first one had were passed over in silence.
    start(tmp_path / "w", FIRST, range(5), config={"lr": 0.1})
    start(tmp_path / "w", SECOND, range(5, 13), config={"lr": 0.2})
    report = import_json(tmp_path / "s", tmp_path / "w")
    assert [(run["points"], run["new"]) for run in report["runs"]] == [(5, True), (8, False)]
    run = opened(tmp_path / "s", report)
    expect_rows(run, (FIRST, range(5)), (SECOND, range(5, 13)))
    assert run.history("loss").attempts.tolist() == [1] * 5 + [2] * 8
    assert run.config == {"lr": 0.2}
    again = import_json(tmp_path / "s", tmp_path / "w")
    # Bug: each file set its own settings again, and each import added an attempt for each.
    assert [run["changed"] for run in again["runs"]] == [False, False]
    assert len(opened(tmp_path / "s", again).writers) == 2


def test_steps_that_a_later_start_logs_again_are_shown_of_that_one(tmp_path: Path) -> None:
    start(tmp_path / "w", FIRST, range(5))
    start(tmp_path / "w", SECOND, range(3, 8))
    run = opened(tmp_path / "s", import_json(tmp_path / "s", tmp_path / "w"))
    assert run.history("loss").values.tolist() == [FIRST + step / 8 for step in range(3)] + [
        SECOND + step / 8 for step in range(3, 8)
    ]
    expect_rows(run, (FIRST, range(5)), (SECOND, range(3, 8)))


def test_starts_of_offline_and_of_online_runs_come_in_their_order(tmp_path: Path) -> None:
    start(tmp_path / "w", SECOND, range(2))
    write_start(tmp_path / "w" / f"run-{FIRST}-abc", "abc", FIRST, rows(FIRST, range(2)))
    run = opened(tmp_path / "s", import_json(tmp_path / "s", tmp_path / "w"))
    assert run.history("loss").values.tolist() == [SECOND, SECOND + 1 / 8]


def test_whichever_files_of_a_run_grow_or_come_each_row_is_imported_once(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    have = {FIRST: 0, SECOND: 0, THIRD: 0}
    for turn in range(8):
        for started in rng.sample(sorted(have), 2):
            have[started] += rng.randrange(4) if turn else 1
            start(tmp_path / "w", started, range(have[started]), exited=False)
        if rng.random() < 0.3:  # the folders are moved
            (tmp_path / "w").rename(tmp_path / f"w{turn}")
            shutil.copytree(tmp_path / f"w{turn}", tmp_path / "w")
        report = import_json(tmp_path / "s", tmp_path / "w")
        assert report["problems"] == []
        expect_rows(opened(tmp_path / "s", report), *((one, range(count)) for one, count in have.items()))
    assert not any(run["changed"] for run in import_json(tmp_path / "s", tmp_path / "w")["runs"])


def test_a_run_file_that_became_shorter_is_named(tmp_path: Path) -> None:
    start(tmp_path / "w", FIRST, range(5))
    import_json(tmp_path / "s", tmp_path / "w")
    start(tmp_path / "w", FIRST, range(2))
    report = import_json(tmp_path / "s", tmp_path / "w", code=3)
    assert "were imported before: it is another file, or was cut" in report["problems"][0]
    expect_rows(opened(tmp_path / "s", report), (FIRST, range(5)))


@pytest.mark.parametrize("earlier", ["first", "first two", "all"])
def test_a_store_of_an_import_before_files_had_marks_gets_the_rows_that_it_misses(
    tmp_path: Path, without_marks: pytest.MonkeyPatch, earlier: str
) -> None:
    starts = [(FIRST, range(5)), (SECOND, range(5, 13)), (THIRD, range(4, 8))]
    for number, (started, steps) in enumerate(starts):
        start(tmp_path / "w", started, steps, config={"lr": number})
        if earlier == ["first", "first two", "all"][number]:
            import_here(tmp_path / "s", tmp_path / "w")
            stored = tracker.open_run("proj/abc", dir=str(tmp_path / "s"))
            assert len(stored.history("loss", all=True).steps) == (5, 8, 8)[number]  # the bug
    without_marks.undo()
    report = import_json(tmp_path / "s", tmp_path / "w")
    expect_rows(opened(tmp_path / "s", report), *starts)
    again = import_json(tmp_path / "s", tmp_path / "w")
    assert not any(run["changed"] for run in again["runs"])
    start(tmp_path / "w", THIRD, range(4, 10), config={"lr": 2})
    start(tmp_path / "w", FIRST, range(6), config={"lr": 0})
    report = import_json(tmp_path / "s", tmp_path / "w")
    assert [run["points"] for run in report["runs"]] == [1, 0, 2]
    expect_rows(opened(tmp_path / "s", report), (FIRST, range(6)), starts[1], (THIRD, range(4, 10)))
    assert not any(run["changed"] for run in import_json(tmp_path / "s", tmp_path / "w")["runs"])


def test_a_store_of_an_import_before_files_had_marks_is_left_as_it_is(
    tmp_path: Path, without_marks: pytest.MonkeyPatch
) -> None:
    start(tmp_path / "w", FIRST, range(5), config={"lr": 0.1})
    import_here(tmp_path / "s", tmp_path / "w")
    without_marks.undo()
    assert [run["changed"] for run in import_json(tmp_path / "s", tmp_path / "w")["runs"]] == [False]


def test_names_that_begin_with_an_underscore_are_carried_over(tmp_path: Path) -> None:
    # Bug: they were taken for W&B's own and dropped without a word.
    values = {"loss": 1.0, "_mine": 7, "_group": {"x": 0.5}}
    write_start(tmp_path / "w" / "offline-run-1-abc", "abc", FIRST, [(0, FIRST, values)])
    run = opened(tmp_path / "s", import_json(tmp_path / "s", tmp_path / "w"))
    assert set(run.series()) == {"loss", "_mine", "_group/x"}
    assert run.history("_mine").values.tolist() == [7]


def test_a_medium_whose_file_comes_later_is_imported_then(tmp_path: Path) -> None:
    # Bug: media were counted, so the new one was passed over and the last one stored twice.
    folder = tmp_path / "w" / "offline-run-1-abc"
    listed: list[Row] = []
    for step in range(3):
        image = {"_type": "image-file", "path": f"media/images/{step}.png"}
        names = [f"media/images/{step}.png", f"media/images/{(step + 1) % 3}.png"]
        several = {"_type": "images/separated", "filenames": names}
        listed.append((step, FIRST + step, {"img": image, "many": several}))
    write_start(folder, "abc", FIRST, listed)
    images = folder / "files" / "media" / "images"
    images.mkdir(parents=True)
    stored: list[list[int]] = []
    for step in (0, 2, 1):
        PIL.Image.new("L", (2, 2), 50 * step + 10).save(images / f"{step}.png")
        if step == 0:
            continue
        report = import_json(tmp_path / "s", tmp_path / "w")
        run = opened(tmp_path / "s", report)
        stored.append(sorted(int(entry.load()[0][0]) for entry in run.media("img", all=True)))
    assert stored == [[10, 110], [10, 60, 110]]
    many = run.media("many", all=True)
    assert sorted((entry.step, int(entry.load()[0][0])) for entry in many) == [
        *((0, 10), (0, 60)),
        *((1, 60), (1, 110)),
        *((2, 10), (2, 110)),
    ]
    assert not import_json(tmp_path / "s", tmp_path / "w")["runs"][0]["changed"]


def test_runs_of_one_name_in_two_databases_of_trackio_are_two_runs(tmp_path: Path) -> None:
    # Bug: where Trackio gave runs no id, the second database's run was taken for the first one's, and passed over.
    for number, year in enumerate((2025, 2026)):
        path = tmp_path / str(number) / "trackio" / "mnist.db"
        path.parent.mkdir(parents=True)
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("CREATE TABLE metrics (timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT)")
            for step in range(5 + number):
                row = (f"{year}-01-01T00:00:{step:02}+00:00", "base", step, json.dumps({"loss": year + step}))
                db.execute("INSERT INTO metrics VALUES(?,?,?,?)", row)
    for is_again in (False, True):
        for number, label in ((0, "base"), (1, "base-2")):
            report = import_json(tmp_path / "s", tmp_path / str(number) / "trackio")
            assert [(run["id"], run["new"], run["changed"]) for run in report["runs"]] == [
                (label, not is_again, not is_again)
            ]
            assert len(opened(tmp_path / "s", report).history("loss").steps) == 5 + number
