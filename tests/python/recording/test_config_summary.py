# SPDX-License-Identifier: MIT
"""Goal: config and summary behave as mappings, write through at once, and take what users put into them.
Method: set, read in the live run, read back from the store."""

from __future__ import annotations

import argparse
import copy
import dataclasses
import enum
import json
import math
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracker
from tracker._recording.config_summary import STUCK_WAIT_MS


@dataclasses.dataclass
class Optimizer:
    lr: float = 0.1
    betas: tuple[float, float] = (0.9, 0.999)


class Color(enum.Enum):
    RED = "red"


class Settings:
    def __init__(self) -> None:
        self.depth = 3
        self._hidden = 1

    def method(self) -> None: ...


def test_config_takes_a_dict_a_namespace_a_dataclass_or_an_object() -> None:
    for config in ({"lr": 0.1, "n": 3}, argparse.Namespace(lr=0.1, n=3), Optimizer(), Settings()):
        run = tracker.init(config=config, quiet=True)
        expected: dict[str, Any] = {"lr": 0.1, "n": 3}
        if isinstance(config, Optimizer):
            expected = {"lr": 0.1, "betas": [0.9, 0.999]}
        if isinstance(config, Settings):
            expected = {"depth": 3}
        assert run.config == expected
        assert tracker.open_run(run.uid).config == expected
        run.finish()


def test_every_kind_of_value_has_a_plain_form() -> None:
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    given: dict[Any, Any] = {
        "path": Path("/data/x"),
        "np": np.float32(0.5),
        "array": np.arange(3),
        "large": np.zeros(5000),
        "set": {3, 1, 2},
        "nested": {"a": {"b": (1, None)}},
        "opt": Optimizer(),
        "enum": Color.RED,
        "huge": 2**80,
        "inf": math.inf,
        5: "int key",
        "object": object(),
        "cyclic": cyclic,
        "bad text": "\ud800",
        "long": "x" * 5000,
    }
    run = tracker.init(config=given, quiet=True)
    config = tracker.open_run(run.uid).config
    assert config["path"] == "/data/x"
    assert config["np"] == 0.5
    assert config["array"] == [0, 1, 2]
    assert isinstance(config["large"], str)
    assert config["set"] == [1, 2, 3]
    assert config["nested"] == {"a": {"b": [1, None]}}
    assert config["opt"] == {"lr": 0.1, "betas": [0.9, 0.999]}
    assert config["enum"] == "red"
    assert config["huge"] == 2.0**80
    assert config["inf"] == math.inf
    assert config["5"] == "int key"
    assert config["object"].startswith("<object object")
    assert config["bad text"] == "?"
    assert config["long"] == "x" * 5000


# Bug: each path through them was followed, 32 deep: init took hours and all memory.
def test_a_config_whose_parts_know_each_other_is_taken_and_each_of_them_is_once_on_a_path() -> None:
    config: dict[str, Any] = {"lr": 0.1}
    config |= {f"part{i}": {"root": config, "n": i} for i in range(3)}
    a, b = argparse.Namespace(lr=1), argparse.Namespace(w=[2])
    a.others, b.others = [a, b], (a, b)
    config["a"] = a
    run = tracker.init(config=config, quiet=True)
    expected: dict[str, Any] = {"lr": 0.1} | {f"part{i}": {"root": "{...}", "n": i} for i in range(3)}
    inner = {"w": [2], "others": ["Namespace(...)", "Namespace(...)"]}
    expected["a"] = {"lr": 1, "others": ["Namespace(...)", inner]}
    assert run.config == expected
    assert tracker.open_run(run.uid).config == expected
    run.config["again"] = config
    run.summary["list"] = [a.others]
    assert run.config["again"] == expected
    run.config.update({"own": {"shared": [b.w, b.w]}})
    assert run.config["own"] == {"shared": [[2], [2]]}


class Unshown:
    def __repr__(self) -> str:
        raise ValueError("no repr")


