# SPDX-License-Identifier: MIT
"""Goal: an artifact has the content that its files had in the call, and each one that is refused is in the run.

Method: files that are written over, renamed, removed and appended to right after the call, of sizes that are copied and
that are not.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import tracker

LARGE = 65 << 20  # more than is copied in a call


def sparse(path: Path, begin: bytes) -> Path:
    with path.open("wb") as file:
        file.write(begin)
        file.truncate(LARGE)
    return path


def begin_of(version: str, root: Path) -> bytes:
    folder = tracker.artifact(f"test/{version}").download(root / version.replace(":", "-"))
    (file,) = Path(folder).iterdir()
    with file.open("rb") as stored:
        return stored.read(8)


# Promise P6: An artifact has the content of the call that adds its files.
@pytest.mark.parametrize("how", ["written", "renamed", "removed"])
def test_one_checkpoint_file_that_is_overwritten_each_epoch_gives_a_version_each(
    run: tracker.Run, tmp_path: Path, how: str
) -> None:
    file = tmp_path / "ckpt.pt"
    for epoch in range(8):
        content = b"epoch %02d" % epoch + bytes(100_000 * epoch)
        if how == "renamed":
            (tmp_path / "new").write_bytes(content)
            (tmp_path / "new").replace(file)
        else:
            file.write_bytes(content)
        run.log_artifact(file, name="ckpt", type="model", aliases=[f"epoch{epoch}"])
        if how == "removed":
            file.unlink()
    run.finish()
    assert len(tracker.artifacts(project="test")) == 8
    assert [begin_of(f"ckpt:epoch{epoch}", tmp_path) for epoch in (0, 3, 7)] == [b"epoch 00", b"epoch 03", b"epoch 07"]
    assert tracker.open_run(run.uid).artifacts_refused == []


def test_a_large_file_that_is_replaced_by_a_rename_or_removed_is_stored_as_it_was(
    run: tracker.Run, tmp_path: Path
) -> None:
    file = sparse(tmp_path / "large.pt", b"the old ")
    first = run.log_artifact(file, name="large", type="model")
    sparse(tmp_path / "new", b"the new ").replace(file)
    second = run.log_artifact(file, name="large", type="model")
    file.unlink()
    assert (first.wait(60).version, second.wait(60).version) == ("v0", "v1")
    assert (begin_of("large:v0", tmp_path), begin_of("large:v1", tmp_path)) == (b"the old ", b"the new ")


def test_a_large_file_that_is_written_over_is_refused_unless_it_is_to_be_copied(
    run: tracker.Run, tmp_path: Path
) -> None:
    file = sparse(tmp_path / "large.pt", b"the old ")
    copied = run.log_artifact(file, name="copied", type="model", copy=True)
    blocker = run.log_artifact(sparse(tmp_path / "other", b"other"), name="other", type="model")
    held = run.log_artifact(file, name="held", type="model")
    with file.open("r+b") as out:
        out.write(b"the new ")
    with pytest.raises(tracker.StoreError, match=r"large\.pt has changed.*copy=True"):
        held.wait(60)
    assert blocker.wait(60).version == copied.wait(60).version == "v0"
    assert begin_of("copied:v0", tmp_path) == b"the old "


def test_each_refusal_is_kept_with_its_number_and_aliases(run: tracker.Run, tmp_path: Path) -> None:
    file = tmp_path / "ckpt.pt"
    for epoch in range(4):
        art = tracker.Artifact("ckpt", type="model")
        file.write_bytes(b"epoch %d" % epoch)
        art.add_file(file, copy=False)
        if epoch != 2:
            file.write_bytes(b"written over")
        logged = run.log_artifact(art, aliases=[f"epoch{epoch}", "newest"])
        if epoch == 2:
            assert logged.wait(60).version == "v0"
        else:
            with pytest.raises(tracker.StoreError):
                logged.wait(60)
    refused = tracker.open_run(run.uid).artifacts_refused
    assert [(r.name, r.number, r.aliases) for r in refused] == [
        ("test/ckpt", 1, ("epoch0", "newest")),
        ("test/ckpt", 2, ("epoch1", "newest")),
        ("test/ckpt", 4, ("epoch3", "newest")),
    ]
    assert run.status().artifacts_failed == 3


def test_the_files_of_an_artifact_are_as_they_were_when_they_were_added(run: tracker.Run, data: Path) -> None:
    expected = {path.relative_to(data): path.read_bytes() for path in data.rglob("*") if path.is_file()}
    art = tracker.Artifact("data", type="dataset")
    art.add_dir(data)
    for name in expected:
        (data / name).write_bytes(b"changed since")
    art.add_file(data / next(iter(expected)), "later")
    for name in expected:
        (data / name).unlink()
    folder = Path(run.log_artifact(art).wait(60).download())
    assert {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()} == {
        **expected,
        Path("later"): b"changed since",
    }


def test_a_file_that_somebody_writes_is_not_copied_half_written(run: tracker.Run, tmp_path: Path) -> None:
    with (tmp_path / "growing").open("wb", buffering=0) as file:
        file.write(b"half")
        logged = run.log_artifact(tmp_path / "growing", name="growing", type="log")
        file.write(b" and the rest")
        with pytest.raises(tracker.StoreError, match="changed"):
            logged.wait(60)
    assert run.log_artifact(tmp_path / "growing", name="growing", type="log").wait(60).size == len(b"half and the rest")


def test_what_was_copied_goes_when_it_is_stored(run: tracker.Run, store: Path, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / "file").write_bytes(os.urandom(100_000))
        run.log_artifact(tmp_path / "file", name="file", type="t", copy=number == 0 or None).wait(60)
    run.finish()
    assert list((store / "staging").glob("artifact-*")) == []
    blobs = [path for path in (store / "blobs" / "sha256").rglob("*") if path.is_file()]
    assert all(not path.name.startswith("blob.tmp") and path.stat().st_mode & 0o777 == 0o444 for path in blobs)


def test_a_run_that_records_nothing_copies_nothing(store: Path, data: Path) -> None:
    with tracker.init(mode="disabled") as run:
        run.log_artifact(data, name="data", type="dataset", copy=True)
        tracker.Artifact("other", type="dataset").add_dir(data, copy=True)
    assert not (store / "staging").exists()


def test_a_run_with_max_disk_keeps_its_room_for_points(store: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(os.urandom(100_000))
    with tracker.init(project="test", max_disk="1GiB", quiet=True) as run:
        art = tracker.Artifact("file", type="t")
        art.add_file(tmp_path / "file")
        assert not (store / "staging").exists()
        art.add_file(tmp_path / "file", "copied", copy=True)
        assert len(list((store / "staging").glob("artifact-*/held-*"))) == 1
        assert run.log_artifact(art).wait(60).file_count == 2


def test_copy_takes_three_values_and_is_said_where_files_are_added(run: tracker.Run, data: Path) -> None:
    with pytest.raises(TypeError, match="copy must be True, False or None"):
        run.log_artifact(data, name="data", type="t", copy="yes")  # type: ignore[arg-type]
    art = tracker.Artifact("data", type="t")
    art.add_dir(data, copy=False)
    with pytest.raises(TypeError, match="copy= is for a path"):
        run.log_artifact(art, copy=True)
