# SPDX-License-Identifier: MIT
"""Goal: run.watch() logs what a model's gradients and parameters are, and leaves the model as it was."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
import torch
import tracker


def train(run: tracker.Run, model: torch.nn.Module, passes: int) -> None:
    """Each pass logs its number as the step."""
    for step in range(passes):
        model.zero_grad()
        loss = model(torch.ones(3, 4)).sum()
        loss.backward()
        run.log({"loss": loss}, step=step)


def test_numbers_of_gradients_and_parameters_go_with_the_step_of_their_pass(store: Path) -> None:
    model = torch.nn.Linear(4, 2)
    with tracker.init(project="t", quiet=True, strict=True) as run:
        run.watch(model, log="all", log_freq=2)
        train(run, model, 5)
    stored = tracker.open_run(run.id)
    names = [
        f"{kind}/{name}/{what}"
        for kind in ("gradients", "parameters")
        for name in ("bias", "weight")
        for what in ("max", "mean", "min", "norm", "std")
    ]
    assert stored.series("*/*") == names
    norm = stored.history("gradients/weight/norm")
    assert norm.steps.tolist() == [0, 2, 4]
    assert norm.values[0] == pytest.approx(float(model.weight.grad.detach().norm()))
    assert stored.history("parameters/weight/max").values[0] == pytest.approx(float(model.weight.detach().max()))


def test_a_model_that_runs_twice_before_its_backward_pass_is_watched(store: Path) -> None:
    model = torch.nn.Linear(4, 2)
    with tracker.init(project="t", quiet=True, strict=True) as run:
        run.watch(model, log="all", log_freq=2)
        for step in range(4):
            model.zero_grad()
            loss = model(torch.ones(3, 4)).sum() - model(torch.zeros(3, 4)).sum()
            loss.backward()
            run.log({"loss": loss}, step=step)
    stored = tracker.open_run(run.id)
    assert stored.history("gradients/weight/norm").steps.tolist() == [0, 2]
    assert stored.history("parameters/weight/norm").steps.tolist() == [0, 2]


def test_histograms_count_every_finite_value_between_the_smallest_and_the_largest(store: Path) -> None:
    model = torch.nn.Linear(4, 2)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[0.0, 1.0, 2.0, 4.0], [4.0, float("nan"), float("inf"), 1.0]]))
        model.bias.fill_(3.0)
    with tracker.init(project="t", quiet=True, strict=True) as run:
        run.watch(model, log="parameters", log_freq=1, histograms=True)
        model(torch.ones(3, 4))
        run.log({"loss": 0.5}, step=7)
    stored = tracker.open_run(run.id)
    (entry,) = stored.media("parameters/weight/histogram")
    assert entry.step == 7
    found = entry.load()
    assert found["edges"] == [i / 16 for i in range(65)]
    assert {i: n for i, n in enumerate(found["counts"]) if n} == {0: 1, 16: 2, 32: 1, 63: 2}
    (flat,) = stored.media("parameters/bias/histogram")
    assert flat.load()["counts"] == [2]
    assert stored.series("parameters/bias/norm") == ["parameters/bias/norm"]


# Reaches the limit HISTOGRAM_VALUES_MAX.
def test_a_histogram_of_a_large_tensor_takes_each_nth_value(store: Path) -> None:
    model = torch.nn.ParameterList([torch.nn.Parameter(torch.linspace(0, 1, 1_000_000))])
    with tracker.init(project="t", quiet=True, strict=True) as run:
        run.watch(model, log="parameters", log_freq=1, histograms=True)
        (watched,) = run._watched
        watched._before_forward(model, None)
    (entry,) = tracker.open_run(run.id).media("parameters/0/histogram")
    counts = entry.load()["counts"]
    assert sum(counts) == 250_000
    assert max(counts) - min(counts) <= 1


def test_histograms_of_very_many_parameters_are_of_the_first(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = torch.nn.ParameterList(torch.nn.Parameter(torch.ones(1)) for _ in range(105))
    with tracker.init(project="t", quiet=True, strict=True) as run:
        run.watch(model, log="parameters", log_freq=1, histograms=True)
        (watched,) = run._watched
        watched._before_forward(model, None)
    stored = tracker.open_run(run.id)
    assert len(stored.series("parameters/*/norm")) == 105
    assert sum(bool(stored.media(f"parameters/{i}/histogram")) for i in range(100)) == 100
    assert capfd.readouterr().err.count("histograms of 100 parameters") == 1


def test_unwatch_and_finish_remove_the_hooks(store: Path) -> None:
    model = torch.nn.Linear(4, 2)
    run = tracker.init(project="t", quiet=True, strict=True)
    run.watch(model, log_freq=1)
    run.watch(model, log_freq=1)  # is watched already
    run.unwatch(model)
    train(run, model, 2)
    assert run.flush()
    assert tracker.open_run(run.id).series("gradients/*") == []
    run.watch(model, log_freq=1)
    run.finish()
    assert not model._forward_pre_hooks
    assert not model.weight._backward_hooks


def test_a_watched_model_keeps_no_graph_and_is_not_kept_itself(store: Path) -> None:
    model = torch.nn.Linear(4, 2)
    with tracker.init(project="t", quiet=True, strict=True) as run:
        run.watch(model, log="all", log_freq=1)
        loss = model(torch.ones(3, 4)).sum()
        loss.backward()
        graph, gone = weakref.ref(loss), weakref.ref(model)
        del loss, model
        gc.collect()
        assert graph() is None
        assert gone() is None


# Reaches the limit PARAMETERS_MAX.
def test_of_a_model_of_very_many_parameters_the_first_are_watched(
    store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model = torch.nn.ParameterList(torch.nn.Parameter(torch.ones(1)) for _ in range(1005))
    with tracker.init(project="t", quiet=True, strict=True) as run:
        run.watch(model)
        assert sum(parameter._backward_hooks is not None for parameter in model) == 1000
    assert capfd.readouterr().err.count("more than 1,000 parameters") == 1


def test_what_cannot_be_watched_is_an_error_at_once(store: Path) -> None:
    with tracker.init(project="t", quiet=True) as run:
        with pytest.raises(TypeError, match=r"torch\.nn\.Module"):
            run.watch(3)
        with pytest.raises(ValueError, match="'gradients', 'parameters'"):
            run.watch(torch.nn.Linear(1, 1), log="weights")
        with pytest.raises(ValueError, match="1 or more"):
            run.watch(torch.nn.Linear(1, 1), log_freq=0)
