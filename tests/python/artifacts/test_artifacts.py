# SPDX-License-Identifier: MIT
"""Goal: a run logs files as versions of artifacts and uses them, and no file, disk or end of a process can hurt it.

Method: a store a test; processes of their own that are killed, forked or ended where the end is the question.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]
DAY_S = 86_400


def command(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tracker", *words],
        env={**os.environ, "PYTHONPATH": str(Path(tracker.__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def made(data: Path, name: str = "data") -> tracker.Artifact:
    art = tracker.Artifact(name, type="dataset", description="what it is", metadata={"rows": 3, "path": data})
    art.add_dir(data)
    return art


# Promise P6: An artifact comes back byte for byte; the same content is the same version.
def test_what_a_run_logs_comes_back_byte_for_byte(run: tracker.Run, data: Path, tmp_path: Path) -> None:
    art = made(data)
    assert (art.name, art.type, art.size, art.file_count, art.state) == ("data", "dataset", 150, 2, "in the making")
    assert art.version is None
    assert run.log_artifact(art, aliases=["best"], tags=["small"], ttl=DAY_S) is art
    assert art.wait() is art
    assert (art.version, art.aliases, art.state) == ("v0", ("best", "latest"), "stored")
    assert art.qualified_name == "test/data:v0"
    got = tracker.artifact("test/data:best")
    assert got.digest == art.digest
    assert (got.description, got.metadata, got.tags) == ("what it is", {"rows": 3, "path": str(data)}, ("small",))
    assert got.expires is not None
    assert [(entry.name, entry.size) for entry in got.files()] == [("one.bin", 100), ("sub/two.bin", 50)]
    folder = Path(got.download(tmp_path / "out"))
    assert (folder / "one.bin").read_bytes() == b"a" * 100
    assert (folder / "sub" / "two.bin").read_bytes() == b"b" * 50
    got.verify()
    assert got.get_path("sub/two.bin").read_bytes() == b"b" * 50
    with pytest.raises(tracker.NotFoundError, match=r"did you mean one\.bin"):
        got.get_entry("one.bim")
    assert run.status().artifacts_stored == 1


def test_the_history_of_an_alias_is_kept_and_shown(run: tracker.Run, tmp_path: Path) -> None:
    for text in ("one", "two"):
        file = tmp_path / "weights"
        file.write_text(text)
        art = tracker.Artifact("model", type="model")
        art.add_file(file)
        run.log_artifact(art, aliases=["best"]).wait()
    command("artifact", "alias", "test/model:best", "--remove", "best")
    moves = tracker.artifact("test/model:v0").alias_history
    assert [(move.alias, move.before, move.after, move.run) for move in moves] == [
        ("best", None, "v0", run.uid), ("best", "v0", "v1", run.uid), ("best", "v1", None, None)
    ]  # fmt: skip
    assert "best: v0 -> v1" in command("artifact", "show", "test/model")
    shown = json.loads(command("artifact", "show", "test/model", "--json"))["alias_history"]
    assert [(move["from"], move["to"]) for move in shown] == [(None, "v0"), ("v0", "v1"), ("v1", None)]


def test_the_same_content_is_the_same_version_and_another_one_is_the_next(run: tracker.Run, data: Path) -> None:
    first = run.log_artifact(made(data)).wait()
    again = run.log_artifact(made(data)).wait()
    assert (first.version, again.version) == ("v0", "v0")
    (data / "one.bin").write_text("changed")
    assert run.log_artifact(made(data)).wait().version == "v1"
    assert [a.version for a in tracker.artifacts(project="test")] == ["v1", "v0"]
    assert [a.version for a in tracker.artifacts(type="model")] == []
    assert tracker.artifact("data", project="test").version == "v1"


def test_inputs_and_outputs_join_runs_and_versions(store: Path, data: Path) -> None:
    with tracker.init(project="a", id="maker", quiet=True) as maker:
        maker.mark_output(made(data)).wait()
        assert [use.name for use in maker.outputs] == ["a/data:v0"]
    with tracker.init(project="b", id="user", quiet=True) as user:
        used = user.mark_input("a/data:latest", use_as="train")
        assert user.use_artifact(f"a/data@{used.digest}", type="dataset").version == "v0"
        with pytest.raises(ValueError, match="is of type 'dataset'"):
            user.use_artifact("a/data", type="model")
        assert [use.use_as for use in user.inputs] == ["train", ""]
    art = tracker.artifact("a/data")
    assert [run.id for run in art.logged_by()] == ["maker"]
    assert [run.id for run in art.used_by()] == ["user"]
    assert [use.artifact().version for use in tracker.open_run("b/user").inputs] == ["v0", "v0"]
    assert tracker.open_run("a/maker").inputs == []


def test_the_last_line_of_a_run_counts_its_artifacts(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with tracker.init(project="p", id="r", console="off") as run:
        run.log({"x": 1.0})
        run.log_artifact(made(data)).wait()
    assert "p/r finished: 1 point and 1 artifact stored, nothing lost" in capfd.readouterr().err


def test_an_artifact_of_that_name_in_another_project_is_named(data: Path) -> None:
    with tracker.init(project="ex", quiet=True) as maker:
        maker.log_artifact(made(data)).wait()
    why = 'no artifact "data" in project "other"; there is "ex/data"'
    with tracker.init(project="other", quiet=True) as user, pytest.raises(tracker.NotFoundError, match=why):
        user.use_artifact("data:latest")


# Bug: what could not be read was left out without a word, and artifacts without files had each other's runs.
def test_who_used_a_version_is_said_of_that_name_alone_and_with_what_could_not_be_read(store: Path) -> None:
    with tracker.init(project="p", id="maker", quiet=True) as maker:
        for name in ("card-a", "card-b"):
            maker.log_artifact(tracker.Artifact(name, "card")).wait()
    for id in ("first", "second"):
        with tracker.init(project="p", id=id, quiet=True) as user:
            user.use_artifact("card-a:latest")
    assert {run.id for run in tracker.artifact("p/card-a").used_by()} == {"first", "second"}
    assert tracker.artifact("p/card-b").used_by() == []
    assert [run.id for run in tracker.artifact("p/card-b").logged_by()] == ["maker"]
    (database,) = store.glob("runs/p/second/*.db")
    database.write_bytes(b"\0" * 4096 + database.read_bytes()[4096:])
    with pytest.warns(RuntimeWarning, match=database.name):
        assert [run.id for run in tracker.artifact("p/card-a").used_by()] == ["first"]
    with pytest.warns(RuntimeWarning, match=database.name):
        tracker.artifact("p/card-a").logged_by()


# Bug: such an artifact was stored, "intact", and could never be downloaded.
def test_a_file_is_no_folder_of_another(run: tracker.Run, data: Path) -> None:
    art = tracker.Artifact("data", "dataset")
    art.add_file(data / "one.bin", "q")
    with pytest.raises(tracker.StoreError, match='"q" is a file'):
        art.add_file(data / "one.bin", "q/r")
    with pytest.raises(tracker.StoreError, match='"q" is a file'), art.new_file("q/r"):
        pass
    with art.new_file("s/t") as file:
        file.write("t")
    with pytest.raises(tracker.StoreError, match='"s" is a folder'), art.new_file("s"):
        pass
    run.log_artifact(art).wait()
    assert [entry.name for entry in art.files()] == ["q", "s/t"]


def test_a_folder_that_a_run_reads_is_stored_and_is_its_input(run: tracker.Run, data: Path) -> None:
    used = run.use_artifact(data)
    assert used.wait().version == "v0"
    assert [(use.name, use.type) for use in run.inputs] == [("test/data:v0", "dataset")]
    assert run.outputs == []


def test_paths_are_logged_without_an_artifact(run: tracker.Run, data: Path) -> None:
    assert run.log_artifact(data / "one.bin").wait().qualified_name == "test/one.bin:v0"
    assert run.log_artifact(str(data), name="all", type="dataset").wait().type == "dataset"
    assert tracker.log_artifact(str(data), "all").wait().state == "stored"
    with pytest.raises(TypeError, match="for a path"):
        run.log_artifact(made(data), name="x")
    with pytest.raises(TypeError, match="expected an Artifact or a path, got int"):
        run.log_artifact(3)  # type: ignore[arg-type]


def test_new_files_are_written_in_the_store_and_leave_nothing_there(
    run: tracker.Run, store: Path, tmp_path: Path
) -> None:
    art = tracker.Artifact("made", "table")
    with art.new_file("a/table.csv") as file:
        file.write("x,y\n1,2\n")
    with art.new_file("raw", "wb") as file:
        file.write(b"\0\1")
    with contextlib.suppress(RuntimeError), art.new_file("half") as file:
        file.write("half")
        raise RuntimeError
    with pytest.raises(ValueError, match=r"\.\."), art.new_file("../escape"):
        pass
    assert [entry.name for entry in art.files()] == ["a/table.csv", "raw"]
    assert not list(tmp_path.glob("*.csv"))
    run.log_artifact(art).wait()
    assert tracker.artifact("test/made").get_path("a/table.csv").read_text() == "x,y\n1,2\n"
    assert [path.name for path in (store / "staging").iterdir()] == ["lock"]
    with pytest.raises(ValueError, match="does not change any more"):
        art.add_file(__file__)
    with pytest.raises(ValueError, match="was logged already"):
        run.log_artifact(art)


def test_references_are_neither_read_nor_kept_with_their_passwords(run: tracker.Run) -> None:
    art = tracker.Artifact("refs", "dataset")
    art.add_reference("https://me:hunter2@host/data.tar?x=1", checksum="md5:1")
    art.add_reference("s3://bucket/b", "b", size=7)
    art.remove("b")
    entry = run.log_artifact(art).wait().files()[0]
    assert (entry.name, entry.checksum) == ("data.tar", "md5:1")
    assert "hunter2" not in entry.uri
    with pytest.raises(ValueError, match="is a reference"):
        tracker.artifact("test/refs").get_path("data.tar")


def test_runs_are_found_by_what_they_used_and_made(data: Path) -> None:
    with tracker.init(project="test", id="maker") as maker:
        maker.log_artifact(made(data)).wait()
    with tracker.init(project="test", id="user") as user:
        user.use_artifact("data:latest")
    for where, expected in {
        "outputs = data": ["maker"],
        'inputs = "test/data:v0"': ["user"],
        'inputs = "data:v1"': [],
        "inputs = data or outputs = data": ["maker", "user"],
    }.items():
        assert sorted(run.id for run in tracker.runs(where=where)) == expected, where


def test_runs_are_found_by_versions_of_a_project_with_an_at_sign(data: Path) -> None:
    # Bug: the "@" of the project was taken for that of a digest, and nothing was found.
    with tracker.init(project="me@work", id="maker") as maker:
        made_one = maker.log_artifact(made(data)).wait()
    digest = made_one.digest
    for where in ("me@work/data", "me@work/data:v0", "data", "data:v0"):
        assert [run.id for run in tracker.runs(where=f'outputs = "{where}"')] == ["maker"], where
    for where in ("data:v1", "work/data", "me@home/data", f"data:{digest[:12]}"):
        assert [run.id for run in tracker.runs(where=f'outputs = "{where}"')] == [], where


def test_what_is_no_file_is_refused_at_once_by_name(data: Path) -> None:
    art = tracker.Artifact("a", "b")
    with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(data):
        for name, what, make in (
            ("pipe", "a pipe", os.mkfifo),
            ("loop", "a loop of links", lambda name: Path(name).symlink_to("loop")),
            ("nowhere", "a link to nothing", lambda name: Path(name).symlink_to("gone")),
            ("socket", "a socket", listener.bind),
        ):
            make(name)
            with pytest.raises(ValueError, match=what):
                art.add_file(name)
            with pytest.raises(ValueError, match=f"{name} is {what}"):
                art.add_dir(data)
            Path(name).unlink()
    (data / "out").symlink_to("/etc/hostname")
    with pytest.raises(ValueError, match="leads out of the folder"):
        art.add_dir(data)
    with pytest.raises(ValueError, match="a device"):
        art.add_file("/dev/null")
    with pytest.raises(tracker.NotFoundError, match="gone"):
        art.add_file("gone")
    with pytest.raises(ValueError, match="a folder"):
        art.add_file(data)
    with pytest.raises(TypeError, match="path must be a path"):
        art.add_file(3)  # type: ignore[arg-type]
    for bad in ("", "a/b", "a:b", "a@b", "x" * 300):
        with pytest.raises((ValueError, tracker.LimitError)):
            tracker.Artifact(bad, "t")
    assert art.file_count == 0


def test_a_file_that_changes_before_it_is_read_fails_the_artifact_and_never_the_run(
    run: tracker.Run, data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    art = tracker.Artifact("data", type="dataset")
    art.add_dir(data, copy=False)
    (data / "one.bin").write_text("changed since")
    run.log_artifact(art)
    with pytest.raises(tracker.StoreError, match=r"one\.bin has changed"):
        art.wait()
    assert (art.state, run.status().artifacts_failed) == ("failed", 1)
    assert "1 failed" in str(run.status())
    assert capfd.readouterr().err.count('artifact "data" is not stored') == 1
    run.log({"x": 1.0})
    assert run.flush()
    assert run.outputs == []
    with pytest.raises(tracker.NotFoundError):
        tracker.artifact("test/data")


def test_a_disabled_run_takes_every_call_and_makes_nothing(store: Path, data: Path, tmp_path: Path) -> None:
    with tracker.init(mode="disabled") as run:
        art = made(data)
        with art.new_file("new") as file:
            file.write("x")
        run.log_artifact(art)
        assert (art.wait().state, art.version, art.digest, art.aliases) == ("not recorded", None, None, ())
        assert (run.inputs, run.outputs) == ([], [])
        with pytest.raises(tracker.NotFoundError):
            run.use_artifact("data")
        with pytest.raises(ValueError, match="name of a version"):
            run.log_artifact(made(data), aliases=["v1"])
        with pytest.raises(TypeError, match=r"did you mean \['best'\]"):
            run.log_artifact(made(data), aliases="best")
    assert not store.exists()


def test_a_gated_rank_downloads_and_logs_nothing(run: tracker.Run, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run.log_artifact(made(data)).wait()
    gated = tracker.init(project="test", rank=1, world_size=2, quiet=True)
    art = gated.log_artifact(made(data, "other"))
    assert art.wait().state == "not recorded"
    assert Path(gated.use_artifact("data").download(), "one.bin").read_bytes() == b"a" * 100
    assert (gated.outputs, gated.inputs) == ([], [])
    assert [a.name for a in tracker.artifacts()] == ["data"]
    gated.finish()


# Promise P6: A damaged file of an artifact is named and never returned.
def test_a_damaged_blob_is_named_and_never_handed_out(run: tracker.Run, store: Path, data: Path) -> None:
    digest = run.log_artifact(data / "one.bin").wait().files()[0].digest
    blob = store / "blobs" / "sha256" / digest[:2] / digest[2:]
    blob.chmod(0o644)
    blob.write_bytes(b"x" * 100)
    art = tracker.artifact("test/one.bin")
    with pytest.raises(tracker.CorruptError, match=r"one\.bin"):
        art.download()
    with pytest.raises(tracker.CorruptError):
        art.verify()


def test_wait_ends_after_its_timeout_and_wants_a_logged_artifact(data: Path) -> None:
    art = made(data)
    with pytest.raises(ValueError, match="was not logged"):
        art.wait()
    with pytest.raises(ValueError, match="timeout"), tracker.init(quiet=True) as run:
        run.log_artifact(art).wait(timeout=-1)


# Bug: everything below the folder was taken out of the artifact.
def test_a_new_file_with_the_name_of_a_folder_is_refused_and_what_is_below_it_stays(data: Path) -> None:
    art = tracker.Artifact("made", "table")
    art.add_file(data / "one.bin", "dir/one.bin")
    with pytest.raises(ValueError, match="'dir/' is the name of a folder"), art.new_file("dir/"):
        pass
    assert [entry.name for entry in art.files()] == ["dir/one.bin"]


# Regression: what was refused was removed, and with it the only copy.
def test_files_written_for_an_artifact_that_is_refused_are_kept_and_named(
    run: tracker.Run, capfd: pytest.CaptureFixture[str]
) -> None:
    run.log_artifact(tracker.Artifact("model", type="model")).wait()
    other = tracker.Artifact("model", type="dataset")
    with other.new_file("weights") as file:
        file.write("w")
    with pytest.raises((ValueError, tracker.TrackerError)):
        run.log_artifact(other).wait()
    folder = other._staging
    assert folder in capfd.readouterr().err
    assert [path.read_text() for path in Path(folder).iterdir()] == ["w"]


# Bug: it was "logged and does not change any more", and the run did not say that it was refused.
def test_an_artifact_that_was_refused_is_kept_with_its_reason_and_may_be_changed_and_logged_again(
    run: tracker.Run, data: Path
) -> None:
    art = tracker.Artifact("data", type="dataset")
    art.add_dir(data, copy=False)
    (data / "one.bin").write_text("changed since")
    with pytest.raises(tracker.StoreError):
        run.log_artifact(art).wait()
    assert [file.name for file in art.files()] == ["one.bin", "sub/two.bin"]
    art.remove("one.bin")
    art.add_file(data / "one.bin")
    assert run.log_artifact(art).wait().version == "v0"
    with pytest.raises(ValueError, match="does not change any more"):
        art.remove("one.bin")
    refused = tracker.open_run(run.uid).artifacts_refused
    assert [(r.name, r.type, r.use) for r in refused] == [("test/data", "dataset", "output")]
    assert "one.bin has changed" in refused[0].reason
    shown = command("show", run.uid)
    assert "artifact test/data, logged as number 1, refused: " in shown
    assert json.loads(command("show", run.uid, "--json"))["artifacts_refused"][0]["reason"] == refused[0].reason


# Bug: it fetched every file whose name began so.
def test_the_path_of_one_file_fetches_no_other(run: tracker.Run, tmp_path: Path) -> None:
    art = tracker.Artifact("data", type="dataset")
    for name in ("a", "ab", "a.txt"):
        with art.new_file(name) as file:
            file.write(name)
    run.log_artifact(art).wait()
    path = art.get_path("a")
    assert path.read_text() == "a"
    assert [each.name for each in path.parent.iterdir()] == ["a"]
    some = Path(art.download(tmp_path / "some", path_prefix="a."))
    assert [each.name for each in some.iterdir()] == ["a.txt"]
    with pytest.raises(tracker.NotFoundError, match="no file whose name begins with 'typo/'"):
        art.download(tmp_path / "none", path_prefix="typo/")
    assert not (tmp_path / "none").exists()


def test_a_store_that_takes_no_files_says_where_to_download_instead(
    run: tracker.Run, store: Path, data: Path, tmp_path: Path
) -> None:
    art = run.log_artifact(made(data)).wait()
    (store / "downloads").write_text("in the way")
    for fetch in (art.download, lambda: art.get_path("one.bin")):
        with pytest.raises(tracker.TrackerError, match=r'takes no files.*download\("data"\)'):
            fetch()
    assert Path(art.download(tmp_path / "mine"), "one.bin").stat().st_size == 100


def test_what_a_run_that_records_nothing_logs_still_says_its_files(store: Path, data: Path) -> None:
    with tracker.init(mode="disabled") as run:
        art = run.log_artifact(made(data)).wait()
        assert [(file.name, file.digest) for file in art.files()] == [("one.bin", ""), ("sub/two.bin", "")]
        assert art.get_entry("one.bin").name == "one.bin"
        with pytest.raises(tracker.ClosedError, match="nothing is recorded"):
            art.download()


# Bug: the store was copied into itself, and as it changes meanwhile the artifact was refused each time.
def test_a_working_directory_is_logged_without_the_store_in_it_and_says_so(script: Script, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    done = script(
        """
        import os, sys, tracker
        os.chdir(sys.argv[1])
        open("train.py", "w").write("x")
        for id in ("r1", "r2"):
            run = tracker.init(project="p", id=id, quiet=True)
            run.log({"loss": 1.0})
            code = run.log_artifact(".", name="code", type="code").wait()
            assert (code.version, [file.name for file in code.files()]) == ("v0", ["train.py"])
            run.finish()
        """,
        str(work),
        env={"TRACKER_DIR": ""},
    )
    assert done.returncode == 0, done.stderr
    said = f'the artifact "code" is without {work}/.tracker: a store that lies in a folder is left out'
    assert done.stderr.count(said) == 2, done.stderr


# Bug: it was the version that has the same number in the other store, with other data.
def test_an_artifact_of_a_copied_run_is_found_by_its_digest_or_not_at_all(store: Path, tmp_path: Path) -> None:
    def log(where: Path, id: str, text: str) -> None:
        (tmp_path / "data.txt").write_text(text)
        run = tracker.init(project="p", id=id, dir=where, quiet=True)
        run.log_artifact(tmp_path / "data.txt", name="data", type="dataset").wait()
        run.finish()

    log(tmp_path / "one", "mine", "mine")
    log(tmp_path / "two", "other", "other")
    shutil.copytree(tmp_path / "one/runs/p/mine", tmp_path / "two/runs/p/mine")
    (use,) = tracker.open_run("p/mine", dir=tmp_path / "two").outputs
    with pytest.raises(tracker.NotFoundError, match=use.digest):
        use.artifact()
    log(tmp_path / "two", "again", "mine")
    assert (use.name, use.artifact().qualified_name) == (f"p/data@{use.digest[:12]}", "p/data:v1")
    assert [use.name for use in tracker.open_run("p/mine", dir=tmp_path / "two").outputs] == ["p/data:v1"]
    assert use.artifact().get_path("data.txt").read_text() == "mine"
