# SPDX-License-Identifier: MIT
"""Goal: misuse of a signature is an ordinary error that says what was expected; strict raises what is else counted.
Method: call with wrong arguments and check type and text of the error."""

from __future__ import annotations

import math
import subprocess
import types
import uuid
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]


# Promise P4: A wrong signature is an ordinary error at once.
@pytest.mark.parametrize("data", [None, 1.0, [("loss", 1.0)], {"loss"}, object()])
def test_log_wants_a_mapping(run: tracker.Run, data: Any) -> None:
    with pytest.raises(TypeError, match=r"data must be a dict of names to values, got "):
        run.log(data, step=0)


def test_log_of_a_name_and_a_value_says_how_it_is_written(run: tracker.Run) -> None:
    log: Any = run.log
    for arguments in (("loss", 0.5), ("loss", 1), ("loss",)):
        with pytest.raises(TypeError, match=r"data must be a dict, as in log\(\{'loss': value\}\); got a str"):
            log(*arguments)
    assert run.status().steps_changed == 0


@pytest.mark.parametrize("step", ["1", [1], 1j, object()])
def test_a_step_must_be_a_number(run: tracker.Run, step: Any) -> None:
    with pytest.raises(TypeError, match=r"step must be a number or None, got .*; nothing was logged"):
        run.log({"loss": 1.0}, step=step)
    with pytest.raises(TypeError, match="step must be a number or None, got"):
        run.metric("loss").log(1.0, step)


WHOLE = [0, -5, 2**63 - 1, -(2**63) + 1, True, np.int32(7), np.uint8(7), np.array(9), np.array([7]), np.array([[7.0]])]
WHOLE += [4096.0, -3.0, -0.0, np.float64(5), np.float32(6), np.float16(4), Decimal(12), Fraction(6, 2), np.uint64(3)]


@pytest.mark.parametrize("step", WHOLE)
def test_any_whole_number_is_a_step(run: tracker.Run, step: Any) -> None:
    run.log({"loss": 1.0}, step=step)
    run.metric("loss").log(2.0, step=step)
    h = tracker.open_run(run.uid).history("loss", all=True)
    whole = int(step.item() if isinstance(step, np.ndarray) else step)
    assert h.steps.tolist() == [whole] * 2
    assert run.status().steps_changed == 0


def test_a_step_that_is_not_whole_is_kept_at_its_floor_said_once_and_counted(
    run: tracker.Run, capfd: pytest.CaptureFixture[str]
) -> None:
    for step in (9.5, np.float32(-0.5), Decimal("2.75")):
        run.log({"loss": 1.0}, step=step)
    assert tracker.open_run(run.uid).history("loss", all=True).steps.tolist() == [9, -1, 2]
    assert run.status().steps_changed == 3
    run.log({"loss": 1.0}, step=math.nan)
    run.log({"loss": 1.0}, step=math.inf)
    floor, none = capfd.readouterr().err.splitlines()
    assert floor.startswith(f"tracker: test/{run.id}: step 9.5 is no whole number of int64: the values are kept at its")
    assert 'log the fraction as a metric "epoch" and name it by define_metric("*", step_metric="epoch")' in floor
    assert none == (
        f"tracker: test/{run.id}: step nan is no whole number of int64: the values get the next step, as log() without "
        "a step gives (said once)"
    ), "another rule, another line"


def test_the_last_line_counts_the_steps_that_were_changed(capfd: pytest.CaptureFixture[str]) -> None:
    with tracker.init(project="p", id="r") as run:
        for step in range(40):
            run.log({"loss": step}, step=step / 10)
    assert run.status().steps_changed == 36
    assert "40 points stored, nothing lost, 36 steps changed to whole numbers; tracker show" in capfd.readouterr().err


def test_a_warning_names_the_run_that_it_is_about(capfd: pytest.CaptureFixture[str]) -> None:
    with tracker.init(project="p", id="a", quiet=True) as a, tracker.init(project="p", id="b", quiet=True) as b:
        for run in (a, b):
            run.log({"big": 2**70}, step=0)
            run.log({"t": tracker.Table({"x": [uuid.uuid4()]})}, step=0)
    said = capfd.readouterr().err.splitlines()
    assert [line.partition(": ")[2][:11] for line in said] == [
        "p/a: 'big':",
        "p/a: 't': a",
        "p/b: 'big':",
        "p/b: 't': a",
    ]


