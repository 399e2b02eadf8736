# SPDX-License-Identifier: MIT
"""Values of images as the original reads them: each becomes one of 0 to 255 by its own rule."""

from __future__ import annotations

from typing import Any

from tracker._numpy import numpy

PADDING = 2  # pixels around each image of a batch


def from_array(data: Any, normalize: bool) -> Any:
    """uint8 (height, width) or (height, width, channels). ValueError for another shape."""
    np = numpy()
    is_tensor = hasattr(data, "detach")
    pixels = np.asarray(data.detach().cpu().float().numpy() if is_tensor else data)
    if is_tensor:
        pixels = _of_tensor(np, pixels, normalize)
    while pixels.ndim > 2 and pixels.shape[0] == 1 and pixels.ndim != 3:
        pixels = pixels[0]
    if pixels.ndim == 3 and pixels.shape[-1] not in (1, 2, 3, 4) and pixels.shape[0] == 1:
        pixels = pixels[0]
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[-1] not in (1, 2, 3, 4)):
        raise ValueError(f"an image is (height, width) or (height, width, 1 to 4 channels), got {tuple(pixels.shape)}")
    return _to_bytes(np, pixels) if pixels.dtype != np.uint8 else pixels


def _of_tensor(np: Any, pixels: Any, normalize: bool) -> Any:
    """(C, H, W) or (N, C, H, W), of which one picture is made. Values are spread over 0 to 1 with `normalize`."""
    if pixels.ndim == 2:
        pixels = pixels[None]
    if normalize and pixels.size and np.isfinite(pixels).all():
        low, high = float(pixels.min()), float(pixels.max())
        pixels = (pixels - low) / max(high - low, 1e-5)
    if pixels.ndim == 4:
        pad = ((0, 0), (PADDING, PADDING), (PADDING, PADDING))
        pixels = np.concatenate([np.pad(image, pad) for image in pixels], axis=2)
    return pixels.transpose(1, 2, 0) if pixels.ndim == 3 else pixels


def _to_bytes(np: Any, pixels: Any) -> Any:
    """Floats up to 1 are parts of 255, negative ones are spread over the whole range first; the rest is cut off."""
    if pixels.dtype.kind == "b":
        return pixels.astype(np.uint8) * 255
    if pixels.dtype.kind == "f":
        pixels = np.nan_to_num(pixels.astype(np.float64))
        low = float(pixels.min()) if pixels.size else 0.0
        if low < 0:
            pixels = (pixels - low) / max(float(pixels.max()) - low, 1e-12)
        if pixels.size and float(pixels.max()) <= 1.0:
            pixels = np.floor(pixels * 255)
    return pixels.clip(0, 255).astype(np.uint8)
