# SPDX-License-Identifier: MIT
"""Goal: what a run of another store used and made is called as this store calls it: by its content, never by the number
that it had there.

Method: a run that used and made versions goes as a bundle, with its artifacts and without, into stores where the same
names stand for other contents.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tracker


def command(*arguments: object) -> str:
    program = [sys.executable, "-m", "tracker", *map(str, arguments)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def record(store: Path, files: Path, contents: list[str], id: str = "otter") -> None:
    """A run that makes a version of p/data of each content, uses the last one and makes p/model from it."""
    files.mkdir(exist_ok=True)
    run = tracker.init(project="p", id=id, dir=str(store), quiet=True)
    for content in contents:
        (files / "data").write_text(content)
        run.log_artifact(files / "data", name="data", type="dataset").wait()
    run.use_artifact("data:latest")
    (files / "model").write_text("made from " + contents[-1])
    run.log_artifact(files / "model", name="model", type="model").wait()
    run.finish()


def bundle(store: Path, *options: str) -> Path:
    out = store.parent / f"{store.name}{len(options)}.trkb"
    command("export", "otter", "--bundle", out, "--dir", store, *options)
    return out


def names(runs: object) -> list[str]:
    return [run.id for run in runs]  # type: ignore[attr-defined]


@pytest.fixture
def stores(tmp_path: Path) -> tuple[Path, Path]:
    """One where the run used v0, and one where v0 is another content."""
    record(tmp_path / "there", tmp_path / "files", ["theirs"])
    record(tmp_path / "here", tmp_path / "files", ["ours", "ours too"], id="heron")
    return tmp_path / "there", tmp_path / "here"


def test_a_version_of_another_store_is_called_by_the_number_it_has_here(stores: tuple[Path, Path]) -> None:
    # Bug: `inputs[0].name` was "p/data:v0", which is another content here, and so was what `where` compared.
    there, here = stores
    assert [use.name for use in tracker.open_run("otter", dir=str(there)).inputs] == ["p/data:v0"]
    command("import", bundle(there, "--artifacts"), "--dir", here)
    run = tracker.open_run("otter", dir=str(here))
    (used,) = run.inputs
    assert used.name == "p/data:v2"
    assert tracker.artifact(used.name, dir=str(here)).digest == used.digest == used.artifact().digest
    assert [use.name for use in run.outputs] == ["p/data:v2", "p/model:v1"]
    for _ in range(2):  # read from the runs, then from the catalog
        assert names(tracker.runs(where='inputs = "data:v2"', dir=str(here))) == ["otter"]
        assert names(tracker.runs(where='inputs = "data:v0"', dir=str(here))) == []
        assert names(tracker.runs(where='outputs = "p/model:v1"', dir=str(here))) == ["otter"]
        assert sorted(names(tracker.runs(where="inputs = data", dir=str(here)))) == ["heron", "otter"]
    listed = command("ls", "--columns", "id,inputs", "--dir", here)
    assert "p/data:v2" in next(line for line in listed.splitlines() if "otter" in line)
    assert "p/data:v1" in next(line for line in listed.splitlines() if "heron" in line)


def test_a_version_that_is_not_in_this_store_is_called_by_its_content(stores: tuple[Path, Path]) -> None:
    there, here = stores
    command("import", bundle(there), "--dir", here)
    run = tracker.open_run("otter", dir=str(here))
    (used,) = run.inputs
    assert used.name == f"p/data@{used.digest[:12]}"
    for look in (used.artifact, lambda: tracker.artifact(used.name, dir=str(here))):
        with pytest.raises(tracker.NotFoundError):
            look()
    assert names(tracker.runs(where='inputs = "data:v0"', dir=str(here))) == []
    assert names(tracker.runs(where=f'inputs = "{used.name}"', dir=str(here))) == ["otter"]
    assert sorted(names(tracker.runs(where="inputs = data", dir=str(here)))) == ["heron", "otter"]
    assert json.loads(command("show", "otter", "--json", "--dir", here))["inputs"][0]["version"] is None
    # It comes later, and the run is not touched by that.
    command("import", bundle(there, "--artifacts"), "--dir", here)
    assert [use.name for use in tracker.open_run("otter", dir=str(here)).inputs] == ["p/data:v2"]
    assert names(tracker.runs(where='inputs = "data:v2"', dir=str(here))) == ["otter"]


def test_a_run_that_went_on_in_another_store_has_what_it_used_in_both(stores: tuple[Path, Path]) -> None:
    # Bug: of two contents with one number the one that was said first hid the other.
    there, here = stores
    command("import", bundle(there), "--dir", here)
    with tracker.init(project="p", id="otter", resume="must", dir=str(here), quiet=True) as run:
        run.use_artifact("data:v0")
    used = tracker.open_run("otter", dir=str(here)).inputs
    assert [use.name for use in used] == [f"p/data@{used[0].digest[:12]}", "p/data:v0"]
    assert used[0].digest != used[1].digest


def test_in_a_copy_of_a_store_that_went_on_by_itself_a_version_is_called_as_it_is_there(tmp_path: Path) -> None:
    # Bug: the id of both stores is one, so the number of the run was taken for that of this store.
    first, copy = tmp_path / "first", tmp_path / "copy"
    record(first, tmp_path / "files", ["zero"], id="heron")
    shutil.copytree(first, copy)
    record(first, tmp_path / "files", ["ours"], id="lynx")
    record(copy, tmp_path / "files", ["theirs"], id="otter")
    command("import", bundle(copy, "--artifacts"), "--dir", first)
    (used,) = tracker.open_run("otter", dir=str(first)).inputs
    assert used.name == "p/data:v2"
    for _ in range(2):  # read from the runs, then from the catalog
        assert names(tracker.runs(where='inputs = "data:v2"', dir=str(first))) == ["otter"]
        assert names(tracker.runs(where='inputs = "data:v1"', dir=str(first))) == ["lynx"]
        for digits in (6, 12, 64):
            found = tracker.runs(where=f'inputs = "data@{used.digest[:digits]}"', dir=str(first))
            assert names(found) == ["otter"], digits
        others = tracker.runs(where=f'inputs != "p/data@{used.digest}"', dir=str(first))
        assert sorted(names(others)) == ["heron", "lynx"]
        assert names(tracker.runs(where=f'inputs = "data@{used.digest[:5]}"', dir=str(first))) == []
    command("rm", "--where", 'inputs = "data:v1"', "--yes", "--dir", first)
    assert sorted(names(tracker.runs(dir=str(first)))) == ["heron", "otter"]
