# SPDX-License-Identifier: MIT
"""Goal: images of Pillow whose pixels are wider than a byte are taken by their values, as arrays are.
Method: ramps of each such mode, there and back."""

from __future__ import annotations

import numpy as np
import PIL.Image
import pytest
import tracker


# Bug: Pillow's conversion cuts values off at 0 and 255: a ramp of 16 bits was white, one of floats black.
def test_an_image_of_pillow_with_wide_pixels_is_taken_as_an_array_of_its_values(run: tracker.Run) -> None:
    floats, ints = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4), np.arange(12, dtype=np.int32).reshape(3, 4)
    images = [PIL.Image.fromarray(floats), PIL.Image.fromarray(ints), PIL.Image.fromarray(ints.astype(np.uint16))]
    assert [image.mode for image in images] == ["F", "I", "I;16"]
    run.log({"alone": images[0]}, step=0)
    run.log({"wrapped": [tracker.Image(image) for image in images]}, step=0)
    stored = tracker.open_run(run.uid)
    for entry, expected in zip(stored.media("wrapped"), [np.round(floats * 255), ints, ints], strict=True):
        assert np.array_equal(entry.load(), expected)
    assert np.array_equal(stored.media("alone")[0].load(), np.round(floats * 255))


def test_a_list_of_images_of_pillow_is_a_list_of_media(run: tracker.Run, capfd: pytest.CaptureFixture[str]) -> None:
    images = [PIL.Image.fromarray(np.full((2, 3), i, np.uint8)) for i in range(3)]
    run.log({"plain": images[:2], "mixed": (tracker.Image(images[0]), images[1])}, step=0)
    wide = PIL.Image.fromarray(np.full((2, 3), 70_000, np.int32))
    run.log({"some": [images[2], PIL.Image.new("L", (0, 3)), 5], "wide": [wide]}, step=0)
    stored = tracker.open_run(run.uid)
    assert [entry.load()[0, 0] for entry in stored.media("plain")] == [0, 1]
    assert [entry.load()[0, 0] for entry in stored.media("mixed")] == [0, 1]
    assert [entry.load()[0, 0] for entry in stored.media("some")] == [2]
    assert stored.media("wide")[0].load().min() == 255
    assert run.status().values_rejected == 2
    said = capfd.readouterr().err
    assert "'some' is not logged: a list of media holds a int" in said
    assert "'wide': an image of mode I of ints from 70000 to 70000 is shown as 0 to 70000" in said
