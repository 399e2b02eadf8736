# SPDX-License-Identifier: MIT
"""The binary form in which a server gives rows and charts (docs/formats/http.md, POST series)."""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, Any

from tracker import _core
from tracker._numpy import numpy, pandas

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]

_TYPES = {"f64": "<f8", "u32": "<u4", "i64": "<i8", "u8": "u1"}


class Series:
    """One series of the binary form: what its header says, and its columns by name."""

    def __init__(self, head: dict[str, Any], data: bytes) -> None:
        np = numpy()
        self.head = head
        self.columns: dict[str, npt.NDArray[Any]] = {
            column["name"]: np.frombuffer(data, _TYPES[column["type"]], head["n"], column["offset"])
            for column in head["columns"]
        }


def read_series(data: bytes) -> list[Series]:
    magic, version, size = struct.unpack_from("<4sII", data)
    if magic != b"TSER" or version != 1:
        raise _core.CorruptError("the answer is not of the version of the binary form that this version reads")
    return [Series(head, data) for head in json.loads(data[12 : 12 + size])["series"]]


class RemoteHistory:
    """The rows of one metric on a server, as tracker.History has them: steps, values, times, has_step, attempts,
    ranks."""

    def __init__(self, name: str, parts: list[Series]) -> None:
        np = numpy()
        self.name = name

        def joined(column: str) -> npt.NDArray[Any]:
            out: npt.NDArray[Any] = np.concatenate([part.columns[column] for part in parts])
            return out

        kinds = [kind for kind in ("y_int", "y_bool") if all(kind in part.columns for part in parts)]
        self.steps: Ints = joined("step")
        self.values: npt.NDArray[Any] = joined(kinds[0] if kinds else "y")
        if kinds == ["y_bool"]:
            self.values = self.values.astype(bool)
        self.times: Floats = joined("time_us") / 1e6
        self.has_step: Bools = joined("has_step").astype(bool)
        self.attempts: npt.NDArray[Any] = joined("attempt")
        self.ranks: npt.NDArray[Any] = joined("rank")

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"<tracker.RemoteHistory {self.name!r}: {len(self):,} rows>"

    def to_pandas(self) -> pd.DataFrame:
        """A row a row: step, value, time (seconds since 1970), attempt, rank."""
        columns = {
            "step": self.steps,
            "value": self.values,
            "time": self.times,
            "attempt": self.attempts,
            "rank": self.ranks,
        }
        frame: pd.DataFrame = pandas().DataFrame(columns)
        return frame


def cells_of(series: Series, x: str | None) -> dict[str, Any]:
    """What tracker.Chart takes."""
    np = numpy()
    columns = dict(series.columns)
    is_points = series.head["form"] == "points"
    if is_points:
        y = columns["y"]
        finite = np.isfinite(y)
        own = np.where(finite, y, math.nan)
        columns |= {"x0": columns["x"], "x1": columns["x"], "first": y, "last": y, "min": own, "max": own}
        columns |= {"sum": np.where(finite, y, 0.0), "count": finite, "nan": np.isnan(y)}
        columns |= {"pos_inf": y == math.inf, "neg_inf": y == -math.inf}
    out: dict[str, Any] = {"points": is_points, "rows": series.head["rows"], "left_out": series.head["left_out"]}
    for name in ("first", "last", "min", "max", "sum"):
        out[name] = columns[name]
    for name in ("count", "nan", "pos_inf", "neg_inf"):
        out[name] = columns[name].astype(np.int64)
    base = series.head["x_base"]
    for name in ("x0", "x1"):
        if x in (None, "step"):
            out[name] = columns[name].astype(np.int64) + np.int64(base)
        elif x == "time":
            out[name] = (columns[name].astype(np.int64) + np.int64(base)) / 1e6
        else:
            out[name] = columns[name] + float(base)
    return {**out, "smoothed": None}
