# SPDX-License-Identifier: MIT
"""Goal: numbers that say what sound and videos are may be NumPy's, and samples may have any byte order. Method: media
there and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tracker


def back(run: tracker.Run, value: Any) -> tracker.MediaEntry:
    run.log({"value": value}, step=0)
    (entry,) = tracker.open_run(run.uid).media("value")
    return entry


@pytest.mark.parametrize("rate", [np.int64(8000), np.uint16(8000), np.array(8000)])
def test_the_rate_of_samples_may_be_a_number_of_numpy(run: tracker.Run, rate: Any) -> None:
    assert back(run, tracker.Audio(np.zeros(4), sample_rate=rate)).load()[1] == 8000


def test_a_rate_that_is_no_int_is_refused() -> None:
    for rate in (np.float64(8000.0), np.bool_(True), "8000"):
        with pytest.raises(TypeError, match="sample_rate must be an int"):
            tracker.Audio(np.zeros(4), sample_rate=rate)  # type: ignore[arg-type]


@pytest.mark.parametrize("fps", [np.int64(5), np.float32(5), np.array(5.0)])
def test_the_frames_a_second_may_be_a_number_of_numpy(run: tracker.Run, fps: Any) -> None:
    assert back(run, tracker.Video(np.zeros((2, 4, 4, 3)), fps=fps)).info["fps"] == 5.0


@pytest.mark.parametrize("order", ["<i2", ">i2"])
def test_samples_of_either_byte_order_are_the_same_sound(run: tracker.Run, order: str) -> None:
    samples = np.arange(-300, 300).reshape(300, 2)
    found, _ = back(run, tracker.Audio(samples.astype(order), sample_rate=100)).load()
    assert np.array_equal(found, samples)
