# SPDX-License-Identifier: MIT
"""What would have worked in the place of a value that log() refuses. Nothing is imported for it, and nothing raises."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

LOOKED_AT = 100  # of a list


def hint(value: Any) -> str:
    """ "; tracker.Table(frame) takes it", or the like; "" where none is known."""
    try:
        found = _hint(value)
    except Exception:  # what a foreign attribute raises
        found = ""
    return f"; {found}" if found else ""


def _hint(value: Any) -> str:
    kind = type(value)
    library = kind.__module__.partition(".")[0]
    if isinstance(value, type):
        return f"this is the class {value.__name__}, not an object of it"
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        return "tracker.Table(frame) takes a DataFrame"
    if hasattr(value, "to_frame") or (hasattr(value, "__arrow_c_stream__") and not hasattr(value, "column_names")):
        return (
            "tracker.Histogram(series) shows how its values lie, tracker.Table(series) keeps each; "
            "float(series.mean()) and the like are numbers"
        )
    if hasattr(value, "__arrow_c_stream__"):
        return "tracker.Table(table) takes it"
    if library == "matplotlib" or (
        library == "numpy"
        and getattr(value.dtype, "kind", "") == "O"
        and value.size
        and _of(value.flat[0]) == "matplotlib"
    ):
        return "tracker.Image(axes.figure), or the figure itself, is drawn"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return _array(value)
    if isinstance(value, complex):
        return "log abs(x), x.real or x.imag"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "tracker.Image, Audio or Video(data) takes the bytes of a file, x.decode() makes a text"
    if hasattr(value, "__fspath__"):
        return (
            "tracker.Image, Audio, Video, Html or Text(path) takes a file, run.log_artifact(path, name=…) keeps any; "
            "str(path) is a text"
        )
    if hasattr(value, "isoformat"):
        return "x.isoformat() is a text" + (", x.timestamp() a number" if hasattr(value, "timestamp") else "")
    if hasattr(value, "total_seconds"):
        return "x.total_seconds() is a number"
    if hasattr(kind, "__dataclass_fields__"):
        return "dataclasses.asdict(x) is a dict, which takes a key each"
    if hasattr(value, "_asdict"):
        return "x._asdict() is a dict, which takes a key each"
    if isinstance(value, (list, tuple)):
        return _list(value)
    if isinstance(value, (set, frozenset)):
        return "log len(x), or a dict with a key each"
    if hasattr(value, "compute") and callable(value.compute):
        return "x.compute() is its value"
    if hasattr(value, "value") and hasattr(value, "name"):
        return "x.value or x.name (of an enum)"
    if hasattr(value, "__next__") or isinstance(value, (range, type({}.keys()), type({}.values()))):
        return "list(x) has its values: tracker.Histogram(list(x)) takes them, a dict with a key each too"
    if isinstance(value, BaseException):
        return "str(x) is a text, run.alert(title, text) reports it"
    if callable(value):
        return "log what it returns: x()"
    if getattr(value, "__dict__", None):
        return "vars(x) is a dict, which takes a key each; str(x) is a text"
    return "str(x) is a text"


def _of(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _array(value: Any) -> str:
    shape, name = tuple(value.shape), str(value.dtype)
    if getattr(value.dtype, "names", None):
        return "tracker.Table(array) takes it"
    if "datetime" in name or "timedelta" in name:
        return "tracker.Table({'time': array}) takes times" if shape else ""
    if "complex" in name:
        return "log abs(x), x.real or x.imag"
    if not all(shape):
        return "it is empty: leave its key out where there is nothing to log"
    if "str" in name or "object" in name or name.startswith(("<U", ">U")):
        return "tracker.Table({'x': array}) takes a column of anything"
    if all(size == 1 for size in shape):
        return "float(x) or x.item() is its number"
    whole = "tracker.Histogram(values) shows how its values lie; x.mean() and the like are numbers"
    if len(shape) == 1:
        return whole + "; a dict with a key each takes them one by one"
    if len(shape) == 2 or (len(shape) == 3 and (shape[-1] <= 4 or shape[0] <= 4)):
        return (
            f"tracker.Image(array) shows it as a picture, tracker.Table(array) as a table; {whole}"
            if len(shape) == 2
            else f"tracker.Image(array) shows it as a picture; {whole}"
        )
    if len(shape) == 4:
        return f"[tracker.Image(x) for x in batch] shows a batch of pictures, tracker.Video(array) frames; {whole}"
    return whole


def _list(value: Sequence[Any]) -> str:
    if not value:
        return "it is empty: leave its key out where there is nothing to log"
    some = list(value[:LOOKED_AT])
    first = some[0]
    if any(type(each).__module__.partition(".")[0] == "tracker" for each in some):
        return "log its media under one key and the rest under others"
    if all(isinstance(each, (bool, int, float)) or getattr(each, "shape", None) == () for each in some):
        if len(value) == 1:
            return "float(x[0]) is its number"
        return (
            "tracker.Histogram(values) shows how they lie, a dict with a key each takes them one by one: "
            "{'acc': {'0': …}}; sum(x) / len(x) is a number"
        )
    if all(isinstance(each, str) for each in some):
        return "tracker.Table({'text': x}) keeps them, ' '.join(x) is a text"
    if isinstance(first, dict):
        return "tracker.Table(rows) takes a list of dicts"
    if isinstance(first, (list, tuple)):
        return "tracker.Table(rows, columns=[…]) takes a list of rows"
    if hasattr(first, "columns") and hasattr(first, "to_dict"):
        return "[tracker.Table(frame) for frame in x] takes DataFrames"
    if hasattr(first, "shape") and len(first.shape) in (2, 3):
        return "[tracker.Image(array) for array in x] shows pictures"
    if len(value) == 1:
        return "log x[0]: " + (_hint(first) or "it is alone")
    return "a dict with a key each takes them one by one, tracker.Table({'x': x}) as a column"
