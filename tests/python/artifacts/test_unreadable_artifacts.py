# SPDX-License-Identifier: MIT
"""Goal: what an unreadable document of an artifact may decide is not answered, what is newer is not written to, and
neither is called something else.

Method: stores with documents that are cut or of a newer version; commands and calls on them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker

NEWER, DAMAGED = 4, 3


def newer(file: Path) -> None:
    text = file.read_text()
    file.write_text(text.replace('"version": 1', '"version": 2').replace('"version":1', '"version":2'))
    assert file.read_text() != text


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:50])


HARMS: dict[int, Callable[[Path], None]] = {NEWER: newer, DAMAGED: cut}


def command(root: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "tracker", *words, "--dir", str(root / "store")],
        capture_output=True,
        text=True,
        cwd=root,
        timeout=60,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def put(root: Path, content: str, *more: str) -> tuple[int, str]:
    (root / "data.txt").write_text(content)
    return command(root, "artifact", "put", str(root / "data.txt"), "--name", "data/x", *more)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for content in ("first", "second"):
        assert put(tmp_path, content, "--alias", "best")[0] == 0
    return tmp_path


def documents(root: Path) -> Path:
    return root / "store" / "artifacts" / "data" / "x"


# Bug: each of them gave v0 in silence.
@pytest.mark.parametrize("name", ["v1.json", "mark-2.json"])
@pytest.mark.parametrize("code", HARMS)
def test_latest_and_an_alias_are_not_answered_where_an_unreadable_file_may_decide(
    code: int, name: str, root: Path
) -> None:
    HARMS[code](documents(root) / name)
    store = str(root / "store")
    for text in ("data/x", "data/x:best", "data/x:latest"):
        for action in (("get", text, str(root / "out")), ("verify", text), ("lineage", text), ("alias", text, "new")):
            got, said = command(root, "artifact", *action)
            assert got == code, (action, got, said)
            assert name in said
        with pytest.raises(tracker.CorruptError, match=name.replace(".", r"\.")):
            tracker.artifact(text, dir=store)
    with tracker.init(project="data", dir=store, quiet=True) as run, pytest.raises(tracker.CorruptError, match=name):
        run.use_artifact("data/x:latest")
    assert not (root / "out").exists()


@pytest.mark.parametrize("name", ["v1.json", "mark-2.json"])
@pytest.mark.parametrize("code", HARMS)
def test_a_version_that_is_whole_is_read_by_number_and_digest_and_what_is_not_is_named(
    code: int, name: str, root: Path
) -> None:
    digest = tracker.artifact("data/x:v0", dir=str(root / "store")).digest
    HARMS[code](documents(root) / name)
    for text in ("data/x:v0", f"data/x@{digest}"):
        assert tracker.artifact(text, dir=str(root / "store")).version == "v0"
        assert command(root, "artifact", "get", text, str(root / "out"))[0] == 0
        got, said = command(root, "artifact", "verify", text)
        assert got == code, "it has said what it could not read"
        assert name in said
        assert "is complete" in said
    got, said = command(root, "artifact", "lineage", "data/x:v1")
    assert got == (code if name == "v1.json" else 0), said
    assert "no run and no artifact" not in said


@pytest.mark.parametrize("name", ["v1.json", "mark-2.json"])
def test_an_artifact_with_newer_documents_is_not_written_to(
    name: str, root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    newer(documents(root) / name)
    before = {file.name: file.read_bytes() for file in documents(root).iterdir()}
    for words in (("--alias", "best"), ()):
        got, said = put(root, "third", *words)
        assert got == NEWER, said
    assert put(root, "first")[0] == NEWER
    for action in ("alias", "tag"):
        assert command(root, "artifact", action, "data/x:v0", "new")[0] == NEWER
    with tracker.init(project="data", dir=str(root / "store"), quiet=True) as run:
        art = tracker.Artifact("x", type="file")
        art.add_file(root / "data.txt")
        with pytest.raises(tracker.CorruptError, match="version 2"):
            run.log_artifact(art).wait()
        run.log({"loss": 1.0})
    assert "version 2" in capfd.readouterr().err
    assert tracker.open_run(run.uid, dir=str(root / "store")).history("loss").steps.tolist() == [0]
    assert {file.name: file.read_bytes() for file in documents(root).iterdir()} == before


@pytest.mark.parametrize("name", ["v1.json", "mark-2.json"])
def test_what_is_stored_beside_a_damaged_document_is_found(name: str, root: Path) -> None:
    cut(documents(root) / name)
    assert put(root, "third")[0] == 0
    assert tracker.artifact("data/x:v2", dir=str(root / "store")).version == "v2"
    assert put(root, "first")[0] == 0
    if name == "v1.json":
        assert tracker.artifact("data/x:latest", dir=str(root / "store")).version == "v0"


# Bug: `latest` was not moved past the version that could not be read, and was that one when it was restored.
def test_latest_is_what_was_logged_again_beside_a_damaged_document_and_stays_it_when_that_is_restored(
    root: Path,
) -> None:
    document = documents(root) / "v1.json"
    shutil.copy(document, root / "kept")
    cut(document)
    assert put(root, "first")[0] == 0
    for _ in range(2):
        assert tracker.artifact("data/x", dir=str(root / "store")).version == "v0"
        shutil.copy(root / "kept", document)


# Bug: a newer run was called damage, with exit code 3.
def test_a_lineage_beside_a_newer_run_is_shown_with_exit_code_4(root: Path) -> None:
    with tracker.init(project="data", id="other", dir=str(root / "store"), quiet=True) as run:
        run.log({"loss": 1.0})
    newer(root / "store" / "runs" / "data" / "other" / "run.json")
    got, said = command(root, "artifact", "lineage", "data/x:v0")
    assert got == NEWER, said
    assert "nothing made it, nothing used it" in said


# Bug: the version was called "not in this store".
def test_a_used_version_whose_document_is_damaged_is_said_to_be_perhaps_there(root: Path) -> None:
    with tracker.init(project="data", id="user", dir=str(root / "store"), quiet=True) as run:
        digest = run.use_artifact("data/x:v1").digest
    cut(documents(root) / "v1.json")
    for words in (("show", "data/user"), ("artifact", "lineage", "data/user")):
        said = command(root, *words)[1]
        assert f"data/x@{digest[:12]} (not among the versions here that can be read)" in said
    shutil.rmtree(documents(root))
    assert f"data/x@{digest[:12]} (not in this store)" in command(root, "show", "data/user")[1]


# Bug: it was listed twice, once with the number of each store.
def test_a_run_that_was_imported_and_uses_the_same_content_again_has_one_input(root: Path, tmp_path: Path) -> None:
    home, other = str(root / "store"), tmp_path / "other"
    with tracker.init(project="data", id="user", dir=home, quiet=True) as run:
        run.use_artifact("data/x:v0")
    bundle = str(tmp_path / "user.trkb")
    assert command(root, "export", "data/user", "--bundle", bundle, "--artifacts")[0] == 0
    other.mkdir()
    assert put(other, "of this store")[0] == 0
    assert command(other, "import", bundle)[0] == 0
    there = str(other / "store")
    with tracker.init(project="data", id="user", resume="must", dir=there, quiet=True) as run:
        run.use_artifact("data/x:v1")
        run.use_artifact("data/x:v1", use_as="train")
    assert [(each.name, each.use_as) for each in tracker.open_run("data/user", dir=there).inputs] == [
        ("data/x:v1", ""),
        ("data/x:v1", "train"),
    ]
    listed = command(other, "ls", "--columns", "inputs")[1]
    assert listed.count("data/x:v") == 1, listed