@pytest.mark.parametrize("step", [math.nan, math.inf, -math.inf, 2**63, -(2**63), 10**30, 1e19, np.float32("nan")])
def test_a_step_that_int64_does_not_have_is_none_and_counted(run: tracker.Run, step: Any) -> None:
    run.log({"loss": 1.0}, step=41)
    run.log({"loss": 2.0, "text": "kept"}, step=step)
    run.metric("loss").log(3.0, step)
    assert tracker.open_run(run.uid).history("loss").steps.tolist() == [41, 42, 43]
    assert run.status().steps_changed == 2


@pytest.mark.parametrize("step", [0.5, math.nan, 2**63])
def test_a_strict_run_raises_a_step_that_is_not_whole(step: Any) -> None:
    run = tracker.init(project="test", strict=True, quiet=True)
    with pytest.raises(ValueError, match=r"step must be a whole number of int64, got .*; nothing was logged"):
        run.log({"loss": 1.0}, step=step)
    assert run.status().points_logged == 0


@pytest.mark.parametrize("resume", [True, False, 1])
def test_resume_of_another_type_names_the_three_values(resume: Any) -> None:
    with pytest.raises(TypeError, match=f'resume must be "never" or "allow" or "must", got {resume}'):
        tracker.init(project="test", resume=resume)


def test_without_a_step_it_is_one_more_than_the_largest(run: tracker.Run) -> None:
    assert run.step == -1
    run.log({"loss": 1.0})
    assert run.step == 0
    run.log({"loss": 2.0}, step=10)
    run.log({"loss": 3.0}, step=5)
    run.log({"loss": 4.0}, step=None)
    run.metric("loss").log(5.0)
    assert run.step == 12
    assert tracker.open_run(run.uid).history("loss").steps.tolist() == [0, 5, 10, 11, 12]


def test_a_call_without_a_step_takes_one_step_whatever_it_holds(run: tracker.Run) -> None:
    run.log({"t": "text"})
    run.log({"x": 1.0, "t": "text"})
    run.log({})
    run.log({"x": None})
    run.log({"x": object()})
    run.log(types.MappingProxyType({"x": 2.0}))
    run.metric("t").log("text")
    run.metric("x").log(3.0)
    stored = tracker.open_run(run.uid)
    assert stored.history("x").steps.tolist() == [1, 2, 4]
    assert [row.step for row in stored.texts("t")] == [0, 1, 3]


