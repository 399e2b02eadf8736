# SPDX-License-Identifier: MIT
"""Goal: no constructor of a medium ends a training because of what a step holds: it is shown, or counted as refused by
its name. Method: values of all kinds, given to each constructor, in a run and in a strict run."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tracker

VALUES: list[Any] = [
    None, 5, 0.5, 1j, "text", "missing.png", b"", b"bytes", [], [[]], [None], {}, {"a": object()}, object(), np.nan,
    np.zeros(0), np.zeros((2, 0)), np.zeros((7, 8, 9)), np.zeros((1, 2, 3, 4, 5)), np.array([["a"]]), np.array([1j]),
    np.array([None, 1], object), np.ma.masked_all((3, 3)), np.array(["2020"], "datetime64[D]"), np.full((2, 2), np.inf),
    datetime.datetime(2020, 1, 1), pd.DataFrame({"a": [1, "x"]}), pd.DataFrame(), pd.Series([], dtype=float),
    (i for i in "ab"),
    "\ud800", [[1], [1, 2]], {1, 2}, range(3), ValueError("x"), Path("missing"), lambda: 1, type,
]  # fmt: skip


def no_dict(value: Any) -> Any:
    """Keys of a box or a mask are the program's: a wrong one is a wrong signature."""
    return None if isinstance(value, dict) else value


MAKERS: dict[str, Callable[[Any], Any]] = {
    "Image": tracker.Image,
    "an image's boxes": lambda value: tracker.Image(
        np.zeros((2, 2)), boxes=[no_dict(value), {"box": value, "label": value}]
    ),
    "an image's masks": lambda value: tracker.Image(np.zeros((2, 2)), masks={"m": no_dict(value)}),
    "a caption": lambda value: tracker.Image(np.zeros((2, 2)), caption=value),
    "Audio": lambda value: tracker.Audio(value, sample_rate=8),
    "Video": tracker.Video,
    "Text": tracker.Text,
    "Markdown": tracker.Markdown,
    "Html": tracker.Html,
    "Plotly": tracker.Plotly,
    "a cell": lambda value: tracker.Table({"x": [value, 1]}),
    "a column": lambda value: tracker.Table({"x": value, "y": [1, 2]}),
    "a row": lambda value: tracker.Table([value, [1, 2]], columns=["a", "b"]),
    "Histogram": lambda value: tracker.Histogram(value if value is not None else []),
    "counts": lambda value: tracker.Histogram(counts=value if value is not None else [], edges=[0, 1]),
    "labels": lambda value: tracker.confusion_matrix(value, [0, 1]),
    "a label": lambda value: tracker.confusion_matrix([value, 1], [0, 1]),
    "names": lambda value: tracker.confusion_matrix([0, 1], [0, 1], [value, "b"]),
    "scores": lambda value: tracker.roc_curve([0, 1], value),
    "labels of a curve": lambda value: tracker.pr_curve([value, 1], [0.5, 0.6]),
}


# Promise P4: No value of a step raises in a constructor of a medium: it is shown, or counted as refused; a strict run
# raises.
@pytest.mark.parametrize("what", MAKERS)
def test_nothing_that_a_step_holds_raises(run: tracker.Run, what: str) -> None:
    refused = 0
    for step, value in enumerate(VALUES):
        medium = MAKERS[what](value)
        refused += medium.problem is not None
        run.log({"medium": medium, "loss": 0.5}, step=step)
    assert run.flush()
    status = run.status()
    assert (status.values_rejected, status.media_stored) == (refused, len(VALUES) - refused)
    assert status.points_stored == len(VALUES)


def test_what_a_step_holds_raises_in_a_strict_run() -> None:
    with tracker.init(quiet=True, strict=True) as run:
        with pytest.raises(ValueError, match=r"'bad': an image takes 2 or 3 axes, got shape \(4,\)"):
            run.log({"bad": tracker.Image(np.zeros(4))})
        with pytest.raises(FileNotFoundError, match=r"missing\.png"):
            run.log({"bad": [tracker.Image("missing.png")]})


def test_a_refused_medium_is_named_and_the_others_of_its_list_are_kept(
    run: tracker.Run, capfd: pytest.CaptureFixture[str]
) -> None:
    run.log({"many": [tracker.Image(np.zeros((2, 2))), tracker.Image(np.zeros(4))]}, step=0)
    assert "'many' is not logged: an image takes 2 or 3 axes, got shape (4,)" in capfd.readouterr().err
    assert run.status().values_rejected == 1
    assert len(tracker.open_run(run.uid).media("many")) == 1


def test_a_wrong_signature_raises_at_once() -> None:
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: tracker.Image(np.zeros((2, 2)), colour="red"), "colour"),  # type: ignore[call-arg]
        (lambda: tracker.Image(), "data"),  # type: ignore[call-arg]
        (lambda: tracker.Image(np.zeros((2, 2)), masks=[1]), "masks must be a dict"),  # type: ignore[arg-type]
        (lambda: tracker.Table("rows"), "got str"),
        (lambda: tracker.confusion_matrix([0], [0], classes="ab"), "classes is a list"),
    ]
    for call, text in calls:
        with pytest.raises(TypeError, match=text):
            call()


def test_a_small_medium_can_be_copied_and_a_problem_with_it() -> None:
    table = copy.deepcopy(tracker.Table({"a": [1]}))
    assert table.problem is None
    assert copy.copy(tracker.Image(np.zeros(4))).problem == "an image takes 2 or 3 axes, got shape (4,)"
