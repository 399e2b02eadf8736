# SPDX-License-Identifier: MIT
"""Arrays as pixels: which axis is which, and which values are black and full. Every refusal says what was expected."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

# Limit: pixels of an image. Beyond it: counted as rejected.
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


Range = tuple[float, float]
Remark = Callable[[str], None]


def check_normalize(normalize: object) -> None:
    """TypeError: neither None, a bool nor a pair. What the pair holds may come of the data."""
    if normalize is None or isinstance(normalize, bool):
        return
    if isinstance(normalize, (str, bytes)) or not hasattr(normalize, "__len__") or len(normalize) != 2:
        raise TypeError(f"normalize must be None, True, False or (lowest, highest), got {normalize!r}")


def to_bytes(array: Any, what: str, normalize: Any, remark: Remark) -> tuple[Any, Range | None]:
    """uint8, a copy, and which range of values it shows where that is not 0 to 255 of ints and 0 to 1 of floats."""
    np = numpy_for(what)
    if array.dtype == np.bool_:
        return array.astype(np.uint8, order="C") * np.uint8(255), None
    if array.dtype == np.uint8 and not normalize:
        return np.array(array, order="C"), None
    low, high = array.min(), array.max()
    if not (np.isfinite(low) and np.isfinite(high)):
        finite = array[np.isfinite(array)]
        remark(
            f"{array.size - finite.size:,} values are NaN or infinite: NaN and -infinity are black, infinity is full"
        )
        low, high = (finite.min(), finite.max()) if finite.size else (0, 0)
    is_float = array.dtype.kind == "f"
    usual = (0.0, 1.0) if is_float else (0.0, 255.0)
    shown = _range(float(low), float(high), is_float, normalize, what, remark)
    if not is_float and shown == usual:
        return np.ascontiguousarray(np.clip(array, 0, 255).astype(np.uint8)), None
    if shown == usual:
        scaled = np.nan_to_num(np.clip(array, 0, 1).astype(np.float32), copy=False, nan=0.0)
        return np.ascontiguousarray((scaled * np.float32(255) + np.float32(0.5)).astype(np.uint8)), None
    bottom, half = shown[0] / 2, shown[1] / 2 - shown[0] / 2  # halves: the whole width may be beyond any double
    with np.errstate(all="ignore"):
        scaled = (array.astype(np.float64) / 2 - bottom) / half if half > 0 else np.zeros(array.shape)
        scaled = np.nan_to_num(np.clip(scaled, 0, 1), copy=False, nan=0.0)
    return np.ascontiguousarray((scaled * 255 + 0.5).astype(np.uint8)), shown


def _range(low: float, high: float, is_float: bool, normalize: Any, what: str, remark: Remark) -> Range:
    """Which values are black and full."""
    usual = (0.0, 1.0) if is_float else (0.0, 255.0)
    if normalize is True:
        return low, high
    if normalize is not None and normalize is not False:
        ends = float(normalize[0]), float(normalize[1])
        if math.isfinite(ends[0]) and math.isfinite(ends[1]) and ends[0] <= ends[1]:
            return ends
        remark(f"normalize={ends} is no range: it is chosen by the values")
    if low - usual[0] >= -ROUNDING and high - usual[1] <= ROUNDING:
        return usual
    kind = "floats" if is_float else "ints"
    if normalize is False:
        remark(f"{what} of {kind} takes {usual[0]:g} to {usual[1]:g}, got {low:g} to {high:g}: cut off there")
        return usual
    known = ((-1.0, 1.0), (0.0, 255.0)) if is_float else ((-128.0, 127.0), (0.0, 4095.0), (0.0, 65535.0))
    inside = [ends for ends in known if ends[0] - ROUNDING <= low and high <= ends[1] + ROUNDING]
    shown = inside[0] if inside else (min(low, 0.0) if low >= 0 else low, high)
    if shown[0] == shown[1]:
        shown = (shown[0], math.nextafter(shown[1], math.inf))
    remark(f"{what} of {kind} from {low:g} to {high:g} is shown as {shown[0]:g} to {shown[1]:g}; "
           f"normalize=({shown[0]:g}, {shown[1]:g}) says so, another pair or True says otherwise")  # fmt: skip
    return shown


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


def picture(
    data: Any, layout: str | None, what: str, normalize: Any, remark: Remark
) -> tuple[Any, int, int, str, Range | None]:
    """(uint8 of height × width × channels, width, height, mode of Pillow, range as to_bytes() has it)."""
    array = as_array(data, what)
    while array.ndim > 3 and array.shape[0] == 1:  # a batch of one
        array = array[0]
    if array.ndim == 2:
        array = array[:, :, None]
    elif array.ndim == 3:
        array = channels_last(array, layout, is_torch(data), what)
    else:
        hint = "; log a list for several: [tracker.Image(x) for x in batch]" if array.ndim == 4 else ""
        raise ValueError(f"{what} takes 2 or 3 axes, got shape {array.shape}{hint}")
    height, width, channels = array.shape
    check_pixels(width, height, what)
    pixels, shown = to_bytes(array, what, normalize, remark)
    return pixels, width, height, MODES[channels], shown


def check_pixels(width: int, height: int, what: str) -> None:
    if width * height > IMAGE_PIXELS_MAX:
        raise ValueError(f"{what} has {width} × {height} pixels; at most {IMAGE_PIXELS_MAX:,}")