def test_wrong_arguments_of_log_say_what_was_expected(run: tracker.Run) -> None:
    log: Any = run.log
    with pytest.raises(TypeError, match=r"log\(data, step=None\) is missing its argument 'data'"):
        log()
    with pytest.raises(TypeError, match="takes at most 2 arguments, got 3"):
        log({}, 1, 2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'stp'"):
        log({}, stp=1)
    with pytest.raises(TypeError, match="multiple values for argument 'step'"):
        log({}, 1, step=2)
    log(data={"loss": 1.0}, step=1)
    log(step=2, data={"loss": 1.0})
    handle: Any = run.metric("loss")
    with pytest.raises(TypeError, match="'value'"):
        handle.log()
    handle.log(value=1.0, step=3)
    assert run.status().points_logged == 3


def test_init_suggests_the_nearest_option() -> None:
    init: Any = tracker.init
    with pytest.raises(TypeError, match="unexpected keyword argument 'projet'; did you mean 'project'"):
        init(projet="x")
    with pytest.raises(TypeError, match="the options are project"):
        init(zzzzzzzz=1)
    assert tracker.run is None


@pytest.mark.parametrize(
    "options, error, text",
    [
        ({"project": ""}, ValueError, "project must not be empty"),
        ({"project": 3}, TypeError, "project must be a str, got int"),
        ({"project": "a\0b"}, ValueError, "project"),
        ({"id": ""}, ValueError, "id must not be empty"),
        ({"id": b"x"}, TypeError, "id must be a str"),
        ({"tags": "one"}, TypeError, "tags must be a list of str"),
        ({"tags": [1]}, TypeError, "tags must be a list of str"),
        ({"config": 3}, TypeError, "config must be a dict"),
        ({"config": [1]}, TypeError, "config must be a dict"),
        ({"strict": 1}, TypeError, "strict must be True or False"),
        ({"dir": 3}, TypeError, "dir must be a path"),
        ({"mode": "cloud"}, ValueError, "local"),
        ({"resume": "maybe"}, ValueError, "never"),
        ({"journal": "tape"}, ValueError, "shm"),
        ({"on_full": "explode"}, ValueError, "drop"),
        ({"rank": "0"}, TypeError, "rank must be an int"),
        ({"rank": -1}, ValueError, "rank must be 0 or more"),
    ],
)
def test_init_says_what_it_expected(options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        tracker.init(**options)
    assert tracker.run is None


def test_resume_must_needs_the_run() -> None:
    with pytest.raises(tracker.NotFoundError):
        tracker.init(project="p", id="missing", resume="must", quiet=True)


@pytest.mark.parametrize("bad", [None, "x", True, [1]])
def test_timeouts_are_seconds(run: tracker.Run, bad: Any) -> None:
    with pytest.raises(TypeError, match="timeout must be a number of seconds"):
        run.flush(timeout=bad)
    with pytest.raises(ValueError, match="0 or more"):
        run.flush(timeout=-1)
    with pytest.raises(TypeError, match="exit_code"):
        run.finish(exit_code="1")  # type: ignore[arg-type]


def test_module_verbs_need_a_run() -> None:
    assert tracker.run is None
    with pytest.raises(RuntimeError, match=r"tracker\.init\(\) first"):
        tracker.log({"loss": 1.0})
    with pytest.raises(RuntimeError, match=r"tracker\.init\(\) first"):
        tracker.config["lr"] = 1
    tracker.finish()
    with pytest.raises(AttributeError, match="not in this version yet"):
        tracker.sync  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(tracker, "no_such_name")


def test_strict_raises_after_the_good_ones_are_recorded(strict_run: tracker.Run) -> None:
    data: Any = {"a": 1.0, "bad": object(), b"3": 1.0, "b": 2.0}
    with pytest.raises(TypeError, match=r"'bad': expected a number, str or None, got object.*1 more"):
        strict_run.log(data, step=0)
    with pytest.raises(ValueError, match="key"):
        strict_run.log({"": 1.0}, step=1)
    with pytest.raises(TypeError, match="'x'"):
        strict_run.metric("x").log([1], 2)  # a list is no value
    assert tracker.open_run(strict_run.uid).series() == ["a", "b"]
    assert strict_run.status().values_rejected == 4


def test_strict_raises_after_the_end_and_lax_counts(strict_run: tracker.Run) -> None:
    strict_run.log({"a": 1.0}, step=0)
    strict_run.finish()
    with pytest.raises(tracker.ClosedError):
        strict_run.log({"a": 1.0}, step=1)
    with pytest.raises(tracker.ClosedError):
        strict_run.log({"new": 1.0}, step=1)
    lax = tracker.init(project="test", quiet=True)
    lax.finish()
    lax.log({"a": 1.0}, step=1)
    lax.log({"new": "text"}, step=1)
    lax.metric("m").log(1.0, 1)


def test_a_run_is_made_by_init_alone() -> None:
    make: Any = tracker.Run
    with pytest.raises(TypeError):
        make()
    with pytest.raises(TypeError, match=r"tracker\.init\(\)"):
        make(object())
    with pytest.raises(TypeError):
        tracker.Metric()


LONE = "\ud800"  # what os.fsdecode() makes of bytes that are no UTF-8, and what JSON may hold


@pytest.mark.parametrize("option", ["project", "id", "name", "group", "job_type", "notes", "dir", "tags"])
def test_text_that_is_no_unicode_is_an_error_that_names_the_argument(option: str) -> None:
    value: Any = [LONE] if option == "tags" else LONE
    with pytest.raises(ValueError, match=r"is not UTF-8: '\\ud800'") as raised:
        tracker.init(**{option: value}, quiet=True)
    assert str(raised.value).startswith("a tag" if option == "tags" else option)


def test_names_that_are_no_unicode_are_errors_wherever_they_are_given(
    run: tracker.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.log({"x": 1.0, "t": "text"}, step=0)
    stored = tracker.open_run(run.uid)
    for act in (
        lambda: run.metric(LONE),
        lambda: stored.history(LONE),
        lambda: stored.history(["x", LONE]),
        lambda: stored.texts(LONE),
        lambda: tracker.open_run(LONE),
        lambda: tracker.runs(project=LONE),
        lambda: tracker.runs(where=LONE),
        lambda: tracker.runs(sort=LONE),
        lambda: run.define_metric(LONE),
        lambda: stored.history("x", x=LONE),
        lambda: stored.chart(LONE),
        lambda: stored.chart("x", x=LONE),
        lambda: stored.across_ranks(LONE),
        lambda: stored.tail(LONE),
        lambda: tracker.init(dir="a\0b"),
    ):
        with pytest.raises(ValueError, match=r"not UTF-8|surrogates not allowed|NUL"):
            act()
    monkeypatch.setenv("TRACKER_DIR", "/nowhere/\udcff")
    with pytest.raises(ValueError, match="the path of the store is not UTF-8"):
        tracker.runs()


# The bug: SQLite takes no longer path, so init said "recording" of a run that nothing could ever store.
def test_a_run_whose_path_is_too_long_to_be_stored_is_refused_at_once_and_the_longest_is_stored(tmp_path: Path) -> None:
    k_run_path_bytes_max = 440  # kRunPathBytesMax
    here = tmp_path / "s"
    room = k_run_path_bytes_max - len(f"{here}/runs/p/")
    store = here
    while room > 200:  # what is left to the id
        store = store / ("d" * min(room - 100, 99))
        room = k_run_path_bytes_max - len(f"{store}/runs/p/")
    with tracker.init(project="p", id="i" * room, dir=store, quiet=True) as run:
        run.log({"loss": 1.0})
    assert tracker.open_run(f"p/{'i' * room}", dir=store).history("loss").values.tolist() == [1.0]
    with pytest.raises(ValueError, match=r"path of 441 bytes, at most 440 .*: /.*a shorter dir, project or id"):
        tracker.init(project="p", id="i" * (room + 1), dir=store, quiet=True)
    with pytest.raises(ValueError, match="at most 440"):
        tracker.init(project="日本" * 30, id="語" * 60, dir=store, quiet=True)


# The store was made in the root of the file system.
def test_a_deleted_working_directory_is_no_place_for_a_store(script: Script) -> None:
    done = script(
        """
import os, tracker
store = os.environ.pop("TRACKER_DIR")
os.mkdir("gone")
os.chdir("gone")
os.rmdir("../gone")
for call in (tracker.init, tracker.runs, lambda: tracker.init(dir="here")):
    try:
        print(call())
    except ValueError as error:
        print(error)
with tracker.init(dir=store, quiet=True) as run:
    run.log({"x": 1.0}, step=0)
assert tracker.init(mode="disabled").status().recording is False
print(os.path.exists("/.tracker") or os.path.exists("/here"))
"""
    )
    assert done.returncode == 0, done.stderr
    *errors, made = done.stdout.splitlines()
    assert (len(errors), made) == (3, "False"), done.stdout
    for error in errors:
        assert "the working directory was deleted" in error
        assert "TRACKER_DIR" in error
    assert len(tracker.runs()) == 1


@pytest.mark.parametrize("option", ["project", "id", "name", "group", "job_type"])
def test_a_label_made_of_spaces_is_refused(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option} is blank: expected a name"):
        tracker.init(**{option: "   "})


@pytest.mark.parametrize(
    ("variable", "value"), [("TRACKER_MODE", "bogus"), ("TRACKER_RANKS", "bogus"), ("TRACKER_PROJECT", "  ")]
)
def test_an_error_names_the_variable_that_it_comes_from(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValueError, match=f"^{variable}"):
        tracker.init()
    argument = variable.removeprefix("TRACKER_").lower()
    with pytest.raises(ValueError, match=f"^{argument}"):
        tracker.init(**{argument: value})


def test_one_point_is_not_called_points(capfd: pytest.CaptureFixture[str]) -> None:
    for count, text in ((1, "1 point stored"), (2, "2 points stored")):
        with tracker.init(project="p") as run:
            for step in range(count):
                run.log({"x": 1.0}, step=step)
        assert text in capfd.readouterr().err


def test_a_store_that_cannot_be_used_is_not_called_frames_files(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    store.write_text("not a folder")
    with tracker.init(project="p", dir=store / "in" / "it", journal="memory") as run:
        run.log({"x": 1.0}, step=0)
    said = capfd.readouterr().err
    assert "what is logged waits in memory and is stored as soon as it can" in said
    assert ".frames" not in said
    with tracker.init(project="p", dir=store / "in" / "it", journal="shm") as run:
        run.log({"x": 1.0}, step=0)
    assert "what is logged waits in the journal and is stored as soon as it can" in capfd.readouterr().err
