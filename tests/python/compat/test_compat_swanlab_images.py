# SPDX-License-Identifier: MIT
"""Goal: images that a script gives to SwanLab are in the store, with the pixels that SwanLab shows.

Method: each kind of value that swanlab.Image takes; the media are read with tracker.open_run().
"""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracker
from PIL import Image as Pillow
from tracker.compat import swanlab


def only_run() -> tracker.StoredRun:
    (run,) = tracker.runs()
    return run


def size_of(entry: Any) -> tuple[int, int]:
    return entry.info["width"], entry.info["height"]


def test_images_of_every_kind_are_logged(tmp_path: Path) -> None:
    pixels = np.zeros((4, 6, 3), np.uint8)
    pyplot = types.SimpleNamespace(savefig=lambda file, format: file.write(png))
    swanlab.init()
    image = swanlab.Image(pixels, caption="c", file_type="jpg")
    Pillow.fromarray(pixels).save(tmp_path / "a.png")
    png = (tmp_path / "a.png").read_bytes()
    kinds = {
        "array": image,
        "floats": swanlab.Image(np.full((4, 6), 200.0)),
        "path": swanlab.Image(str(tmp_path / "a.png"), caption="p"),
        "pillow": swanlab.Image(Pillow.fromarray(pixels), mode="L"),
        "pyplot": swanlab.Image(pyplot),
        "again": swanlab.Image(image),
        "small": swanlab.Image(pixels, size=3),
        "exact": swanlab.Image(pixels, size=(12, None)),
        "list": [swanlab.Image(pixels), swanlab.Image(pixels)],
    }
    swanlab.log(kinds, step=1)
    swanlab.log_image(key="call", data=[pixels, pixels], caption=["a", "b"], step=1)
    swanlab.finish()
    stored = only_run()
    found = {name: stored.media(name) for name in stored.media_names()}
    assert {name: len(entries) for name, entries in found.items()} == {
        **dict.fromkeys(kinds, 1), "list": 2, "call": 2,
    }  # fmt: skip
    assert [entry.caption for entry in found["call"]] == ["a", "b"]
    assert size_of(found["small"][0]) == (3, 2)
    assert size_of(found["exact"][0]) == (12, 8)
    assert found["floats"][0].load().tolist()[0][0] == 200
    with pytest.raises(ValueError, match="file_type must be one of"):
        swanlab.Image(pixels, file_type="gif")


class Tensor:
    """What swanlab.Image asks of a tensor of PyTorch."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def detach(self) -> Tensor:
        return self

    cpu = detach

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array


def test_a_tensor_is_spread_over_all_values_and_a_batch_is_one_image() -> None:
    swanlab.init()
    swanlab.log({"one": swanlab.Image(Tensor(np.array([[[-1.0, 1.0]]]))),
                 "batch": swanlab.Image(Tensor(np.zeros((9, 3, 4, 5))))}, step=0)  # fmt: skip
    swanlab.finish()
    (one,), (batch,) = (only_run().media(name) for name in ("one", "batch"))
    assert np.squeeze(one.load()).tolist() == [0, 255]
    assert size_of(batch) == (8 * 7 + 2, 2 * 6 + 2)
    with pytest.raises(ValueError, match="2 to 4 dimensions"):
        swanlab.Image(Tensor(np.zeros(3)))