class Unread(list[int]):
    def __iter__(self) -> Any:
        raise OSError("no items")


class NoFloat(float):
    def __float__(self) -> float:
        raise OSError("no float")


class Closed:
    def __getattribute__(self, name: str) -> Any:
        raise OSError(name)


# Bug: such a value raised from config and summary, and so ended a training at its last line.
def test_a_value_that_refuses_to_be_looked_at_is_kept_as_text(run: tracker.Run) -> None:
    values = [10**5000, {"k": [10**5000]}, {Unshown(), Unshown()}, [Unshown()], Unread([1]), NoFloat(1), Closed()]
    for i, value in enumerate(values):
        run.config[f"v{i}"] = value
        run.config.update({f"u{i}": value})
        run.summary[f"s{i}"] = value
    stored = tracker.open_run(run.uid)
    assert set(stored.config) == {f"{kind}{i}" for kind in "uv" for i in range(len(values))}
    assert stored.config["v0"] == "<int: its repr raised ValueError>"
    with_values = tracker.init(config={"values": values}, quiet=True)
    assert len(with_values.config["values"]) == len(values)
    with_values.finish()


def test_config_is_a_mapping_that_writes_through(run: tracker.Run) -> None:
    run.config["lr"] = 0.1
    run.config["model"] = {"depth": 3}
    run.config["model"]["width"] = 8
    run.config["model/heads"] = 4
    run.config.update({"a": 1}, b=2)
    assert run.config["model"]["depth"] == 3
    assert run.config["model/width"] == 8
    assert run.config.get("missing", 5) == 5
    assert "lr" in run.config
    assert set(run.config) == {"lr", "model", "a", "b"}
    expected = {"lr": 0.1, "model": {"depth": 3, "width": 8, "heads": 4}, "a": 1, "b": 2}
    assert run.config.as_dict() == expected
    assert tracker.open_run(run.uid).config == expected
    with pytest.raises(KeyError):
        run.config["missing"]
    with pytest.raises(TypeError, match="cannot be deleted"):
        del run.config["lr"]


# Bug: such a change was lost in silence.
@pytest.mark.parametrize("door", ["config", "summary"])
def test_a_change_of_a_list_in_config_or_summary_is_recorded(run: tracker.Run, door: str) -> None:
    held = getattr(run, door)
    held["b"] = [1]
    held["b"].append(5)
    same = held["b"]
    same += [(6, 7)]
    same.reverse()
    held["layers"] = [{"size": 1}, [1, 2]]
    held["layers"][0]["size"] = 2
    inner = held["layers"][1]
    inner.append(3)
    inner.remove(1)
    expected = {"b": [[6, 7], 5, 1], "layers": [{"size": 2}, [2, 3]]}
    assert dict(held) == expected
    assert getattr(tracker.open_run(run.uid), door) == expected
    assert pickle.loads(pickle.dumps(dict(held))) == copy.deepcopy(dict(held)) == expected
    assert json.loads(json.dumps(dict(held))) == expected


def test_json_takes_my_config(run: tracker.Run) -> None:
    assert json.dumps(run.config) == "{}"
    run.config["lr"] = 0.1
    run.config["model"] = {"depth": 3, "sizes": [1, {"a": 2}]}
    model = run.config["model"]
    run.config["model/opt/eps"] = 1
    run.config["model"].update({"depth": 4})
    config = run.config
    config |= {"password": "hunter2"}
    expected = {"lr": 0.1, "model": {"depth": 4, "sizes": [1, {"a": 2}], "opt": {"eps": 1}}, "password": "[redacted]"}
    for each in (config, dict(run.config), {**run.config}, copy.deepcopy(run.config), run.config.as_dict()):
        assert json.loads(json.dumps(each)) == json.loads(json.dumps(each, indent=1)) == expected
    assert model == expected["model"], "a dict that is held shows what is recorded"
    assert type(copy.copy(run.config)) is type(pickle.loads(pickle.dumps(run.config))) is dict
    for way in (config.clear, config.popitem, lambda: config.pop("lr")):
        with pytest.raises(TypeError, match="cannot be deleted"):
            way()
    assert run.config.setdefault("model/depth", 7) == 4
    assert run.config.setdefault("none") is None
    assert tracker.open_run(run.uid).config == run.config == {**expected, "none": None}


