# SPDX-License-Identifier: MIT
"""Goal: artifacts of processes that fork, end, are killed or whose disk refuses are whole versions or none, and say so.

Method: each in a process of its own, with files that may not grow where a full disk is the question.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]


def test_a_forked_child_logs_nothing_and_the_parent_goes_on(script: Script, data: Path) -> None:
    done = script(
        """
        import os, sys, tracker
        run = tracker.init(project="p", id="r", quiet=True)
        art = run.log_artifact(sys.argv[1], "data", "dataset").wait()
        child = os.fork()
        if child == 0:
            other = run.log_artifact(sys.argv[1], "other")
            ok = other.wait().state == "not recorded" and art.state == "not recorded"
            os._exit(0 if ok and len(run.use_artifact("data").files()) == 2 else 1)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        str(data),
    )
    assert done.returncode == 0, done.stderr
    assert [a.name for a in tracker.artifacts()] == ["data"]


# Regression: the child's finalizer removed what the parent had written.
def test_files_written_for_an_artifact_outlive_a_forked_child(script: Script) -> None:
    done = script(
        """
        import os, sys, tracker
        run = tracker.init(project="p", id="r", quiet=True)
        art = tracker.Artifact("model", type="model")
        with art.new_file("weights") as file:
            file.write("w")
        for ends in (lambda: os._exit(0), lambda: sys.exit(0)):
            if os.fork() == 0:
                del art
                ends()
            os.wait()
        run.log_artifact(art).wait()
        """
    )
    assert done.returncode == 0, done.stderr
    assert [entry.name for entry in tracker.artifact("p/model").files()] == ["weights"]


# Bug: gc took what a training had written at its start, a day later, and the artifact was refused.
def test_files_written_for_an_artifact_stay_as_long_as_their_process_lives(script: Script) -> None:
    done = script(
        """
        import os, subprocess, sys, time, tracker
        run = tracker.init(project="p", id="r", quiet=True)
        art = tracker.Artifact("model", type="model")
        then = time.time() - 30 * 3600
        def age(art):
            for path in (*(entry.path for entry in os.scandir(art._staging)), art._staging):
                os.utime(path, (then, then))
        with art.new_file("weights") as file:
            file.write("w")
            file.flush()
            age(art)
        gc = [sys.executable, "-m", "tracker", "gc"]
        assert "Nothing to remove." in subprocess.run(gc, capture_output=True, text=True, check=True).stdout
        run.log_artifact(art).wait()
        other = tracker.Artifact("other", type="model")
        with other.new_file("weights") as file:
            age(other)
            os._exit(0)  # nothing of Python is tidied up
        """
    )
    assert done.returncode == 0, done.stderr
    assert [entry.name for entry in tracker.artifact("p/model").files()] == ["weights"]
    gone = subprocess.run([sys.executable, "-m", "tracker", "gc"], capture_output=True, text=True, check=True).stdout
    assert "removed temporary file" in gone
    assert "staging/artifact-" in gone


def test_files_written_for_an_artifact_that_is_refused_are_logged_again_from_where_they_are(script: Script) -> None:
    done = script(
        """
        import resource, signal, tracker
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        run = tracker.init(project="p", id="r", quiet=True)
        art = tracker.Artifact("large", type="blob")
        with art.new_file("large") as file:
            file.write("x" * (16 << 20))
        resource.setrlimit(resource.RLIMIT_FSIZE, (12 << 20, resource.RLIM_INFINITY))
        try:
            run.log_artifact(art).wait()
            raise SystemExit("not refused")
        except tracker.StoreError as error:
            print(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert run.log_artifact(art).wait().version == "v0"
        """
    )
    assert done.returncode == 0, done.stderr
    run = tracker.open_run("p/r")
    assert [use.name for use in run.outputs] == ["p/large:v0"]
    assert "File too large" in run.artifacts_refused[0].reason


# Bug: the older version came back after ten seconds, without a word.
def test_a_version_that_is_not_stored_yet_is_a_timeout_and_never_an_older_one(tmp_path: Path) -> None:
    # Blobs do not reach the disk while "stuck" is there.
    (tmp_path / "slow.c").write_text(
        "#include <stdio.h>\n#include <string.h>\n#include <unistd.h>\n"
        "static int slow(int fd) { char link[64], path[512] = {0};\n"
        '  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);\n'
        '  if (readlink(link, path, sizeof path - 1) > 0 && strstr(path, "blob.tmp") != NULL)\n'
        '    for (int i = 0; i < 1200 && access("stuck", F_OK) == 0; i++) usleep(50000);\n'
        "  return 0; }\n"
        "int fsync(int fd) { return slow(fd); }\n"
        "int syncfs(int fd) { return slow(fd); }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "slow.so", tmp_path / "slow.c"], check=True)
    code = """
        import pathlib, tracker
        run = tracker.init(project="p", id="r", quiet=True)
        file = pathlib.Path("data.bin")
        file.write_text("old")
        run.log_artifact(file, "data", "t").wait()
        file.write_text("newer")
        pathlib.Path("stuck").touch()
        logged = run.log_artifact(file, "data", "t")
        try:
            print("not raised:", run.use_artifact("data:latest").qualified_name)
        except TimeoutError as error:
            print("data:latest" in str(error), "wait()" in str(error), run.use_artifact("data:v0").version)
        pathlib.Path("stuck").unlink()
        print(run.use_artifact("data:latest").version, [use.name for use in run.inputs])
    """
    loaded = f"{os.environ.get('LD_PRELOAD', '')} {tmp_path / 'slow.so'}"  # after a sanitizer's, which must be first
    environment = {**os.environ, "LD_PRELOAD": loaded.strip()}
    environment["PYTHONPATH"] = str(Path(tracker.__file__).parent.parent)
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=120)
    assert (done.returncode, done.stdout) == (0, "True True v0\nv1 ['p/data:v0', 'p/data:v1']\n"), done.stderr


