# SPDX-License-Identifier: MIT
"""Goal: capture=["source"] stores the program's folder as a version of an artifact, bounded and without a secret, and
costs init nothing. Method: programs in folders made here, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tracker

PACKAGE_ROOT = str(Path(tracker.__file__).parent.parent)
TOKEN = "ghp_" + "a1B2" * 9  # of a known form, and no real one

PROGRAM = """
import tracker
run = tracker.init(project="p", capture=["source"], quiet=True)
run.log({"loss": 1}, step=0)
run.finish()
"""


def program(folder: Path, source: str = PROGRAM, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"train.py": source, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def start(folder: Path, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": PACKAGE_ROOT, "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run(
        [sys.executable, str(folder / "train.py")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=env,
        cwd=cwd or folder,
    )
    assert done.returncode == 0, done.stderr
    return done


def stored_files(tmp_path: Path, version: str) -> dict[str, str]:
    folder = Path(tracker.artifact(f"p/{version}").download(tmp_path / version.replace(":", "-")))
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_the_folder_of_the_program_is_stored_wherever_it_is_started_from(tmp_path: Path) -> None:
    code = program(tmp_path / "code", **{"lib/net.py": "x = 1\n", ".gitignore": "*.csv\n", "data.csv": "1,2\n"})
    start(code, cwd=tmp_path)
    assert stored_files(tmp_path, "source:v0") == {
        "train.py": PROGRAM,
        "lib/net.py": "x = 1\n",
        ".gitignore": "*.csv\n",
    }
    (run,) = tracker.runs(project="p")
    source = run.environment["source"]
    assert (source["root"], source["artifact"], source["files"]) == (str(code), "source", 3)
    assert source["left_out"] == {"ignored": 1}
    page = subprocess.run([sys.executable, "-m", "tracker", "show", run.id], capture_output=True, text=True, check=True)
    assert "left out: ignored=1" in page.stdout


def test_the_same_source_is_the_same_version_and_a_change_the_next_one(tmp_path: Path) -> None:
    code = program(tmp_path / "code")
    start(code)
    start(code)
    assert [version.version for version in tracker.artifacts(project="p")] == ["v0"]
    (code / "train.py").write_text(PROGRAM + "# changed\n")
    start(code)
    assert stored_files(tmp_path, "source:latest")["train.py"].endswith("# changed\n")


def test_no_secret_of_the_folder_reaches_the_store(tmp_path: Path, store: Path) -> None:
    code = program(
        tmp_path / "code",
        **{".env": f"A={TOKEN}\n", "id_rsa": TOKEN, "config.py": f'github = "{TOKEN}"\n', f"{TOKEN}.py": "x = 1\n"},
    )
    start(code)
    found = stored_files(tmp_path, "source:v0")
    assert set(found) == {"train.py", "config.py"}
    assert "[redacted]" in found["config.py"]
    for path in store.rglob("*"):
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes(), path
    (run,) = tracker.runs(project="p")
    assert run.environment["source"]["left_out"] == {"secret": 3}
    assert run.environment["source"]["redacted"] == 1


def test_data_is_left_out_and_counted(tmp_path: Path) -> None:
    code = program(tmp_path / "code")
    (code / "weights.bin").write_bytes(b"\0" * 100)
    (code / "table.txt").write_text("x" * (1 << 20) + "x")  # kSourceFileBytesMax and one more
    start(code)
    (run,) = tracker.runs(project="p")
    assert run.environment["source"]["left_out"] == {"large": 1, "no_text": 1}
    assert set(stored_files(tmp_path, "source:v0")) == {"train.py"}


def test_a_home_folder_is_not_copied(tmp_path: Path) -> None:
    code = program(tmp_path / "home", notes="private\n")
    start(code, HOME=str(code))
    (run,) = tracker.runs(project="p")
    assert "home folder" in run.environment["source"]["error"]
    assert not list(tracker.artifacts(project="p"))


def test_without_being_asked_nothing_is_copied(tmp_path: Path) -> None:
    start(program(tmp_path / "code", PROGRAM.replace('capture=["source"], ', "")))
    (run,) = tracker.runs(project="p")
    assert "source" not in run.environment
    assert not list(tracker.artifacts(project="p"))


def test_nothing_of_the_copy_stays_beside_the_store(tmp_path: Path, store: Path) -> None:
    start(program(tmp_path / "code"))
    assert not any((store / "staging").glob("artifact-*"))