# Regression: the read after a flush that had given up waited as long as the disk did.
def test_a_summary_that_is_read_while_the_disk_is_stuck_answers_with_what_was_read_last(
    store: Path, tmp_path: Path
) -> None:
    (tmp_path / "slow.c").write_text(
        "#include <unistd.h>\n"
        'static int slow(void) { if (access("stuck", F_OK) == 0) sleep(20); return 0; }\n'
        "int fsync(int fd) { (void)fd; return slow(); }\n"
        "int fdatasync(int fd) { (void)fd; return slow(); }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "slow.so", tmp_path / "slow.c"], check=True)
    code = """
        import pathlib, time, tracker
        from tracker._recording import config_summary
        config_summary.READ_WAIT_MS = 300
        run = tracker.init(project="test", quiet=True)
        run.log({"loss": 1.0})
        run.summary["mine"] = 7
        first = dict(run.summary)
        pathlib.Path("stuck").touch()
        run.log({"loss": 2.0})
        begin = time.monotonic()
        same = first == dict(run.summary) == {"loss": 1.0, "mine": 7}
        print(same, run.summary["loss"], time.monotonic() - begin < 10)
        pathlib.Path("stuck").unlink()
    """
    loaded = f"{os.environ.get('LD_PRELOAD', '')} {tmp_path / 'slow.so'}"  # after a sanitizer's, which must be first
    environment = {**os.environ, "LD_PRELOAD": loaded.strip()}
    environment["PYTHONPATH"] = str(Path(tracker.__file__).parent.parent)
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=120)
    assert (done.returncode, done.stdout) == (0, "True 1.0 True\n"), done.stderr
    assert STUCK_WAIT_MS < 1000
    assert done.stderr.count("run.summary: the store has not taken what was logged") == 1, done.stderr


def test_the_summary_is_the_last_value_and_an_explicit_one_stays(run: tracker.Run) -> None:
    run.log({"loss": 1.0, "acc": 0.5}, step=0)
    run.log({"loss": 0.5, "acc": 0.7}, step=1)
    assert run.summary["loss"] == 0.5
    run.summary["acc"] = 0.99
    run.summary["best/epoch"] = 3
    run.log({"loss": 0.25, "acc": 0.1}, step=2)
    assert dict(run.summary) == {"loss": 0.25, "acc": 0.99, "best/epoch": 3}
    assert tracker.open_run(run.uid).summary == {"loss": 0.25, "acc": 0.99, "best/epoch": 3}
    del run.summary["acc"]
    assert run.summary["acc"] == 0.1
    with pytest.raises(KeyError):
        del run.summary["acc"]
    run.finish()
    assert run.summary["loss"] == 0.25


