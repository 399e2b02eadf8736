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


@pytest.mark.parametrize(
    ("words", "integers", "dtype"),
    [
        ([0xFFB2 - (1 << 16), 0x7FB9, 0x7FC0], torch.int16, torch.bfloat16),
        ([0x7C01, 0x7E00], torch.int16, torch.float16),
        ([0x7F800001, 0x7FC12345], torch.int32, torch.float32),
        ([0x7FF0000000000001], torch.int64, torch.float64),
    ],
)
def test_a_nan_keeps_all_its_bits(store: Path, words: list[int], integers: torch.dtype, dtype: torch.dtype) -> None:
    with tracker.init(project="t", quiet=True) as run:
        for step, word in enumerate(words):
            tensor = torch.tensor(word, dtype=integers).view(dtype)
            run.log({"none": tensor, "one": tensor.reshape(1), "graph": tensor.clone().requires_grad_()}, step=step)
    low = b"\0\0" if dtype == torch.bfloat16 else b""  # it is read as float32, of which it is the upper half
    expected = b"".join(low + word.to_bytes(dtype.itemsize, "little", signed=True) for word in words)
    for name in ("none", "one", "graph"):
        assert tracker.open_run(run.id).history(name).values.tobytes() == expected, name


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.uint8])
def test_a_tensor_is_an_image_with_its_channels_first(store: Path, dtype: torch.dtype) -> None:
    whole = torch.arange(3 * 4 * 3).reshape(3, 4, 3) % 2  # both ends may be channels
    tensor = (whole * 255 if dtype == torch.uint8 else whole).to(dtype)
    with tracker.init(project="t", quiet=True) as run:
        run.log(
            {"image": tracker.Image(tensor), "graph": tracker.Image(tensor.float().div(255).requires_grad_())}, step=0
        )
        run.log({"turned": tracker.Image(tensor.permute(1, 2, 0), layout="HWC")}, step=0)
        tensor.zero_()  # the call has copied it
    pixels = (whole * 255).permute(1, 2, 0).numpy()
    stored = tracker.open_run(run.id)
    assert (stored.media("image")[0].load() == pixels).all()
    assert (stored.media("turned")[0].load() == pixels).all()
    assert stored.media("graph")[0].load().shape == (4, 3, 3)


def test_an_image_of_torch_with_nan_is_shown_and_one_of_no_shape_of_an_image_is_refused() -> None:
    assert "NaN" in tracker.Image(torch.full((3, 4, 4), float("nan")))._remarks[0]
    assert "shape" in (tracker.Image(torch.zeros(2, 3, 4, 5)).problem or "")
