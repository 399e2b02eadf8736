# SPDX-License-Identifier: MIT
"""Goal: a confusion matrix counts labels, whatever type says them, and takes none for a position, at little cost.
Method: the document that the value carries; for the cost, a process of its own with little memory."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tracker
from tracker._media.medium import sound

Script = Callable[..., "subprocess.CompletedProcess[str]"]


CAT_DOG = {"classes": ["cat", "dog"], "counts": [[1, 0], [1, 1]]}


def back(run: tracker.Run, value: Any) -> Any:
    run.log({"value": value}, step=0)
    (entry,) = tracker.open_run(run.uid).media("value")
    return entry.load()


def test_a_confusion_matrix_counts_pairs(run: tracker.Run) -> None:
    data = back(run, tracker.confusion_matrix([0, 1, 1, 2], np.array([0, 1, 2, 2]), classes=["a", "b", "c"]))
    assert data == {"classes": ["a", "b", "c"], "counts": [[1, 0, 0], [0, 1, 1], [0, 0, 1]]}
    run.log({"names": tracker.confusion_matrix(["x", "y"], ["y", "y"])}, step=0)
    named = tracker.open_run(run.uid).media("names")[0].load()
    assert named == {"classes": ["x", "y"], "counts": [[0, 1], [0, 1]]}
    for labels, predictions in (([0], [0, 1]), ([], [])):
        with pytest.raises(ValueError, match="one length"):
            sound(tracker.confusion_matrix(labels, predictions, classes=["a", "b"]))


class Item:
    """As an element of a list of tensors: a number on another device."""

    shape = ()
    ndim = 0

    def __init__(self, value: int) -> None:
        self._value = value

    def item(self) -> int:
        return self._value


@pytest.mark.parametrize(
    "of",
    [
        list,
        np.array,
        lambda values: np.array(values, np.float32),
        lambda values: np.array(values, np.uint8),
        lambda values: [np.int64(each) for each in values],
        lambda values: [np.float64(each) for each in values],
        lambda values: [np.array(each) for each in values],
        lambda values: [Item(each) for each in values],
        lambda values: np.array(values, bool),
    ],
)
def test_class_numbers_of_any_type_are_the_same_classes(run: tracker.Run, of: Any) -> None:
    labels, predictions = [0, 1, 1], [0, 0, 1]
    assert back(run, tracker.confusion_matrix(of(labels), predictions, classes=["cat", "dog"])) == CAT_DOG
    run.log({"other": tracker.confusion_matrix(labels, of(predictions))}, step=0)
    assert tracker.open_run(run.uid).media("other")[0].load()["counts"] == CAT_DOG["counts"]


def test_numbers_of_numpy_have_their_order(run: tracker.Run) -> None:
    data = back(run, tracker.confusion_matrix([np.int64(2), np.int64(0)], [np.int64(10), np.int64(0)]))
    assert data == {"classes": ["0", "2", "10"], "counts": [[1, 0, 0], [0, 0, 1], [0, 0, 0]]}


def test_true_and_false_alone_are_names(run: tracker.Run) -> None:
    data = back(run, tracker.confusion_matrix(np.array([True, False]), [np.bool_(True), np.bool_(True)]))
    assert data == {"classes": ["False", "True"], "counts": [[0, 1], [0, 1]]}


@pytest.mark.parametrize(
    ("labels", "predictions", "classes", "found", "diagonal"),
    [
        ([1, 2, 10], [1, 1, 10], None, ["1", "2", "10"], [1, 0, 1]),
        ([100_000, 5], [5, 5], None, ["5", "100000"], [1, 0]),
        ([-1, 1], [-1, 1], None, ["-1", "1"], [1, 1]),
        (["b", "a"], ["b", "b"], None, ["a", "b"], [0, 1]),
        ([0.5, 1.0], [0.5, 1.0], None, ["0.5", "1"], [1, 1]),
        (["x", 1], ["x", 1], None, ["1", "x"], [1, 1]),
        ([1, 2], [2, 2], [1, 2], ["1", "2"], [0, 1]),
        ([1, 2], [2, 2], [2, 1, 3], ["2", "1", "3"], [1, 0, 0]),
        ([0, 1], [0, 1], ["cat", "dog"], ["cat", "dog"], [1, 1]),
        ([90, 1], [90, 90], {1: "cat", 90: "dog"}, ["cat", "dog"], [0, 1]),
        ([0, 7], [0, 7], ["cat"], ["cat", "7"], [1, 1]),
        (["b", "a"], ["b", "a"], ["b", "a"], ["b", "a"], [1, 1]),
        ([True, False], [True, True], ["bad", "good"], ["bad", "good"], [0, 1]),
        ([[1, 2], [2, 2]], [[1, 2], [2, 1]], None, ["1", "2"], [1, 2]),
    ],
)
def test_labels_are_labels_and_no_positions(
    run: tracker.Run, labels: Any, predictions: Any, classes: Any, found: list[str], diagonal: list[int]
) -> None:
    data = back(run, tracker.confusion_matrix(labels, predictions, classes))
    assert data["classes"] == found
    assert [data["counts"][i][i] for i in range(len(found))] == diagonal


def test_the_label_that_means_no_class_is_left_out(run: tracker.Run) -> None:
    labels, predictions = [-100, 0, 1, 255], [0, 0, -100, 255]
    value = tracker.confusion_matrix(labels, predictions)
    run.log({"a": value, "b": tracker.confusion_matrix(labels, predictions, ignore=[-100, 255])}, step=0)
    run.log({"c": tracker.confusion_matrix(labels, predictions, ignore=None)}, step=0)
    entries = {name: tracker.open_run(run.uid).media(name)[0] for name in "abc"}
    assert [entries[name].load()["classes"] for name in "abc"] == [["0", "255"], ["0"], ["-100", "0", "1", "255"]]
    assert [entries[name].info.get("ignored") for name in "abc"] == [2, 3, None]


def test_a_label_without_a_name_is_said_once(run: tracker.Run, capfd: pytest.CaptureFixture[str]) -> None:
    for step in range(3):
        run.log({"m": tracker.confusion_matrix([0, 7], [0, 7], classes=["cat"])}, step=step)
    assert capfd.readouterr().err.count("labels that are none of the classes come after them: 7") == 1
    assert run.status().media_plainer == 3


@pytest.mark.parametrize(
    ("labels", "classes", "text"),
    [
        ([0, 1], ["a", "a"], "two classes are called 'a'"),
        ([-100, -100], None, "all 2 labels are ignored"),
        (5, None, "labels are a list or an array, got int"),
    ],
)
def test_what_is_no_matrix_is_counted_as_refused(
    run: tracker.Run, capfd: pytest.CaptureFixture[str], labels: Any, classes: Any, text: str
) -> None:
    run.log({"m": tracker.confusion_matrix(labels, [0, 0], classes=classes), "loss": 0.5}, step=0)
    assert f"'m' is not logged: {text}" in capfd.readouterr().err
    assert run.status().values_rejected == 1


def test_an_id_is_no_list_of_as_many_names(script: Script) -> None:
    # Bug: a list of as many names as the largest label, 100 bytes each, so that an id took all memory there was
    done = script(
        """
        import resource, tracker
        tracker.confusion_matrix([0, 1], [0, 1])
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        print(tracker.confusion_matrix([0, 1, 10**9], [0, 1, 1]).problem)
        """
    )
    assert done.stdout == "None\n", done.stderr
