# SPDX-License-Identifier: MIT
"""Goal: the parameters that have histograms are the first of the model, in whatever order their numbers come. Method: a
model that has the names and hooks of one of torch, which need not be installed; what torch does is in tests/torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import tracker
from tracker._recording.watch import HISTOGRAMS_MAX, KINDS, Watched


class Parameter:
    def __init__(self, trained: bool) -> None:
        self.requires_grad = trained

    def register_hook(self, hook: Callable[[Any], None]) -> Any:
        return SimpleNamespace(remove=lambda: None)


class Model:
    def __init__(self, frozen: int, trained: int) -> None:
        self._own = [Parameter(i >= frozen) for i in range(frozen + trained)]

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        return ((str(i), parameter) for i, parameter in enumerate(self._own))

    def register_forward_pre_hook(self, hook: Callable[..., None]) -> Any:
        return SimpleNamespace(remove=lambda: None)


def asked_backwards(run: tracker.Run, model: Model, log: str) -> dict[str, list[int]]:
    """Of each kind the numbers of those that have a histogram, asked for as a backward pass brings them."""
    watched = Watched(run, None, model, KINDS[log], 1, "", True)
    found = {}
    for kind in KINDS[log]:
        names = [name for name, each in model.named_parameters() if kind == "parameters" or each.requires_grad]
        found[kind] = sorted(int(n) for n in reversed(names) if watched._has_histogram(f"{kind}/{n}"))
    return found


def test_histograms_are_of_the_first_parameters_though_gradients_come_backwards(
    run: tracker.Run, capfd: pytest.CaptureFixture[str]
) -> None:
    # Bug: the first that came had them, which were the last 100 of the model
    first = list(range(HISTOGRAMS_MAX))
    assert asked_backwards(run, Model(0, 150), "all") == {"gradients": first, "parameters": first}
    assert capfd.readouterr().err.count("histograms of 100 parameters") == 1


def test_gradients_with_histograms_are_of_the_first_that_are_trained(run: tracker.Run) -> None:
    found = asked_backwards(run, Model(90, 110), "all")
    assert found == {"gradients": list(range(90, 190)), "parameters": list(range(100))}


def test_a_model_of_few_parameters_has_histograms_of_all(run: tracker.Run, capfd: pytest.CaptureFixture[str]) -> None:
    assert asked_backwards(run, Model(0, 3), "gradients") == {"gradients": [0, 1, 2]}
    assert capfd.readouterr().err == ""
