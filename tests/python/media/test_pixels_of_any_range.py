# SPDX-License-Identifier: MIT
"""Goal: an array that is a picture becomes one whatever range its values have, and says which range it took.
Method: arrays of the ranges that people have, there and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import PIL.Image
import pytest
import tracker

RAMP = np.linspace(0, 1, 12).reshape(3, 4)
LEVELS = np.floor(RAMP * 255 + 0.5)


def back(run: tracker.Run, value: Any) -> tracker.MediaEntry:
    run.log({"value": value}, step=0)
    (entry,) = tracker.open_run(run.uid).media("value")
    return entry


RANGES: dict[str, tuple[Any, list[float]]] = {
    "-1 to 1": (RAMP * 2 - 1, [-1, 1]),
    "-1 to 1 of float16": ((RAMP * 2 - 1).astype(np.float16), [-1, 1]),
    "0 to 255 as floats": (RAMP * 255, [0, 255]),
    "12 bits": (np.round(RAMP * 4095).astype(np.uint16), [0, 4095]),
    "16 bits": (np.round(RAMP * 65535).astype(np.uint16), [0, 65535]),
    "int8": (np.round(RAMP * 255 - 128).astype(np.int8), [-128, 127]),
    "beyond any": (RAMP * 7e300 - 5e300, [-5e300, 2e300]),
    "int64": (np.round(RAMP * 1e15).astype(np.int64) - 10**14, [-1e14, 9e14]),
}


@pytest.mark.parametrize("what", RANGES)
def test_an_array_of_any_range_is_an_image(run: tracker.Run, what: str) -> None:
    array, shown = RANGES[what]
    entry = back(run, tracker.Image(array))
    assert entry.info["range"] == pytest.approx(shown)
    assert np.abs(entry.load() - LEVELS).max() <= 1


def test_a_range_that_was_chosen_is_said_once_and_counted(run: tracker.Run, capfd: pytest.CaptureFixture[str]) -> None:
    for step in range(3):
        run.log({"value": tracker.Image(RAMP * 255), "other": tracker.Image(RAMP)}, step=step)
    said = capfd.readouterr().err
    assert said.count("'value': an image of floats from 0 to 255 is shown as 0 to 255; normalize=(0, 255) says so") == 1
    assert "'other'" not in said
    assert run.status().media_plainer == 3
    assert "3 in a plainer form" in str(run.status())


@pytest.mark.parametrize(
    ("array", "normalize", "levels"),
    [
        ([[0.25, 0.75]], True, [0, 255]),
        ([[10, 20, 30]], True, [0, 128, 255]),
        ([[0.5, 0.5]], True, [0, 0]),
        ([[-1.0, 0.0, 1.0]], (-1, 1), [0, 128, 255]),
        ([[0, 2000, 9000]], (0, 4000), [0, 128, 255]),
        ([[0.5, 7.0, -3.0]], False, [128, 255, 0]),
        ([[5, 256, -1]], False, [5, 255, 0]),
        ([[True, False]], True, [255, 0]),
    ],
)
def test_normalize_says_which_values_are_black_and_full(
    run: tracker.Run, array: Any, normalize: Any, levels: list[int]
) -> None:
    assert back(run, tracker.Image(array, normalize=normalize)).load().tolist() == [levels]


def test_normalize_takes_an_image_of_pillow_and_frames_too(run: tracker.Run) -> None:
    dark = np.array([[10, 20, 30]], np.uint8)
    assert back(run, tracker.Image(PIL.Image.fromarray(dark), normalize=True)).load().tolist() == [[0, 128, 255]]
    frames = np.zeros((2, 8, 8, 1)) - 1
    frames[1] = 1
    assert back(run, tracker.Video(frames)).info["range"] == [-1, 1]


def test_nan_is_black_and_infinity_is_full(run: tracker.Run) -> None:
    image = tracker.Image(np.array([[0.5, np.nan, np.inf, -np.inf]]))
    assert back(run, image).load().tolist() == [[128, 0, 255, 0]]
    assert "3 values are NaN or infinite" in image._remarks[0]
    assert back(run, tracker.Image(np.full((1, 2), np.nan))).load().tolist() == [[0, 0]]


@pytest.mark.parametrize("normalize", [(np.nan, 1), (1, 0), (0, np.inf)])
def test_a_range_of_the_data_that_is_none_does_not_raise(run: tracker.Run, normalize: Any) -> None:
    assert back(run, tracker.Image(RAMP, normalize=normalize)).load().max() == 255


def test_a_batch_of_one_is_its_picture(run: tracker.Run) -> None:
    assert back(run, tracker.Image(np.zeros((1, 1, 5, 6)))).load().shape == (5, 6)


def test_sound_of_any_range_is_heard(run: tracker.Run) -> None:
    for samples in (
        np.array([0, 2**30], np.int32),
        np.array([128, 192], np.uint8),
        np.array([0.0, 1.0, 2.0])[:2] * 0.5,
    ):
        assert abs(int(back(run, tracker.Audio(samples, sample_rate=8)).load()[0][1]) - 16384) <= 2
    loud = tracker.Audio(np.array([4.0, -2.0, np.nan]), sample_rate=8)
    assert back(run, loud).load()[0].tolist() == [32767, -16384, 0]
    assert len(loud._remarks) == 2