# Bug: a bare OSError, which did not say of what.
def test_a_new_file_that_the_disk_refuses_says_so_and_the_artifact_goes_on(script: Script) -> None:
    done = script(
        """
        import pathlib, resource, signal, tracker
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        run = tracker.init(project="p", id="r", quiet=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (12 << 20, resource.RLIM_INFINITY))
        art = tracker.Artifact("data", type="blob")
        with art.new_file("small") as file:
            file.write("x")
        for block in ("x" * (16 << 20), "x" * (12 << 20) + "y"):  # in write() and when it is closed
            try:
                with art.new_file("large") as file:
                    file.write(block)
                raise SystemExit("not refused")
            except tracker.StoreError as error:
                print(error)
        try:
            with art.new_file("other"):
                open("not-there")
        except FileNotFoundError as error:
            print("own:", error.filename)
        assert len(list(pathlib.Path(art._staging).iterdir())) == 1
        assert run.log_artifact(art).wait().version == "v0"
        assert [file.name for file in art.files()] == ["small"]
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\"large\" of the artifact 'data' could not be written") == 2
    assert "File too large; it was not added" in done.stdout
    assert "own: not-there" in done.stdout


# Bug: new_file() before init() made .tracker/staging in the working directory.
def test_a_new_file_before_init_makes_no_folder_in_the_working_directory(script: Script, tmp_path: Path) -> None:
    done = script(
        """
        import pathlib, tempfile, tracker
        art = tracker.Artifact("data", type="blob")
        with art.new_file("one") as file:
            file.write("x")
        assert not pathlib.Path(".tracker").exists() and not pathlib.Path("given").exists()
        run = tracker.init(project="p", id="r", quiet=True, dir="given")
        assert run.log_artifact(art).wait().version == "v0"
        assert art.get_path("one").read_text() == "x"
        assert not pathlib.Path(".tracker").exists() and not pathlib.Path(art._staging).exists()
        dropped = tracker.Artifact("other", type="blob")
        with dropped.new_file("one") as file:
            file.write("x")
        assert pathlib.Path("given/staging").absolute() in pathlib.Path(dropped._staging).parents
        """,
        env={"TRACKER_DIR": "", "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("artifact-")) == []


# A bound on the size of a file stands for the disk: what does not fit is refused in the middle of a write.
def test_a_disk_that_is_full_refuses_the_artifact_and_takes_the_points(script: Script, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(16 << 20))
    done = script(
        """
        import resource, signal, tracker
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (12 << 20, 12 << 20))
        run = tracker.init(project="p", id="r", quiet=True)
        art = run.log_artifact("large")
        run.log({"x": 1.0}, step=0)
        try:
            art.wait()
        except tracker.StoreError as error:
            print(error)
        assert run.status().artifacts_failed == 1
        run.log_artifact(__file__, "small").wait()
        """
    )
    assert done.returncode == 0, done.stderr
    assert "File too large" in done.stdout
    assert 'the artifact "large" is not stored' in done.stderr
    run = tracker.open_run("p/r")
    assert (run.state, run.points, [use.name for use in run.outputs]) == ("finished", 1, ["p/small:v0"])


def test_what_waits_at_the_end_of_a_process_is_stored(script: Script, data: Path) -> None:
    done = script(
        """
        import sys, tracker
        run = tracker.init(project="p", id="r", quiet=True)
        art = tracker.Artifact("data", "dataset")
        with art.new_file("note.txt") as file:
            file.write("made here")
        run.log_artifact(art)
        run.finish()
        assert art.version == "v0", art
        """
    )
    assert done.returncode == 0, done.stderr
    assert [use.name for use in tracker.open_run("p/r").outputs] == ["p/data:v0"]


# Promise P1: A kill at any moment leaves whole versions of artifacts and a readable run.
def test_a_process_killed_while_it_logs_leaves_whole_versions_and_a_readable_run(
    store: Path, tmp_path: Path, own_shm: Path
) -> None:
    seed = int(os.environ.get("TRACKER_TEST_SEED") or random.randrange(2**32))
    print(f"TRACKER_TEST_SEED={seed}")
    chance = random.Random(seed)
    source = tmp_path / "killed.py"
    source.write_text(
        "import sys, itertools, tracker\n"
        "run = tracker.init(project='p', id=sys.argv[1], quiet=True)\n"
        "for i in itertools.count():\n"
        "    art = tracker.Artifact('data', 'dataset')\n"
        "    with art.new_file('n') as file: file.write(sys.argv[1] + str(i) * 1000)\n"
        "    run.log_artifact(art, aliases=['newest'])\n"
        "    run.log({'i': i})\n"
        "    print(i, flush=True)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(tracker.__file__).parent.parent)}
    for number in range(5):
        command = [sys.executable, str(source), f"r{number}"]
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "0\n"
            time.sleep(chance.uniform(0, 0.3))
            process.send_signal(signal.SIGKILL)
            process.stdout.read()
        run = tracker.open_run(f"p/r{number}")
        assert run.problems == ()
        for art in tracker.artifacts("p"):
            art.verify(deep=True)
            assert [run.id for run in art.logged_by()], art
        for use in run.outputs:
            assert use.artifact().digest == use.digest
