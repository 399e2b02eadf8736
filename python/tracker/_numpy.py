# SPDX-License-Identifier: MIT
"""What is imported only when it is used."""

from __future__ import annotations

from typing import Any


def numpy() -> Any:
    try:
        import numpy
    except ImportError as error:
        raise ImportError("NumPy is needed to read a history: pip install numpy") from error
    return numpy


def pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("pandas is needed for to_pandas(): pip install pandas") from error
    return pandas


def values(column: Any, kind: str) -> Any:
    """The values with the dtype logged; bfloat16 as ml_dtypes has it, else widened to float32 (exactly)."""
    np = numpy()
    array = np.asarray(column)
    if kind != "bfloat16":
        return array
    try:
        import ml_dtypes
    except ImportError:
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array.view(ml_dtypes.bfloat16)


def plain(array: Any) -> Any:
    """As NumPy itself has it: bfloat16 as float32."""
    return array.astype("float32") if array.dtype.kind == "V" or array.dtype.name == "bfloat16" else array


def timestamps(times_us: Any) -> Any:
    """A pandas index of times in UTC, exact to the µs."""
    return pandas().DatetimeIndex(numpy().asarray(times_us).view("datetime64[us]")).tz_localize("UTC")
