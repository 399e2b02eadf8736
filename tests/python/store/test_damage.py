# SPDX-License-Identifier: MIT
"""Goal: what is damaged is named and counted, what is sound is read, and nothing damaged is thrown away.
Method: a process dies without a word, its journal or the store is damaged, and a command reads what is left."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker

POINTS = 300
DIES = """
import os, tracker
run = tracker.init(project="p", id="r", quiet=True)
run.log({"loss": 0.0, "acc": 0.0}, step=0)
run.flush()
for step in range(1, 300):
    run.log({"loss": step * 0.5, "acc": float(step)}, step=step)
os._exit(0)
"""


@pytest.fixture
def shm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shm"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("TRACKER_SHM_DIR", str(folder))
    return folder


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tracker", *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(tracker.__file__).parent.parent)},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


def journal_of_a_dead_process(shm: Path, stored: bool = True) -> Path:
    """`stored`: whether its first row is in the store."""
    environment = {**os.environ, "PYTHONPATH": str(Path(tracker.__file__).parent.parent)}
    source = DIES if stored else DIES.replace("run.flush()", "")
    subprocess.run([sys.executable, "-c", source], env=environment, check=True, timeout=20)
    (journal,) = (shm / f"tracker-{os.geteuid()}").iterdir()
    return journal


def flip(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 0xFF
    path.write_bytes(data)


# Promise P5: Damage is named, sound rows are stored, the journal is kept.
def test_a_flipped_record_costs_that_record_is_counted_and_the_journal_is_kept(shm: Path) -> None:
    journal = journal_of_a_dead_process(shm)
    (ring,) = journal.glob("ring-*")
    flip(ring, 4096 + 56 * 150 + 30)  # a value of the 151st record
    listed = command("ls")
    assert listed.returncode == 3, listed.stderr
    assert "do not verify" in listed.stderr
    assert list(journal.parent.glob("damaged-*"))
    run = tracker.open_run("p/r")
    assert run.history("loss").steps.tolist() == [s for s in range(POINTS) if s != 150]
    shown = command("show", "p/r")
    assert "2 points lost" in shown.stdout, shown.stdout


def test_a_ring_of_another_version_is_named_and_kept(shm: Path) -> None:
    journal = journal_of_a_dead_process(shm)
    (ring,) = journal.glob("ring-*")
    flip(ring, 8)
    listed = command("ls")
    assert listed.returncode == 3
    assert ring.name in listed.stderr
    (kept,) = journal.parent.glob("damaged-*")
    assert (kept / ring.name).exists()
    assert tracker.open_run("p/r").history("loss").steps.tolist() == [0]
    assert "598 points lost" in command("show", "p/r").stdout


def test_a_ring_with_a_damaged_header_is_counted_by_its_length(shm: Path) -> None:
    journal = journal_of_a_dead_process(shm)
    (ring,) = journal.glob("ring-*")
    for offset in (0, 70, 78):  # magic, tail, accepted
        flip(ring, offset)
    listed = command("ls")
    assert listed.returncode == 3
    points = (256 * 1024 - 24) // 16
    assert f"up to {points} points are lost" in listed.stderr
    assert f"{points:,} points lost" in command("show", "p/r").stdout


def test_of_a_cut_ring_what_is_there_is_read_and_the_rest_is_counted(shm: Path) -> None:
    journal = journal_of_a_dead_process(shm)
    (ring,) = journal.glob("ring-*")
    os.truncate(ring, 4096 + 56 * 150 + 30)
    listed = command("ls")
    assert listed.returncode == 3
    assert "is cut by" in listed.stderr
    assert tracker.open_run("p/r").history("loss").steps.tolist() == list(range(150))
    assert list(journal.parent.glob("damaged-*"))
    assert tracker.open_run("p/r").losses.logged == 2 * POINTS  # 525 were counted as lost, of 300 that were there


# The bug: only the command line said it, with exit code 3.
def test_damage_that_python_meets_first_is_among_the_problems_and_warned_of(shm: Path) -> None:
    journal = journal_of_a_dead_process(shm)
    (ring,) = journal.glob("ring-*")
    os.truncate(ring, 4096 + 56 * 150 + 30)
    run = tracker.open_run("p/r")
    assert any("is cut by" in line for line in run.problems)
    assert any("damaged-" in line for line in run.problems)
    with pytest.warns(RuntimeWarning, match="is cut by"):
        assert run.history("loss").steps.tolist() == list(range(150))


@pytest.mark.parametrize("stored", [True, False])
def test_damaged_definitions_are_said_by_a_listing_that_meets_them_first(shm: Path, stored: bool) -> None:
    journal = journal_of_a_dead_process(shm, stored)
    os.truncate(journal / "defs", 30)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert [run.id for run in tracker.runs()] == ["r"]
    assert any("defs" in str(each.message) for each in said)


def test_definitions_that_name_no_run_are_reported_for_every_run_that_may_be_theirs(shm: Path) -> None:
    journal = journal_of_a_dead_process(shm, stored=False)
    os.truncate(journal / "defs", 30)
    assert any("defs" in line for line in tracker.open_run("p/r").problems)
    shown = command("show", "p/r")
    assert shown.returncode == 3
    assert "Nothing lost" not in shown.stdout
    assert any("defs" in line for line in json.loads(command("show", "p/r", "--json").stdout)["problems"])


def test_damage_is_never_counted_as_more_than_was_accepted(shm: Path) -> None:
    journal = journal_of_a_dead_process(shm)
    (ring,) = journal.glob("ring-*")
    for record in (*range(20, 40), *range(100, 150)):
        flip(ring, 4096 + 56 * record + 30)
    assert command("ls").returncode == 3
    losses = tracker.open_run("p/r").losses
    assert losses.stored == 2 * (POINTS - 70)
    assert losses.dropped == 2 * 70


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def link(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("put", [pipe, folder, link])
def test_what_a_ring_held_that_is_no_file_is_said_to_be_unknown(shm: Path, put: Callable[[Path], None]) -> None:
    journal = journal_of_a_dead_process(shm)
    (ring,) = journal.glob("ring-*")
    ring.unlink()
    put(ring)
    listed = command("ls")
    assert listed.returncode == 3
    assert f"{ring.name}: cannot be read: an unknown number of points is lost" in listed.stderr
    again = command("ls")
    assert again.returncode == 0
    (row,) = (line for line in again.stdout.splitlines() if "p/r" in line)
    assert "LOST" in again.stdout
    assert "?" in row.split(), again.stdout
    shown = command("show", "p/r").stdout
    assert "Nothing lost" not in shown
    assert "An unknown number of points lost: 1 ring of a dead process could not be read." in shown
    assert json.loads(command("show", "p/r", "--json").stdout)["losses"]["unread_rings"] == 1
    assert json.loads(command("ls", "--json").stdout)["runs"][0]["unread_rings"] == 1
    assert tracker.open_run("p/r").losses.unread_rings == 1


# The bug: "Nothing lost", where 2,000 accepted points were.
def test_a_journal_that_went_with_its_machine_is_said_to_be_missing(shm: Path) -> None:
    journal = journal_of_a_dead_process(shm)
    shutil.move(journal, shm.parent / "elsewhere")
    shown = command("show", "p/r").stdout
    assert "Nothing lost" not in shown
    assert "What a process logged after the last commit is not known: its journal is not here." in shown
    assert json.loads(command("show", "p/r", "--json").stdout)["losses"]["missing_journals"] == 1
    assert tracker.open_run("p/r").losses.missing_journals == 1
    shutil.move(shm.parent / "elsewhere", journal)
    shown = command("show", "p/r").stdout
    assert "Nothing lost" in shown
    assert json.loads(command("show", "p/r", "--json").stdout)["losses"]["missing_journals"] == 0


def test_a_ring_cut_within_its_header_is_counted(shm: Path) -> None:
    journal = journal_of_a_dead_process(shm)
    (ring,) = journal.glob("ring-*")
    os.truncate(ring, 1000)
    listed = command("ls")
    assert listed.returncode == 3
    assert "points are lost" in listed.stderr
    assert tracker.open_run("p/r").history("loss").steps.tolist() == [0]


def test_a_journal_without_its_lock_file_is_recovered_when_its_process_is_dead(shm: Path) -> None:
    journal = journal_of_a_dead_process(shm)
    (journal / "lock").unlink()
    listed = command("ls")
    assert listed.returncode == 0, listed.stderr
    assert tracker.open_run("p/r").history("loss").steps.size == POINTS
    assert not list(journal.parent.iterdir())


def test_a_torn_definition_keeps_metrics_apart_under_names_of_their_own(shm: Path) -> None:
    journal = journal_of_a_dead_process(shm)
    defs = journal / "defs"
    flip(defs, defs.stat().st_size - 1)
    listed = command("ls")
    assert listed.returncode == 3
    assert "defs is damaged" in listed.stderr
    series = tracker.open_run("p/r").series()
    assert "loss" in series
    assert len(series) == 2


def test_a_foreign_file_in_a_journal_is_not_deleted(shm: Path) -> None:
    journal = journal_of_a_dead_process(shm)
    (journal / "precious.txt").write_text("mine")
    assert command("ls").returncode == 0
    assert (journal / "precious.txt").read_text() == "mine"
    assert tracker.open_run("p/r").history("loss").steps.size == POINTS


@pytest.mark.parametrize("name", ["defs", "spill", "ring-0000000000000100"])
def test_a_pipe_in_a_journal_blocks_no_reader(shm: Path, name: str) -> None:
    journal = journal_of_a_dead_process(shm)
    (journal / name).unlink(missing_ok=True)
    os.mkfifo(journal / name)
    assert command("ls").returncode in (0, 3)


@pytest.mark.parametrize("name", ["run.json", "0123456789abcdef0123456789abcdef.db"])
def test_a_pipe_in_a_run_blocks_no_reader(store: Path, name: str) -> None:
    with tracker.init(project="p", id="sound", quiet=True) as run:
        run.log({"x": 1.0}, step=0)
    folder = store / "runs" / "p" / "piped"
    folder.mkdir()
    (folder / "run.json").write_text(
        (store / "runs" / "p" / "sound" / "run.json").read_text().replace("sound", "piped")
    )
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    listed = command("ls")
    assert "p/sound" in listed.stdout
    verified = command("verify")
    assert str(folder / name) in verified.stdout + verified.stderr


def test_what_python_says_of_foreign_names_is_visible_text(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    hostile = "a\x1b]0;owned\x07\u009b31m\u202eb"
    with tracker.init(project="p", id="r", quiet=True) as run:
        run.log({hostile: 2**70, "\x1b[2J\u202e": object()}, step=0)
    said = capfd.readouterr().err
    assert "is stored as float64" in said
    assert "is not logged" in said
    with pytest.raises(tracker.NotFoundError) as missing:
        tracker.open_run("p/r").history(hostile + "x")
    with pytest.raises(tracker.NotFoundError, match=r"no store|nowhere") as named:
        tracker.open_run("p/r", dir="/nowhere/\x1b[2J\u202e")
    for text in (said, str(missing.value), str(named.value)):
        assert not set(text) & set("\x1b\x07\u009b\u202e"), text


def test_what_is_logged_after_finish_is_counted_as_dropped() -> None:
    run = tracker.init(project="p", quiet=True)
    run.log({"x": 1.0}, step=0)
    run.finish()
    run.log({"x": 2.0}, step=1)
    run.log({"never seen before": 2.0}, step=1)
    status = run.status()
    assert (status.points_logged, status.points_stored, status.points_dropped) == (3, 1, 2)


def test_the_first_thing_logged_after_finish_is_said_once(capfd: pytest.CaptureFixture[str]) -> None:
    for quiet in (False, True):
        for first in ({"x": 2.0}, {"never seen before": 2.0}, {"text": "late"}):
            run = tracker.init(project="p", quiet=quiet)
            handle = run.metric("x")
            run.log({"x": 1.0}, step=0)
            run.finish()
            capfd.readouterr()
            assert run.flush() is True
            run.log(first, step=1)
            run.log(first, step=2)
            handle.log(3.0, 3)
            run.config["late"] = True
            said = capfd.readouterr().err
            assert said.count("logged after the end of its run") == (0 if quiet else 1), (first, said)
            status = run.status()
            assert status.points_dropped + status.texts_dropped == 3
            assert status.texts_dropped == (2 if "text" in first else 0)
            assert run.flush() is False, "what was logged is not stored"


# The line promised that the journal keeps the points, which one in private memory does not.
def test_an_end_without_a_store_says_what_a_journal_in_private_memory_loses(
    store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    store.write_text("not a folder")
    run = tracker.init(project="p", journal="memory")
    run.log({"x": 1.0}, step=0)
    run.finish()
    said = capfd.readouterr().err
    assert "0 points stored so far" in said
    assert "what is not stored when the process ends is lost" in said
    assert "safe" not in said


def test_a_flipped_count_of_losses_never_makes_a_negative_or_a_huge_number(shm: Path) -> None:
    journal = journal_of_a_dead_process(shm)
    (ring,) = journal.glob("ring-*")
    data = bytearray(ring.read_bytes())
    data[640] = 1  # reason: the ring was full
    data[648 + 7] = 0x80
    ring.write_bytes(data)
    listed = command("ls")
    assert listed.returncode == 3
    assert "loss count 0 is damaged" in listed.stderr
    losses = tracker.open_run("p/r").losses
    assert losses.dropped == 0, losses


def test_a_store_document_that_is_no_json_is_said_in_plain_words(store: Path) -> None:
    with tracker.init(project="p", quiet=True) as run:
        run.log({"x": 1.0}, step=0)
    (store / "store.json").write_text('{"format": ')
    listed = command("ls")
    assert listed.returncode != 0
    assert f"{store}/store.json: no valid JSON: it ends at line 1" in listed.stderr
    assert "exception" not in listed.stderr


def finished_run(tmp_path: Path, flushes: int = 40, rows: int = 10_000) -> tuple[str, Path]:
    """Of noise, which fills more than one segment: a segment that is cut is read no more."""
    store = str(tmp_path / "store")
    noise = random.Random(1)
    with tracker.init(project="p", id="r", dir=store, quiet=True, config={"lr": 0.1}, on_full="block") as run:
        for first in range(0, flushes * rows, rows):
            for step in range(first, first + rows):
                run.log({"loss": noise.random()}, step=step)
            run.flush()
    (database,) = Path(store).glob("runs/p/r/*.db")
    return store, database


# The bug: a database without its last pages was read as nothing.
def test_of_a_database_that_was_cut_what_is_there_is_read_and_the_rest_is_counted(shm: Path, tmp_path: Path) -> None:
    for tries in range(10):  # which segments lie at the end of the file is up to the threads
        (tmp_path / str(tries)).mkdir()
        store, database = finished_run(tmp_path / str(tries))
        whole = database.read_bytes()
        database.write_bytes(whole[: int(len(whole) * 0.93)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if len(tracker.open_run("p/r", dir=store).history("loss")) > 0:
                break
    noise = random.Random(1)
    truth = [noise.random() for _ in range(400_000)]
    for share in (0.97, 0.93):
        database.write_bytes(whole[: int(len(whole) * share)])
        run = tracker.open_run("p/r", dir=store)
        said = [line for line in run.problems if "is cut" in line]
        assert said, run.problems
        assert str(database) in said[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = run.history("loss")
            chart = run.chart("loss", pixels=400)
        steps = rows.steps.tolist()
        kept = len(steps)
        assert 0 < kept < 400_000
        assert rows.values.tolist() == [truth[step] for step in steps]
        assert chart.rows == chart.count.sum() == kept, "charts are of the rows that there are"
        assert (chart.x0[0], chart.first[0]) == (steps[0], truth[steps[0]])
        assert (chart.x1[-1], chart.last[-1]) == (steps[-1], truth[steps[-1]])
        assert chart.max.max() == max(truth[step] for step in steps)
        exported = command("export", "p/r", "--dir", store)
        assert exported.returncode == 3
        assert sum(line.startswith("loss,") for line in exported.stdout.splitlines()) == kept
        verified = command("verify", store)
        assert verified.returncode == 3
        assert "is cut" in verified.stdout
        assert "nothing of this file" not in verified.stdout
        assert database.read_bytes() == whole[: int(len(whole) * share)]


# The bug: SQLite rounds the length up to pages, and a cut of less than one read as zeros in silence.
def test_a_cut_of_less_than_a_page_is_said(shm: Path, tmp_path: Path) -> None:
    store, database = finished_run(tmp_path, 1, 50)
    whole = database.read_bytes()
    for lost in (1, 100, 4000):
        database.write_bytes(whole[:-lost])
        shown = command("show", "p/r", "--dir", store)
        assert shown.returncode == 3, shown.stdout
        assert "is cut" in shown.stdout + shown.stderr or "damaged" in shown.stdout + shown.stderr
        assert command("verify", store).returncode == 3
    database.write_bytes(whole)
    assert command("show", "p/r", "--dir", store).returncode == 0


def change(database: Path, sql: str) -> None:
    with sqlite3.connect(database) as db:
        db.execute(sql)
    db.close()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE meta SET key='lart_seq' WHERE key='last_seq'",
        "UPDATE series SET name='moss' WHERE name='loss'",
        "UPDATE series SET name=CAST(x'6c6fff73' AS TEXT) WHERE name='loss'",
        "UPDATE attributes SET value=x'fb3fb88ce703afb7e9' WHERE key='lr'",
    ],
)
def test_damage_in_a_small_table_is_said_and_the_log_is_read(shm: Path, tmp_path: Path, sql: str) -> None:
    store, database = finished_run(tmp_path, 1, 50)
    change(database, sql)
    run = tracker.open_run("p/r", dir=store)
    assert any(str(database) in line for line in run.problems)
    assert run.config == {"lr": 0.1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run.history("loss").steps.tolist() == list(range(50))
    shown = command("show", "p/r", "--dir", store)
    assert shown.returncode == 3
    assert command("verify", store).returncode == 3


def test_what_only_the_checksum_sees_is_a_finding_of_its_own(shm: Path, tmp_path: Path) -> None:
    store, database = finished_run(tmp_path, 1, 50)
    change(database, "UPDATE attributes SET time_us=time_us+1 WHERE key='lr'")
    verified = command("verify", store)
    assert verified.returncode == 3
    assert "damage tables" in verified.stdout


# The bug: rc 0 and "intact".
@pytest.mark.parametrize("change_of", [("last_seq", -5), ("last_seq", 99), ("stats_seq", 12345)])
def test_verify_finds_a_count_of_frames_that_cannot_be(shm: Path, tmp_path: Path, change_of: tuple[str, int]) -> None:
    store, database = finished_run(tmp_path, 1, 50)
    change(database, "DELETE FROM meta WHERE key='checksum'")  # as of a run that died
    with contextlib.closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT count(*) FROM meta WHERE key='checksum'").fetchone() == (0,)
    assert command("verify", store).returncode == 0
    change(database, "UPDATE meta SET value={1} WHERE key='{0}'".format(*change_of))
    verified = command("verify", store)
    assert verified.returncode == 3, verified.stdout
    assert command("show", "p/r", "--dir", store).returncode == 3


def test_a_read_that_meets_damage_says_so_once_and_keeps_the_rest(store: Path) -> None:
    steps = 100_000
    values = random.Random(7)
    with tracker.init(project="p", id="r", quiet=True) as run:
        for step in range(steps):
            run.log({"loss": values.random()}, step=step)
    database = next(store.glob("runs/p/r/*.db"))
    flip(database, database.stat().st_size // 2)
    stored = tracker.open_run("p/r")
    assert stored.problems == ()
    with pytest.warns(RuntimeWarning, match=r"tracker: p/r: .*\.db: (segment of frames|frame) ") as said:
        rows = stored.history("loss")
    assert len(said) == 1
    assert rows.steps.size < steps
    assert stored.history("loss").steps.size == rows.steps.size  # said once: another warning would be an error
    with pytest.warns(RuntimeWarning, match="p/r"):
        tracker.open_run("p/r").chart("loss", 0, steps // 2, 65_536)
