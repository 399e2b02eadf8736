# SPDX-License-Identifier: MIT
"""Goal: an argument beats a variable, a variable beats the default, and all are read at init, never at import.
Method: each variable with and without its argument; modules and environments that change between import and init."""

from __future__ import annotations

import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize(
    ("variable", "option", "from_variable", "from_argument"),
    [
        ("TRACKER_PROJECT", "project", "by-variable", "by-argument"),
        ("TRACKER_RUN_ID", "id", "by-variable", "by-argument"),
        ("TRACKER_MODE", "mode", "disabled", "local"),
        ("TRACKER_DIR", "dir", "by-variable", "by-argument"),
        ("TRACKER_RANK", "rank", "3", 0),
    ],
)
def test_an_argument_beats_its_variable_and_a_variable_the_default(
    monkeypatch: pytest.MonkeyPatch, variable: str, option: str, from_variable: str, from_argument: Any
) -> None:
    seen: dict[str, Callable[[tracker.Run], Any]] = {
        "project": lambda run: run.project,
        "id": lambda run: run.id,
        "mode": lambda run: "local" if run.status().recording else "disabled",
        "dir": lambda run: next(part for part in Path(run.dir).parts if part.startswith(("by-", "store"))),
        "rank": lambda run: str(run.rank),
    }
    look = seen[option]
    with tracker.init(quiet=True) as run:
        default = look(run)
    monkeypatch.setenv(variable, from_variable)
    with tracker.init(quiet=True) as run:
        assert look(run) == from_variable != default
    arguments: Any = {option: from_argument}
    with tracker.init(quiet=True, **arguments) as run:
        assert look(run) == str(from_argument)


def test_the_ranks_that_record_are_an_argument_before_they_are_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("RANK", "1"), ("WORLD_SIZE", "2"), ("TRACKER_RUN_ID", "shared")):
        monkeypatch.setenv(name, value)
    with tracker.init(quiet=True) as run:
        assert run.status().recording is False
    monkeypatch.setenv("TRACKER_RANKS", "all")
    with tracker.init(quiet=True) as run:
        assert run.status().recording is True
    with tracker.init(quiet=True, ranks="first") as run:
        assert run.status().recording is False


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRACKER_PROJECT", "TRACKER_MODE", "TRACKER_RUN_ID", "TRACKER_RANK", "TRACKER_RANKS"):
        monkeypatch.setenv(name, "")
    with tracker.init(quiet=True) as run:
        assert (run.project, run.rank, run.status().recording) == ("default", 0, True)
        assert run.id


def test_ranks_are_read_at_init_and_not_at_import(script: Script) -> None:
    source = """
        import os, sys
        if sys.argv[1] == "cleared":
            os.environ.update(RANK="3", WORLD_SIZE="8", TRACKER_MODE="disabled")
        import tracker
        if sys.argv[1] == "cleared":
            for name in ("RANK", "WORLD_SIZE", "TRACKER_MODE"):
                del os.environ[name]
        else:
            os.environ.update(RANK="3", WORLD_SIZE="8")
        with tracker.init(quiet=True) as run:
            print(run.rank, run.status().recording)
        """
    assert script(source, "cleared").stdout == "0 True\n"
    assert script(source, "set").stdout == "3 False\n"


def test_torch_is_asked_where_it_is_loaded_and_never_imported(script: Script, tmp_path: Path) -> None:
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("print('torch is imported')\n")
    (package / "distributed.py").write_text("print('torch.distributed is imported')\n")
    done = script(
        """
        import sys, tracker
        with tracker.init(quiet=True) as run:
            run.log({"x": 1.0})
        print(sorted(name for name in sys.modules if name.startswith("torch")))
        import torch
        """
    )
    assert done.stdout == "[]\ntorch is imported\n", done.stderr


def test_online_without_a_server_is_local_and_says_so_in_one_line(script: Script) -> None:
    done = script(
        """
        import tracker
        with tracker.init(project="p", id="r", mode="online", quiet=True) as run:
            run.log({"x": 1.0}, step=0)
        """,
        stdin=subprocess.DEVNULL,
    )
    assert done.stdout == ""
    assert done.stderr == 'tracker: mode="online" but no server is known; the run is recorded locally\n'
    assert tracker.open_run("p/r").state == "finished"


def test_the_store_is_the_nearest_one_upward_and_else_a_private_folder_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TRACKER_DIR")
    inner = tmp_path / "project" / "inner"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    with tracker.init(quiet=True) as run:
        assert Path(run.dir).is_relative_to(inner / ".tracker")
    assert (inner / ".tracker" / ".gitignore").read_text() == "*\n"
    assert (inner / ".tracker").stat().st_mode & 0o777 == 0o700
    deeper = inner / "a" / "b"
    deeper.mkdir(parents=True)
    monkeypatch.chdir(deeper)
    with tracker.init(quiet=True) as run:
        assert Path(run.dir).is_relative_to(inner / ".tracker")
    assert not (deeper / ".tracker").exists()


# Hydra changes the working directory for each job: each would have had a store of its own.
def test_the_store_is_looked_for_from_where_hydra_was_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TRACKER_DIR")
    job = tmp_path / "outputs" / "job"
    job.mkdir(parents=True)
    monkeypatch.chdir(job)
    runtime = types.SimpleNamespace(runtime=types.SimpleNamespace(cwd=str(tmp_path)))
    config = types.SimpleNamespace(initialized=lambda: True, get=lambda: runtime)
    monkeypatch.setitem(sys.modules, "hydra.core.hydra_config", types.SimpleNamespace(HydraConfig=config))
    with tracker.init(quiet=True) as run:
        assert Path(run.dir).is_relative_to(tmp_path / ".tracker")
    assert list(job.iterdir()) == []
    with tracker.init(quiet=True, dir="here") as run:
        assert Path(run.dir).is_relative_to(job / "here")


# Promise P4: `strict=True` turns such faults into errors.
def test_strict_makes_an_error_of_a_store_that_cannot_be_made(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    store.write_text("not a folder")
    with pytest.raises(tracker.StoreError, match=str(store)):
        tracker.init(quiet=True, strict=True)
    assert tracker.run is None
    with tracker.init(quiet=True) as run:
        run.log({"x": 1.0}, step=0)
        assert run.status().degraded
    assert "the store cannot be written" in capfd.readouterr().err
