# SPDX-License-Identifier: MIT
"""Goal: which keys are accepted, how nested dicts flatten, and that a call never trips over its own data.
Method: log them and read the names of the series back."""

from __future__ import annotations

import collections
import enum
import os
import subprocess
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import tracker

GOOD_KEYS = ["loss", "val/acc", "a b", "ünï/çode", "x" * 1024, "a//b", "/a", "a/", "..", "%", "日本", "tab\there", "🙂"]
BAD_KEYS: dict[str, Any] = {
    "empty": "",
    "too long": "x" * 1025,
    "too long in bytes": "ü" * 513,
    "with NUL": "a\0b",
    "lone surrogate": "a\ud800",
    "None": None,
    "tuple": ("a", "b"),
    "bytes": b"loss",
}


class Text(str):
    """A str subclass whose hash and equality must not be asked."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise AssertionError

    def __eq__(self, other: object) -> bool:
        raise AssertionError


@pytest.mark.parametrize("key", GOOD_KEYS)
def test_any_text_without_nul_of_up_to_1024_bytes_is_a_key(run: tracker.Run, key: str) -> None:
    run.log({key: 1.0}, step=0)
    run.metric(key).log(2.0, 1)
    r = tracker.open_run(run.uid)
    assert r.series() == [key]
    assert r.history(key).values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", BAD_KEYS)
def test_a_bad_key_is_counted_and_the_others_are_kept(run: tracker.Run, name: str) -> None:
    for step in range(3):
        run.log({"before": 1.0, BAD_KEYS[name]: 5.0, "after": 2.0}, step=step)
    assert run.status().values_rejected == 3
    assert tracker.open_run(run.uid).series() == ["after", "before"]


@pytest.mark.parametrize("key", ["", "x" * 1025, "a\0b"])
def test_metric_refuses_a_bad_key_at_once(run: tracker.Run, key: str) -> None:
    with pytest.raises(ValueError, match="key"):
        run.metric(key)


class Split(enum.Enum):
    TRAIN = "train"
    FIRST = 0


# Bug: run.log({"acc": {0: 0.5}}) refused the key that run.config takes.
def test_a_number_or_a_member_of_an_enum_is_a_key_by_its_text_wherever_it_is_given(run: tracker.Run) -> None:
    keys: list[Any] = [0, -7, np.int64(3), 0.5, True, Split.TRAIN]
    texts = ["0", "-7", "3", "0.5", "True", "train"]
    for key, text in zip(keys, texts, strict=True):
        run.log({"acc": {key: 0.5}, key: 1}, step=0)
        run.config["by"] = {key: 1}
        run.summary[key] = 1
        assert run.config["by"] == {text: 1}
    back = tracker.open_run(run.uid)
    assert sorted(back.series()) == sorted([*texts, *(f"acc/{text}" for text in texts)])
    assert {text for text in texts if text in back.summary} == set(texts)
    assert run.status().values_rejected == 0


def test_a_member_of_an_enum_is_logged_as_its_value(run: tracker.Run) -> None:
    run.log({"x": Split.FIRST, "text": Split.TRAIN}, step=0)
    run.metric("y").log(Split.FIRST, 0)  # type: ignore[arg-type]
    back = tracker.open_run(run.uid)
    assert back.history("x").values.tolist() == back.history("y").values.tolist() == [0]
    assert [row.text for row in back.texts("text")] == ["train"]
    assert run.status().values_rejected == 0


def test_equal_keys_that_are_other_objects_are_one_series(run: tracker.Run) -> None:
    for step in range(100):
        run.log({"".join(["lo", "ss"]): float(step)}, step=step)
    r = tracker.open_run(run.uid)
    assert r.series() == ["loss"]
    assert len(r.history("loss")) == 100


def test_a_subclass_of_str_is_a_key_by_its_text(run: tracker.Run) -> None:
    run.log(types.MappingProxyType({"other": 1.0}), step=0)

    class Odd(Mapping[str, float]):
        def keys(self) -> Any:
            return [Text("loss")]

        def items(self) -> Any:
            return [(Text("loss"), 2.0)]

        def __getitem__(self, key: str) -> float:
            return 2.0

        def __iter__(self) -> Iterator[str]:
            return iter(self.keys())

        def __len__(self) -> int:
            return 1

    run.log(Odd(), step=0)
    assert tracker.open_run(run.uid).series() == ["loss", "other"]


def test_nested_dicts_flatten_with_slashes(run: tracker.Run) -> None:
    run.log({"train": {"loss": 0.5, "acc": {"top1": 1, "top5": True}}, "lr": 0.1, "empty": {}}, step=0)
    assert tracker.open_run(run.uid).series() == ["lr", "train/acc/top1", "train/acc/top5", "train/loss"]


@pytest.mark.parametrize("kind", [collections.OrderedDict, collections.defaultdict, types.MappingProxyType])
def test_any_mapping_may_be_logged(run: tracker.Run, kind: Any) -> None:
    data = {"a": 1.0, "b": {"c": 2.0}}
    run.log(kind(float, data) if kind is collections.defaultdict else kind(data), step=0)
    assert tracker.open_run(run.uid).series() == ["a", "b/c"]


def test_a_dict_that_contains_itself_ends_at_itself(run: tracker.Run) -> None:
    data: dict[str, Any] = {"x": 1.0}
    data["self"] = data
    data["again"] = {"up": data, "y": 2.0}
    run.log(data, step=0)
    assert tracker.open_run(run.uid).series() == ["again/y", "x"]
    assert run.status().values_rejected == 2


def test_too_deep_a_nest_is_rejected_and_the_rest_kept(run: tracker.Run) -> None:
    data: dict[str, Any] = {"x": 1.0}
    for _ in range(100):
        data = {"d": data, "y": 2.0}
    run.log(data, step=0)
    assert run.status().values_rejected == 1
    assert len(tracker.open_run(run.uid).series()) == 32


def test_one_call_may_hold_very_many_keys(patient_run: tracker.Run) -> None:
    run = patient_run
    many = {f"m/{i}": float(i) for i in range(5000)}
    for step in range(3):
        run.log(many, step=step)
    r = tracker.open_run(run.uid)
    assert len(r.series()) == 5000
    assert r.history("m/4999").values.tolist() == [4999.0] * 3
    assert run.status().points_dropped == 0


def test_a_float_method_that_logs_is_safe(run: tracker.Run) -> None:
    class Nosy:
        def __float__(self) -> float:
            run.log({f"inner/{i}": float(i) for i in range(100)}, step=1)
            return 0.5

    run.log({"a": 1.0, "nosy": Nosy(), "b": 2.0} | {f"k{i}": 1.0 for i in range(200)}, step=0)
    r = tracker.open_run(run.uid)
    assert r.history("nosy").values.tolist() == [0.5]
    assert r.history("inner/99").values.tolist() == [99.0]
    assert r.history("k199").steps.tolist() == [0]


def test_a_float_method_that_empties_the_dict_is_safe(run: tracker.Run) -> None:
    data: dict[str, Any] = {}

    class Vandal:
        def __float__(self) -> float:
            data.clear()
            return 0.5

    data.update({"a" * 5: 1.0, "vandal": Vandal()} | {f"k{i}": float(i) for i in range(1000)})
    run.log(data, step=0)
    assert len(tracker.open_run(run.uid).series()) == 1002


def test_a_float_method_that_raises_is_a_bad_value_but_ctrl_c_is_not(run: tracker.Run) -> None:
    class Raises:
        def __init__(self, error: BaseException) -> None:
            self.error = error

        def __float__(self) -> float:
            raise self.error

    run.log({"a": 1.0, "bad": Raises(RuntimeError("boom"))}, step=0)
    assert run.status().values_rejected == 1
    with pytest.raises(KeyboardInterrupt):
        run.log({"a": 1.0, "bad": Raises(KeyboardInterrupt())}, step=1)


# A call finds its keys by the order in which they came last time: no order, and no other object of an equal name, may
# ever give a value to another metric.
@pytest.mark.parametrize("seed", range(4))
def test_whatever_the_order_of_keys_each_value_is_of_its_own_metric(patient_run: tracker.Run, seed: int) -> None:
    import random

    run, rng = patient_run, random.Random(seed)
    names = [f"m/{i}" for i in range(300)]
    expected: dict[str, list[float]] = {name: [] for name in names}
    objects: dict[str, list[str]] = {name: [name, "".join(list(name))] for name in names}
    orders = [rng.sample(names, rng.choice([1, 2, 5, 70, 300])) for _ in range(6)]
    for step in range(300):
        order = rng.choice(orders)
        if rng.random() < 0.2:
            order = rng.sample(order, len(order))
        if rng.random() < 0.1:
            order = order[: rng.randrange(len(order) + 1)]
        data: dict[str, float] = {}
        for name in order:
            key = rng.choice(objects[name]) if rng.random() < 0.9 else f"{name}"
            value = rng.choice([step + int(name[2:]) * 1000, float(step + int(name[2:]) * 1000)])
            data[key] = value
            expected[name].append(float(value))
        run.log(data, step=step)
    run.finish()
    read = tracker.open_run(run.uid)
    for name, values in expected.items():
        if values:
            assert read.history(name).values.astype(float).tolist() == values


# Bug: a reader of such a run searched all names for each name: a minute and more of a listing, and of the training.
def test_names_of_texts_and_of_summary_values_may_be_very_many(patient_run: tracker.Run) -> None:
    for i in range(50_000):
        patient_run.log({f"text/{i}": "a"}, step=i)
    for i in range(50_000):
        patient_run.summary[f"best/{i}"] = i
    patient_run.finish()
    reopened = tracker.open_run(f"{patient_run.project}/{patient_run.id}")
    assert len(reopened.text_names()) == 50_000
    assert len(reopened.summary) == 50_000
    with tracker.init(project=patient_run.project, id=patient_run.id, resume="must", quiet=True) as again:
        assert again.summary["best/49999"] == 49_999


# Its summary was held against all metrics for each of them.
def test_a_run_of_very_many_summaries_is_shown() -> None:
    few, many = cpu_of_show(7_500), cpu_of_show(30_000)
    assert many < 8 * few, "four times as many take less than four times as long; it was eleven times"


def cpu_of_show(metrics: int) -> float:
    with tracker.init(project="test", quiet=True, on_full="block") as run:
        run.define_metric("*", summary=["min", "max"])
        for begin in range(0, metrics, 500):
            run.log({f"m/{i}": 1.0 for i in range(begin, begin + 500)}, step=0)
    begun = os.times()
    done = subprocess.run(
        [sys.executable, "-m", "tracker", "show", run.id], capture_output=True, timeout=300, check=False
    )
    ended = os.times()
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"m/{metrics - 1}".encode()) >= 2
    return ended.children_user - begun.children_user
