# SPDX-License-Identifier: MIT
"""Arrays as pixels: which axis is which, and which values are allowed. Every refusal says what was expected."""

from __future__ import annotations

import sys
from typing import Any

IMAGE_PIXELS_MAX = 64 * 1024 * 1024
CHANNELS = (1, 2, 3, 4)
ROUNDING = 1e-3  # floats so far beyond 0 and 1 are taken for these
NPY_HEAD_BYTES = 128
MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def numpy_for(what: str) -> Any:
    try:
        import numpy
    except ImportError as error:
        raise ImportError(f"NumPy is needed for {what}: pip install numpy") from error
    return numpy


def npy_head(shape: tuple[int, ...], mode: str) -> bytes:
    """What is before the bytes of such pixels in a .npy file, version 1."""
    axes = shape if mode == "L" else (*shape, len(mode))
    text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {axes}, }}"
    text = text.ljust(NPY_HEAD_BYTES - 11) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def plain_number(value: Any) -> Any:
    """A number of NumPy, torch or JAX as Python has it; anything else as it is."""
    return value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value


def is_torch(data: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(data, torch.Tensor)


def as_array(data: Any, what: str) -> Any:
    """NumPy's view of it; a tensor of a device is copied to the host, which waits for the device."""
    np = numpy_for(what)
    if is_torch(data):
        data = data.detach()
        data = (data.float() if str(data.dtype) == "torch.bfloat16" else data).cpu().numpy()
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        raise ValueError(f"{what} has masked values, which have no colour or sound: say them, as array.filled(0) does")
    try:
        array = np.asarray(data)
    except Exception as error:
        raise TypeError(f"{what}: {type(data).__name__} is no array: {error}") from None
    if array.dtype.kind not in "buif":
        raise TypeError(f"{what} takes bool, int or float values, got {array.dtype}")
    if array.size == 0:
        raise ValueError(f"{what} has no values: shape {array.shape}")
    return array


def to_bytes(array: Any, what: str) -> Any:
    """uint8, a copy: bool as 0 and 255, ints 0..255 as they are, floats 0..1 times 255."""
    np = numpy_for(what)
    if array.dtype == np.bool_:
        return array.astype(np.uint8, order="C") * np.uint8(255)
    if array.dtype == np.uint8:
        return np.array(array, order="C")
    low, high = array.min(), array.max()
    if array.dtype.kind in "ui":
        if low < 0 or high > 255:
            raise ValueError(f"{what} of ints takes 0 to 255, got {low} to {high}")
        return np.ascontiguousarray(array.astype(np.uint8))
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"{what} holds NaN or infinite values")
    if low < -ROUNDING or high > 1 + ROUNDING:
        raise ValueError(f"{what} of floats takes 0 to 1, got {low:g} to {high:g}; ints take 0 to 255")
    scaled = np.clip(array, 0, 1).astype(np.float32) * np.float32(255) + np.float32(0.5)
    return np.ascontiguousarray(scaled.astype(np.uint8))


def channels_last(array: Any, layout: str | None, prefer_first: bool, what: str) -> Any:
    """(…, height, width, channels) of an array whose last three axes hold a picture."""
    first = array.shape[-3] in CHANNELS and (layout in (None, "CHW"))
    last = array.shape[-1] in CHANNELS and (layout in (None, "HWC"))
    if not first and not last:
        raise ValueError(f"{what}: no axis of 1 to 4 channels in shape {array.shape}; expected (height, width), "
                         "(height, width, channels) or (channels, height, width)")  # fmt: skip
    if first and (prefer_first or not last):
        np = numpy_for(what)
        return np.moveaxis(array, -3, -1)
    return array


def check_layout(layout: str | None) -> None:
    if layout not in (None, "HWC", "CHW"):
        raise ValueError(f'layout must be "HWC", "CHW" or None, got {layout!r}')


def picture(data: Any, layout: str | None, what: str) -> tuple[Any, int, int, str]:
    """(uint8 of height × width × channels, width, height, mode of Pillow)."""
    check_layout(layout)
    array = as_array(data, what)
    if array.ndim == 2:
        array = array[:, :, None]
    elif array.ndim == 3:
        array = channels_last(array, layout, is_torch(data), what)
    else:
        hint = "; log a list for several" if array.ndim == 4 else ""
        raise ValueError(f"{what} takes 2 or 3 axes, got shape {array.shape}{hint}")
    height, width, channels = array.shape
    check_pixels(width, height, what)
    return to_bytes(array, what), width, height, MODES[channels]


def check_pixels(width: int, height: int, what: str) -> None:
    if width * height > IMAGE_PIXELS_MAX:
        raise ValueError(f"{what} has {width} × {height} pixels; at most {IMAGE_PIXELS_MAX:,}")
