# SPDX-License-Identifier: MIT
"""Goal: artifacts of em hold what was added when it was added, and join the runs that mark them.

Method: the calls of em's documents; the artifacts are read with tracker.artifact().
"""

from __future__ import annotations

from pathlib import Path

import pytest
import tracker
from tracker.compat import em


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "a" / "sub").mkdir(parents=True)
    (tmp_path / "1.png").write_bytes(b"one")
    (tmp_path / "a" / "sub" / "2.png").write_bytes(b"two")
    return tmp_path


def test_objects_get_the_paths_that_em_gives_them(files: Path) -> None:
    artifact = em.create_artifact("data", labels=["l"], description="d")
    artifact.add_file("1.png")
    artifact.add_file("1.png", "b/")
    artifact.add_file("1.png", "c/d.png")
    artifact.add_dir("a/")
    artifact.add_dir("a", "e/")
    artifact.add_dir("a", "f/g")
    artifact.add_reference("https://example.com/x.gz", "h/")
    files_in = ["1.png", "a/sub/2.png", "b/1.png", "c/d.png", "e/a/sub/2.png", "f/g/sub/2.png"]
    reference = {"path": "h/x.gz", "uri": "https://example.com/x.gz"}
    assert artifact.objects == [*({"path": path} for path in files_in), reference]
    run = em.create_run()
    run.mark_output(artifact)
    run.finish()
    stored = tracker.artifact("data")
    assert [each.name for each in stored.files()] == [*files_in, "h/x.gz"]
    assert (stored.tags, stored.description) == (("l",), "d")
    assert artifact.objects == [*({"path": path} for path in files_in), reference]


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x"])
def test_an_object_outside_of_the_artifact_is_refused(files: Path, path: str) -> None:
    with pytest.raises(ValueError, match="obj_path must be a path within the artifact"):
        em.create_artifact("data").add_file("1.png", path)


def test_a_file_is_taken_as_it_is_when_it_is_added(files: Path) -> None:
    artifact = em.create_artifact("model")
    artifact.add_file("1.png")
    (files / "1.png").write_bytes(b"changed")
    run = em.create_run()
    run.mark_output(artifact)
    run.finish()
    assert tracker.artifact("model").get_path("1.png").read_bytes() == b"one"


def test_the_working_directory_is_added_without_copies_and_stores(files: Path) -> None:
    em.create_run().finish()
    artifact = em.create_artifact("all")
    artifact.add_dir(".", "here")
    artifact.add_dir(".", "here")
    assert [each["path"] for each in artifact.objects] == ["here/1.png", "here/a/sub/2.png"]


def test_an_input_leads_to_the_run_that_made_it(files: Path) -> None:
    data = em.create_artifact("data")
    data.add_file("1.png")
    first = em.create_run(name="first")
    first.mark_output(data)
    first.finish()
    second = em.create_run(name="second")
    second.mark_input(data)
    second.mark_input(em.load_artifact(data.alternative_name))
    second.mark_input(tracker.artifact("data"))
    second.finish()
    assert [use["name"] for use in second.associations["inputs"]] == ["default/data:v0"]
    assert first.associations == {"inputs": [], "outputs": second.associations["inputs"]}
    assert [run.name for run in tracker.artifact("data").used_by()] == ["second"]


def test_an_artifact_that_grows_after_it_was_stored_is_a_new_version(files: Path) -> None:
    artifact = em.create_artifact("data")
    for path in ("1.png", "a/sub/2.png"):
        artifact.add_file(path)
        run = em.create_run()
        run.mark_output(artifact)
        run.finish()
    assert [each.name for each in tracker.artifact("data:v1").files()] == ["1.png", "2.png"]


def test_an_artifact_that_no_run_has_marked_stays_in_its_folder(
    files: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    artifact = em.create_artifact("data", labels=["l"])
    artifact.add_file("1.png")
    artifact.add_reference("s3://bucket/x")
    artifact.upload()
    assert f"the artifact data is in {artifact.local}: only artifacts" in capfd.readouterr().err
    loaded = em.load_artifact(f".em/artifacts/{artifact.alternative_name}")
    assert loaded.to_dict() == artifact.to_dict()
    copied = em.Artifact({"name": "other"})
    copied.parse_from_dict(artifact.to_dict())
    assert copied.to_dict() == artifact.to_dict()


def test_em_artifact_parent_dir_keeps_the_files_of_stored_artifacts(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EM_ARTIFACT_PARENT_DIR", str(files / "artifacts"))
    artifact = em.create_artifact("data")
    artifact.add_file("1.png")
    run = em.create_run()
    run.mark_output(artifact)
    run.finish()
    assert Path(artifact.local).parent == files / "artifacts"
    assert (Path(artifact.local) / "1.png").read_bytes() == b"one"
    assert tracker.artifact("data").file_count == 1


def test_runs_and_artifacts_of_a_folder_are_uploaded(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        run = em.create_run(name=name)
        run.finish()
    unmarked = em.create_artifact("data")
    unmarked.add_file("1.png")
    capfd.readouterr()
    em.upload(path=str(Path(run.local).parent), folder="f", make_folder=True)
    em.upload(path=run.local)
    em.upload(path=".em/artifacts")
    lines = capfd.readouterr().err.splitlines()
    assert [line.partition(":")[2].partition(":")[0] for line in lines] == [
        *(" no server is known",) * 3,
        f" the artifact data is in {unmarked.local}",
    ]
    with pytest.raises(RuntimeError, match="there is no run and no artifact"):
        em.upload("nothing-there")
