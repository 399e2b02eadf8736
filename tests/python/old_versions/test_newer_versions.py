# SPDX-License-Identifier: MIT
"""Formats for ever (F32, newer store and old library): what a newer version has written is refused with the version
named, and not a byte of it is changed; the rest of the store is read, and training goes on.

Method: the newest fixture of tests/compat with one version number raised, each CRC put right; every command and an init
are let loose on it. There is no migration yet: version 1 is the only one of each format, so none can be killed halfway.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import struct
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tracker

COMPAT = Path(__file__).parents[2] / "compat"
VERSIONS = sorted(path.parent.name for path in COMPAT.glob("*/expected.json"))

COMMANDS = (("ls",), ("show", "RUN"), ("tail", "RUN"), ("export", "RUN"), ("verify",), ("doctor",), ("gc",))
DERIVED = ("catalog.db", "catalog.lock", "-shm")


def crc32c(data: bytes) -> bytes:
    from bytes_in import crc32c as crc

    return struct.pack("<I", crc(data))


def database_of(root: Path, run: str) -> Path:
    return next(root.glob(f"store/runs/compat/{run}/*.db"))


def change(database: Path, sql: str, *values: Any) -> None:
    with sqlite3.connect(database) as db:
        db.execute(sql, values)
    db.close()


def newer_store(root: Path) -> None:
    path = root / "store" / "store.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))


def newer_run(root: Path) -> None:
    path = root / "store" / "runs" / "compat" / "frames" / "run.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))


def newer_database(root: Path) -> None:
    change(database_of(root, "frames"), "PRAGMA user_version=2")


def newer_frame(root: Path) -> None:
    path = database_of(root, "frames")
    with sqlite3.connect(path) as db:
        data = db.execute("SELECT data FROM frames WHERE seq=1").fetchone()[0]
    db.close()
    data = data[:4] + b"\2\0" + data[6:-4]
    change(path, "UPDATE frames SET data=? WHERE seq=1", data + crc32c(data))


def newer_segment(root: Path) -> None:
    path = database_of(root, "segments")
    with sqlite3.connect(path) as db:
        seq, data = db.execute("SELECT first_seq, data FROM segments LIMIT 1").fetchone()
    db.close()
    size = int.from_bytes(data[44:48], "little")
    head, directory = data[:4] + b"\2\0" + data[6:48], data[52 : 52 + size]
    change(path, "UPDATE segments SET data=? WHERE first_seq=?", head + crc32c(head + directory) + data[52:], seq)


def newer_levels(path: Path) -> int:
    """Raises the version of each level and puts its CRC right."""
    with sqlite3.connect(path) as db:
        rows = db.execute("SELECT id, data FROM levels").fetchall()
        for row, data in rows:
            body = b"\3" + data[1:-4]
            db.execute("UPDATE levels SET data=? WHERE id=?", (body + crc32c(body), row))
    db.close()
    return len(rows)


def newer_frames_file(root: Path) -> None:
    path = next(root.glob("store/runs/compat/frames-file/*.frames"))
    data = path.read_bytes()
    head = data[:7] + b"2" + data[8:28]
    path.write_bytes(head + crc32c(head) + data[32:])


def journal_of(root: Path, run: str) -> Path:
    found = next(root.glob(f"store/runs/compat/{run}/*.db"), None) or next(root.glob(f"store/runs/compat/{run}/*.fr*"))
    return next(root.glob("shm/*")) / found.name[:32]


def newer_definitions(root: Path) -> None:
    path = journal_of(root, "killed") / "defs"
    path.write_bytes(b"TRKJDEF2" + path.read_bytes()[8:])


def newer_ring(root: Path) -> None:
    path = next(journal_of(root, "killed").glob("ring-*"))
    data = path.read_bytes()
    path.write_bytes(data[:8] + b"\2" + data[9:])


def newer_spill(root: Path) -> None:
    (journal_of(root, "killed") / "spill").write_bytes(b"TJS2" + bytes(60))


def with_magic(path: Path, magic: bytes) -> None:
    path.write_bytes(magic + path.read_bytes()[len(magic) :])


# The same for files of before the first release: each with the magic, or application_id, that it had then.
UNRELEASED: dict[str, tuple[Callable[[Path], object], str]] = {
    "database": (lambda root: change(database_of(root, "frames"), "PRAGMA application_id=0x54524b31"), "frames"),
    "frames file": (
        lambda root: with_magic(next(root.glob("store/runs/compat/frames-file/*.frames")), b"TRKFRMS1"),
        "frames-file",
    ),
    "definitions": (lambda root: with_magic(journal_of(root, "killed") / "defs", b"TRKDEFS1"), "killed"),
    "ring": (lambda root: with_magic(next(journal_of(root, "killed").glob("ring-*")), b"TRKRING1"), "killed"),
    "spill file": (lambda root: (journal_of(root, "killed") / "spill").write_bytes(b"TSP1" + bytes(60)), "killed"),
}


# What is raised, and the run it belongs to. Commands that read that run end with 4: what is newer within a sound
# database or a journal is named beside what was read.
CASES: dict[str, tuple[Callable[[Path], None], str]] = {
    "store.json": (newer_store, "frames"),
    "run.json": (newer_run, "frames"),
    "database": (newer_database, "frames"),
    "frame": (newer_frame, "frames"),
    "segment": (newer_segment, "segments"),
    "frames file": (newer_frames_file, "frames-file"),
    "definitions": (newer_definitions, "killed"),
    "ring": (newer_ring, "killed"),
    "spill file": (newer_spill, "killed"),
}
PARTS = (
    "frame",
    "segment",
    "definitions",
    "ring",
    "spill file",
)  # what is newer within a run that is read all the same


def files_of(root: Path, run: str) -> list[Path]:
    """Those of the run and of its journal, or of the whole store."""
    if run == "":
        return [path for path in (root / "store").rglob("*") if path.is_file()]
    paths = list((root / "store" / "runs" / "compat" / run).rglob("*"))
    if run in ("killed", "frames-file"):
        paths += journal_of(root, run).rglob("*")
    return [path for path in paths if path.is_file() and not path.name.endswith(DERIVED)]


def hashes(paths: list[Path]) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "" for path in paths}


def command(root: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "tracker", *arguments, "--dir", str(root / "store")],
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode in (0, 1, 3, 4), done.stderr
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("case", CASES)
def test_a_newer_version_is_named_and_not_a_byte_of_it_is_changed(
    case: str,
    unpacked: Any,
    modules: dict[str, ModuleType],
) -> None:
    raise_it, run = CASES[case]
    root = unpacked(VERSIONS[-1])
    raise_it(root)
    files = files_of(root, "" if case == "store.json" else run)
    before = hashes(files)
    named = set()
    for arguments in COMMANDS:
        code, said = command(root, *(f"compat/{run}" if word == "RUN" else word for word in arguments))
        if "version" in said.replace(tracker.__version__, ""):
            named.add(arguments[0])
        if arguments[0] in ("show", "tail", "export"):
            assert code == 4, f"{arguments}: {code}: {said}"
        assert hashes(files) == before, f"{arguments} has changed something"
    assert {"verify", "doctor"} & named, "it is named with its version"
    assert {"show", "export"} <= named


@pytest.mark.parametrize("case", UNRELEASED)
def test_a_file_of_an_unreleased_state_is_named_as_such_and_not_changed(
    case: str,
    unpacked: Any,
    modules: dict[str, ModuleType],
) -> None:
    age, run = UNRELEASED[case]
    root = unpacked(VERSIONS[-1])
    age(root)
    before = hashes(files_of(root, run))
    for arguments in (("show", f"compat/{run}"), ("verify",), ("gc",)):
        code, said = command(root, *arguments)
        assert "is of an earlier, unreleased state of tracker" in said or arguments == ("gc",), said
        assert code == 4 or arguments == ("gc",)
        assert hashes(files_of(root, run)) == before, f"{arguments} has changed something"


@pytest.mark.parametrize("case", PARTS)
def test_what_is_around_a_newer_part_is_shown(case: str, unpacked: Any, modules: dict[str, ModuleType]) -> None:
    raise_it, run = CASES[case]
    root = unpacked(VERSIONS[-1])
    raise_it(root)
    code, said = command(root, "show", f"compat/{run}")
    assert code == 4
    assert f"compat/{run}" in said
    assert "Metrics" in said
    code, said = command(root, "export", f"compat/{run}")
    assert code == 4
    assert said.startswith("metric,step,time,value,rank,attempt\n")
    if case in ("definitions", "ring", "spill file"):
        assert command(root, "ls")[0] == 4, "what waits in the journal is not in the list"
    assert command(root, "verify")[0] == 4, "newer is no damage"


# Levels are derived, so verify does not check them, and no fixture has a run that is long enough for them.
def test_charts_beside_newer_levels_are_those_of_the_rows(
    tmp_path: Path,
    modules: dict[str, ModuleType],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRACKER_SHM_DIR", str(tmp_path / "shm"))
    (tmp_path / "shm").mkdir(mode=0o700)
    with tracker.init(project="compat", id="long", dir=str(tmp_path / "store"), quiet=True, on_full="block") as run:
        for step in range(60_000):
            run.log({"loss": float(step * 7919 % 1000)}, step=step)
    path = database_of(tmp_path, "long")

    def seen() -> tuple[list[list[float]], str]:
        chart = tracker.open_run("compat/long", dir=str(tmp_path / "store")).chart("loss", pixels=50)
        code, rows = command(tmp_path, "export", "compat/long")
        assert code == 0
        columns = ("x0", "x1", "first", "last", "min", "max", "sum", "count")
        return [getattr(chart, name).tolist() for name in columns], rows

    before = seen()
    assert command(tmp_path, "verify")[0] == 0
    assert newer_levels(path) > 0
    bytes_before = path.read_bytes()
    assert seen() == before
    assert command(tmp_path, "verify")[0] == 0
    assert path.read_bytes() == bytes_before


@pytest.mark.parametrize("case", CASES)
def test_training_goes_on_beside_what_is_newer(
    case: str,
    unpacked: Any,
    modules: dict[str, ModuleType],
    capfd: pytest.CaptureFixture[str],
) -> None:
    raise_it, run = CASES[case]
    root = unpacked(VERSIONS[-1])
    raise_it(root)
    files = files_of(root, "" if case == "store.json" else run)
    before = hashes(files)
    with tracker.init(project="compat", id=run, resume="allow", dir=str(root / "store"), quiet=True) as mine:
        for step in range(10):
            mine.log({"loss": float(step)}, step=step)
        status = mine.status()
        assert status.recording
        assert status.points_logged == 10
    assert hashes(files) == before
    said = capfd.readouterr().err
    if case == "store.json":
        assert sorted(files_of(root, "")) == sorted(files), "nothing is put into a newer store"
        assert "version 2" in said
    else:
        assert "version" in said or case in ("frame", "segment"), "init reads no rows"
        again = tracker.open_run(mine.uid, dir=str(root / "store"))
        newest = max(w.attempt for w in again.writers)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is newer
            assert again.history("loss", attempts=newest).steps.tolist() == list(range(10))


def test_strict_refuses_a_newer_store_at_once(
    unpacked: Any,
    modules: dict[str, ModuleType],
) -> None:
    root = unpacked(VERSIONS[-1])
    newer_store(root)
    with pytest.raises(tracker.TrackerError, match="version 2"):
        tracker.init(project="compat", dir=str(root / "store"), strict=True, quiet=True)
    with pytest.raises(tracker.TrackerError, match="version 2"):
        tracker.open_run("compat/frames", dir=str(root / "store"))


def test_a_run_of_a_newer_version_is_not_called_damaged(
    unpacked: Any,
    modules: dict[str, ModuleType],
) -> None:
    root = unpacked(VERSIONS[-1])
    newer_run(root)
    with pytest.raises(tracker.TrackerError, match="version 2"):
        tracker.init(project="compat", id="frames", resume="must", dir=str(root / "store"), quiet=True)


ARTIFACT_FILES = ("artifact.json", "v0.json", "mark-1.json")


@pytest.mark.parametrize("name", ARTIFACT_FILES)
def test_a_newer_document_of_an_artifact_is_named_and_stays_with_its_files(name: str, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("rows")
    put = ("artifact", "put", str(tmp_path / "data"), "--name", "compat/data", "--alias", "best")
    code, said_of_put = command(tmp_path, *put)
    assert code == 0, said_of_put
    documents = tmp_path / "store" / "artifacts" / "compat" / "data"
    document = documents / name
    newer = document.read_text().replace('"version": 1', '"version": 2').replace('"version":1', '"version":2')
    assert newer != document.read_text()
    document.write_text(newer)
    files = [path for part in ("artifacts", "blobs") for path in (tmp_path / "store" / part).rglob("*")]
    before = hashes([path for path in files if path.is_file()])
    said = {}
    for arguments in (("artifact", "show", "compat/data"), ("artifact", "ls"), ("verify",), ("gc",)):
        code, said[arguments] = command(tmp_path, *arguments)
        assert code == (1 if arguments == ("gc",) else 4), (arguments, code, said[arguments])
        assert hashes([Path(path) for path in before]) == before, f"{arguments} has changed something"
    assert "version 2" in said["verify",]
    assert "version 2" in said["artifact", "ls"]


def test_a_newer_bundle_is_named_and_makes_no_store(tmp_path: Path) -> None:
    with tracker.init(project="compat", id="one", dir=str(tmp_path / "store"), quiet=True) as run:
        run.log({"loss": 0.5}, step=0)
    bundle = tmp_path / "run.trkb"
    assert command(tmp_path, "export", "compat/one", "--bundle", str(bundle))[0] == 0
    data = bundle.read_bytes()
    bundle.write_bytes(data[:8] + struct.pack("<I", 2) + data[12:])
    (tmp_path / "store").rename(tmp_path / "from")
    code, said = command(tmp_path, "import", str(bundle))
    assert code == 4, said
    assert "version 2" in said
    assert not (tmp_path / "store").exists()


def test_a_newer_manifest_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("rows")
    assert command(tmp_path, "artifact", "put", str(tmp_path / "data"), "--name", "compat/data")[0] == 0
    version = tmp_path / "store" / "artifacts" / "compat" / "data" / "v0.json"
    old = json.loads(version.read_text())["manifest"]
    blobs = tmp_path / "store" / "blobs" / "sha256"
    data = (blobs / old[:2] / old[2:]).read_bytes()
    data = data[:4] + b"\2" + data[5:]
    digest = hashlib.sha256(data).hexdigest()
    (blobs / digest[:2]).mkdir(exist_ok=True)
    (blobs / digest[:2] / digest[2:]).write_bytes(data)
    version.write_text(version.read_text().replace(old, digest))
    for words in (("artifact", "verify", "compat/data"), ("verify",)):
        code, said = command(tmp_path, *words)
        assert code == 4, said
        assert "version 2" in said
        assert "damage " not in said
    with pytest.raises(tracker.TrackerError, match="version 2"):
        tracker.artifact("compat/data", dir=str(tmp_path / "store")).verify()
    path = blobs / digest[:2] / digest[2:]
    path.write_bytes(path.read_bytes() + b"x")
    assert command(tmp_path, "artifact", "verify", "compat/data")[0] == 3, "these are not the bytes of its digest"


@pytest.mark.parametrize("name", ["0.json", "0-v0.json", "0-mark-1.json"])
def test_a_newer_document_in_a_bundle_is_no_damage(name: str, tmp_path: Path, modules: dict[str, ModuleType]) -> None:
    (tmp_path / "data").write_text("rows")
    put = ("artifact", "put", str(tmp_path / "data"), "--name", "compat/data", "--alias", "best")
    assert command(tmp_path, *put)[0] == 0
    with tracker.init(project="compat", id="one", dir=str(tmp_path / "store"), quiet=True) as run:
        run.use_artifact("compat/data")
    bundle = tmp_path / "run.trkb"
    assert command(tmp_path, "export", "compat/one", "--bundle", str(bundle), "--artifacts")[0] == 0
    data = bundle.read_bytes()
    label = b"artifacts/" + name.encode()
    head = data.index(label) - 12
    size = int.from_bytes(data[head : head + 8], "little")
    at = head + 12 + len(label) + 4
    content = data[at : at + size]
    newer = content.replace(b'"version": 1', b'"version": 2')
    assert newer != content
    bundle.write_bytes(data[:at] + newer + crc32c(newer) + data[at + size + 4 :])
    (tmp_path / "store").rename(tmp_path / "from")
    code, said = command(tmp_path, "import", str(bundle))
    assert code == 4, said
    assert "version 2" in said
