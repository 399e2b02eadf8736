# SPDX-License-Identifier: MIT
"""Goal: what the calls of artifacts answer and say is true and helps, and looking up one file of many is quick.

Method: a store a test; an artifact of many references, whose first and further looks are timed against each other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker

MANY = 20_000


def many_references(name: str = "many", count: int = MANY) -> tracker.Artifact:
    art = tracker.Artifact(name, type="dataset")
    for i in range(count):
        art.add_reference(f"s3://bucket/{i}", f"part-{i % 7}/{i:06}.bin", checksum=str(i), size=i)
    return art


# Bug: every file had the size 0.
def test_files_of_an_artifact_in_the_making_have_the_sizes_they_were_added_with(data: Path) -> None:
    art = tracker.Artifact("data", type="dataset")
    art.add_dir(data)
    art.add_file(data / "one.bin", "again.bin")
    art.add_reference("s3://bucket/x", "x", checksum="etag", size=7)
    assert [(each.name, each.size) for each in art.files()] == [
        ("again.bin", 100),
        ("one.bin", 100),
        ("sub/two.bin", 50),
        ("x", 7),
    ]
    assert art.get_entry("x") == tracker.ArtifactFile("x", 7, "", "s3://bucket/x", "etag")
    assert sum(each.size for each in art.files() if not each.uri) == art.size


def test_each_entry_of_a_large_manifest_is_found_and_nothing_else(run: tracker.Run) -> None:
    art = run.log_artifact(many_references()).wait()
    files = art.files()
    assert len(files) == MANY
    for i in [*range(0, MANY, 611), 1, 62, 63, 64, 65, 127, 128, MANY - 2, MANY - 1]:
        assert art.get_entry(files[i].name) == files[i]
    for name in ("a", "part-3/", "part-3", "part-3/000003.bim", "part-6/999999.bin", "z", ""):
        with pytest.raises(tracker.NotFoundError, match="has no file"):
            art.get_entry(name)
    with pytest.raises(tracker.NotFoundError, match=r"did you mean .*part-3/000003\.bin"):
        art.get_entry("part-3/000003.bim")


# Bug: each call read the whole manifest and made a list of it, 0.3 s with 100,000 files.
def test_a_second_look_for_one_entry_does_not_read_the_manifest(run: tracker.Run, data: Path) -> None:
    art = many_references()
    art.add_dir(data)
    stored = run.log_artifact(art).wait()
    for each in (stored, tracker.artifact("test/many")):
        begin = time.perf_counter()
        each.get_entry("part-3/000003.bin")
        assert each.get_path("one.bin").stat().st_size == 100
        first = time.perf_counter() - begin
        best = min(timed(lambda each=each: each.get_entry("part-6/019998.bin")) for _ in range(50))
        fetch = min(timed(lambda each=each: each.get_path("sub/two.bin")) for _ in range(20))
        assert best < first / 5, (best, first)
        assert fetch < first / 2, (fetch, first)


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


# Bug: "0 of 0 bytes" of an artifact with thousands of empty files.
def test_a_wait_that_ends_says_how_many_files_are_stored(run: tracker.Run, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    for i in range(3_000):
        (folder / str(i)).touch()
    art = tracker.Artifact("empty", type="dataset")
    art.add_dir(folder)
    run.log_artifact(art)
    with pytest.raises(TimeoutError, match=r"not stored yet: [\d,]+ of 3,000 files, 0 of 0 bytes"):
        art.wait(timeout=0)


# Bug: nothing said that a str is a name and no path.
def test_a_folder_given_as_a_name_is_an_error_that_names_the_right_argument(
    run: tracker.Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data.parent)
    with pytest.raises(tracker.NotFoundError, match=rf"use_artifact\(Path\('{data.name}'\)\)"):
        run.use_artifact(data.name)
    with pytest.raises(tracker.NotFoundError) as caught:
        run.use_artifact("nothing-of-that-name")
    assert "Path" not in str(caught.value)
    with pytest.raises(tracker.NotFoundError):  # bug: OSError, for no file may have that name
        run.use_artifact("x" * 200 + "@" + "0" * 64)
    assert run.use_artifact(Path(data.name)).wait().version == "v0"


# Bug: it was taken, and refused later because "blobs/... has changed".
def test_a_store_is_no_folder_of_an_artifact(run: tracker.Run, store: Path, tmp_path: Path) -> None:
    art = tracker.Artifact("all", type="backup")
    with pytest.raises(ValueError, match="is a store of tracker"):
        art.add_dir(store)
    with pytest.raises(ValueError, match="is a store of tracker"):
        run.log_artifact(store, name="all")
    (tmp_path / "link").symlink_to(store)
    with pytest.raises(ValueError, match="is a store of tracker"):
        art.add_dir(tmp_path / "link")
    assert art.files() == []


def test_modes_are_not_kept(run: tracker.Run, tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    art = run.log_artifact(tool).wait()
    before = os.umask(0o022)
    try:
        assert art.get_path("tool").stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)