# Regression: in the stored run a value took away the explicit ones whose keys continue it with a '/'.
@pytest.mark.parametrize("files", ["sqlite", "frames"])
def test_an_explicit_value_leaves_those_with_longer_keys_alone(files: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_STORE_FILES", files)
    run = tracker.init(project="test", quiet=True)
    run.log({"acc": 0.1, "acc/top5": 0.2})
    run.summary["acc/top5"] = 0.9
    run.summary["acc"] = 0.8
    run.summary["m/a"] = 5
    run.summary["m"] = {"a": 1}
    expected = {"acc": 0.8, "acc/top5": 0.9, "m/a": 5, "m": {"a": 1}}
    assert dict(run.summary) == tracker.open_run(run.uid).summary == expected
    run.finish()
    assert tracker.open_run(run.uid).summary == expected
    assert len(list(tracker.runs(where="summary.acc/top5 = 0.9"))) == 1


def test_small_values_after_a_large_one_survive_a_kill(script: Any) -> None:
    done = script(
        """
        import os, signal, tracker
        run = tracker.init(project="p", id="r", quiet=True)
        run.config["big"] = "x" * 100_000
        run.config["small"] = 1
        run.summary["best"] = 2
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    assert done.returncode == -9
    stored = tracker.open_run("p/r")
    assert stored.config["small"] == 1
    assert stored.summary["best"] == 2


def test_after_a_large_value_the_last_one_of_a_key_counts(run: tracker.Run) -> None:
    for value in ("x" * 100_000, "small", "y" * 100_000, "last"):
        run.config["key"] = value
    assert run.flush(10)
    assert tracker.open_run(run.uid).config["key"] == "last"


# Regression: the live config kept "a/b" as one key and replaced a dict by a dict; the store keeps leaves by paths.
def test_the_live_config_is_the_stored_one_where_keys_hold_slashes(capfd: pytest.CaptureFixture[str]) -> None:
    run = tracker.init(project="test", config={"a/b": 2, "x": {"y": 1, "z": 3}, "x/y": 5})
    expected: dict[str, Any] = {"a": {"b": 2}, "x": {"y": 5, "z": 3}}
    assert run.config == expected
    assert capfd.readouterr().err.count("config has two values for 'x/y'") == 1
    run.config.update({"x": {"w": 7}})
    expected["x"]["w"] = 7
    assert run.config == expected
    assert tracker.open_run(run.uid).config == expected
    run.finish()


def test_a_stored_config_is_read_by_the_keys_it_was_written_with() -> None:
    run = tracker.init(config={"opt/lr": 0.1, "model": {"depth": 3}}, quiet=True)
    run.config["opt/beta"] = 0.9
    run.finish()
    config = tracker.open_run(run.uid).config
    assert (config["opt/lr"], config["opt/beta"], config["model/depth"]) == (0.1, 0.9, 3)
    assert config == {"opt": {"lr": 0.1, "beta": 0.9}, "model": {"depth": 3}}
    assert "opt/lr" in config
    assert "opt/eps" not in config
    assert config.get("opt/lr") == 0.1
    assert config.get("opt/eps", 1e-8) == 1e-8
    for key in ("opt/eps", "model/depth/x", "none", "/"):
        with pytest.raises(KeyError):
            config[key]


# Bug: with a "/" in any key of the call, or below a key, the dicts took the place of those that were there.
def test_an_update_merges_whether_a_key_holds_a_slash_or_not(run: tracker.Run) -> None:
    run.config.update({"opt": {"lr": 0.1, "wd": 1}, "m": {"sub": {"a": 1}}})
    run.config.update({"data/path": "x", "opt": {"lr": 0.3}})
    run.config["m"].update({"sub": {"b": 2}})
    run.config["m/sub"].update({"c/d": 3}, e=4)
    run.config.update({"opt/lr": 0.2, "opt": {"q": 3}})
    run.config.update({})
    run.config["m"].update({})
    expected = {
        "opt": {"lr": 0.2, "wd": 1, "q": 3},
        "m": {"sub": {"a": 1, "b": 2, "c": {"d": 3}, "e": 4}},
        "data": {"path": "x"},
    }
    assert run.config == expected
    run.finish()
    assert tracker.open_run(run.uid).config == expected


# Bug: the key stayed as it was written, and what was set at its path later was never read.
def test_keys_of_a_dict_that_is_assigned_are_paths_too(run: tracker.Run) -> None:
    run.config["b"] = {"c/c": 1, "d": {"e/f": 2}, "g": {}}
    run.config["b"]["c/c"] = 3
    run.config.update({"b": {"d/e/f": 4}})
    expected = {"b": {"c": {"c": 3}, "d": {"e": {"f": 4}}, "g": {}}}
    assert run.config == expected
    assert run.config["b/c/c"] == 3
    run.finish()
    assert tracker.open_run(run.uid).config == expected
    assert [r.uid for r in tracker.runs(where="config.b/c/c = 3")] == [run.uid]
