# SPDX-License-Identifier: MIT
"""Goal: a confusion matrix counts classes by their number, whatever type says it, and refuses the rest at little cost.
Method: the document that the value carries; for the cost, a process of its own with little memory."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tracker

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
    for labels, predictions in (([0], [0, 1]), ([], []), ([3], [0]), ([-1], [0])):
        with pytest.raises(ValueError, match=r"one length|none of"):
            tracker.confusion_matrix(labels, predictions, classes=["a", "b"])


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


def test_numbers_of_numpy_have_their_order_and_the_classes_between_them(run: tracker.Run) -> None:
    data = back(run, tracker.confusion_matrix([np.int64(0), np.int64(2)], [np.int64(0), np.int64(10)]))
    assert data["classes"] == [str(i) for i in range(11)]
    assert data["counts"][2][10] == 1


def test_true_and_false_alone_are_names(run: tracker.Run) -> None:
    data = back(run, tracker.confusion_matrix(np.array([True, False]), [np.bool_(True), np.bool_(True)]))
    assert data == {"classes": ["False", "True"], "counts": [[0, 1], [0, 1]]}


@pytest.mark.parametrize(
    ("labels", "classes", "text"),
    [
        ([0.5, 1.0], None, "ints from 0, or names; got 0.5"),
        (np.array([0.0, np.nan]), None, "ints from 0, or names; got nan"),
        ([0, 1], ["a", "a"], "two classes are called 'a'"),
        ([0, -1], None, "-1 or 0 is none of the 1 classes"),
        ([0, np.uint32(2**32 - 1)], None, "1 to 1000 classes, got 4,294,967,296"),
    ],
)
def test_what_is_no_class_is_refused_with_what_was_expected(labels: Any, classes: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        tracker.confusion_matrix(labels, [0, 0], classes=classes)


def test_one_wrong_label_is_refused_before_memory_is_taken_for_it(script: Script) -> None:
    # A list of as many names as the largest label came first: 100 bytes each, so that an id took all memory there was
    done = script(
        """
        import resource, tracker
        tracker.confusion_matrix([0, 1], [0, 1])
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        try:
            tracker.confusion_matrix([0, 1, 10**9], [0, 1, 1])
        except ValueError as error:
            print(error)
        """
    )
    assert "1 to 1000 classes, got 1,000,000,001" in done.stdout, done.stderr
