# SPDX-License-Identifier: MIT
"""Images of a tensor in one picture, as SwanLab shows a batch."""

from __future__ import annotations

from typing import Any

from tracker._media.image_array import as_array, numpy_for

COLUMNS_MAX = 8
PADDING = 2  # pixels around each image of a batch


def grid(tensor: Any) -> Any:
    """A tensor (H, W), (C, H, W) or (N, C, H, W) as an array of uint8 (H, W, C). Values are spread over 0 to 255.

    ValueError for another shape.
    """
    np = numpy_for("a batch of images")
    pixels = as_array(tensor, "an image").astype("float64")
    if pixels.ndim not in (2, 3, 4):
        raise ValueError(f"an image tensor has 2 to 4 dimensions, got the shape {tuple(pixels.shape)}")
    low, high = float(pixels.min()), float(pixels.max())
    pixels = ((pixels - low) / max(high - low, 1e-5) * 255).astype("uint8")
    if pixels.ndim == 2:
        return pixels[:, :, None]
    if pixels.ndim == 3:
        return pixels.transpose(1, 2, 0)
    count, channels, height, width = pixels.shape
    columns = min(count, COLUMNS_MAX)
    rows = -(-count // columns)
    cell_height, cell_width = height + PADDING, width + PADDING
    out = np.zeros((rows * cell_height + PADDING, columns * cell_width + PADDING, channels), "uint8")
    for index in range(count):
        top, left = index // columns * cell_height + PADDING, index % columns * cell_width + PADDING
        out[top : top + height, left : left + width] = pixels[index].transpose(1, 2, 0)
    return out
