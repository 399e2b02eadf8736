# SPDX-License-Identifier: MIT
"""Goal: tensors are logged as the numbers they hold, with their type, and keep no graph alive."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
import torch
import tracker


@pytest.mark.parametrize(
    ("dtype", "read_as"),
    [
        (torch.float64, "float64"),
        (torch.float32, "float32"),
        (torch.float16, "float16"),
        (torch.int64, "int64"),
        (torch.bool, "bool"),
    ],
)
def test_a_scalar_tensor_keeps_its_type_and_value(store: Path, dtype: torch.dtype, read_as: str) -> None:
    with tracker.init(project="t", quiet=True) as run:
        run.log({"x": torch.tensor(1, dtype=dtype), "y": torch.ones(1, dtype=dtype)}, step=3)
    history = tracker.open_run(run.id).history("x")
    assert history.values.dtype == read_as
    assert history.values.tolist() == [1]
    assert tracker.open_run(run.id).history("y").steps.tolist() == [3]


def test_bfloat16_is_read_back_exactly(store: Path) -> None:
    value = torch.tensor(0.1, dtype=torch.bfloat16)
    with tracker.init(project="t", quiet=True) as run:
        run.log({"x": value}, step=0)
    assert float(tracker.open_run(run.id).history("x").values[0]) == value.item()


def test_a_logged_loss_keeps_no_graph_alive(store: Path) -> None:
    weight = torch.ones(4, requires_grad=True)
    with tracker.init(project="t", quiet=True) as run:
        loss = (weight * 2).sum()
        graph = weakref.ref(loss)
        run.log({"loss": loss}, step=0)
        del loss
        gc.collect()
        assert graph() is None


def test_a_tensor_of_many_values_is_rejected_and_the_rest_kept(store: Path) -> None:
    with tracker.init(project="t", quiet=True) as run:
        run.log({"many": torch.ones(3), "one": 1.0}, step=0)
    stored = tracker.open_run(run.id)
    assert stored.series() == ["one"]
