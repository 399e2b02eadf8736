# SPDX-License-Identifier: MIT
"""Histograms, curves and confusion matrices: numbers in their event, or in a JSON file where they are many."""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tracker import _core
from tracker._image_array import as_array, numpy_for, plain_number
from tracker._media import INLINE_BYTES_MAX, Media, caption_of, short_text

if TYPE_CHECKING:
    from tracker._media_queue import Files

HISTOGRAM_BINS_MAX = 2048
# Of a confusion matrix, and curves of one
CLASSES_MAX = 1000
# Of all curves of one value
CURVE_POINTS_MAX = 1_000_000
# Of a point as JSON: "0.0," three times. What has more than a text may have within an event is a file
CURVE_POINT_BYTES_MIN = 12
LABEL_CHARS_MAX = 256


class Structured(Media):
    """Numbers under names."""

    __slots__ = ()

    def _set_data(self, kind: str, data: dict[str, Any], said: dict[str, Any]) -> None:
        """`data` holds lists of int, float and str, no NaN."""
        text = _json(data)
        if len(text) <= INLINE_BYTES_MAX:
            self._set_small({"kind": kind, "data": data, **said})
        else:
            self._set_large(JsonEncoder(kind, said), text.encode())


def _json(data: object) -> str:
    return json.dumps(data, allow_nan=False, separators=(",", ":"))


class JsonEncoder:
    document = "json"

    def __init__(self, kind: str, said: dict[str, Any]) -> None:
        self._kind, self._said = kind, said

    def __call__(self, parts: Sequence[memoryview], files: Files) -> dict[str, Any]:
        return {"kind": self._kind, **files.add_document(parts[0], self.document), **self._said}


class Histogram(Structured):
    """How often values fall into bins: of values, or of counts and edges that are known.

    values: numbers of any shape; bins: how many between the smallest and the largest finite one. NaN and infinities are
    counted beside the bins. Or counts= and edges=, one edge more than counts, rising. The bins are exact.
    TypeError and ValueError say what was expected, ImportError without NumPy where values are given.
    """

    __slots__ = ()
    kind = "histogram"

    def __init__(
        self, values: Any = None, bins: int = 64, *, counts: Any = None, edges: Any = None, caption: str | None = None
    ) -> None:
        said: dict[str, Any] = dict(caption_of(caption))
        if (values is None) == (counts is None) or (counts is None) != (edges is None):
            raise ValueError("a histogram is made of values, or of counts= and edges=")
        if counts is not None:
            self._set_data("histogram", _known_bins(list(counts), list(edges)), said)
            return
        if isinstance(bins, bool) or not isinstance(bins, int) or not 1 <= bins <= HISTOGRAM_BINS_MAX:
            raise ValueError(f"bins must be 1 to {HISTOGRAM_BINS_MAX}, got {bins!r}")
        np = numpy_for("a histogram of values")
        array = as_array(values, "a histogram").ravel()
        if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
            array = array.astype(np.float64)
        finite, low, high, total, nan, pos_inf, neg_inf = _core.summarize_values(array)
        data: dict[str, Any] = {"counts": [], "edges": []}
        if finite:
            borders = _borders(np, low, high, bins).tolist()
            data = {"counts": _core.count_in_bins(array, borders), "edges": borders, "min": low, "max": high}
            data |= {"sum": total} if math.isfinite(total) else {}
        data |= {"nan": nan, "pos_inf": pos_inf, "neg_inf": neg_inf}
        self._set_data("histogram", data, said)


def _borders(np: Any, low: float, high: float, bins: int) -> Any:
    if not math.isfinite(high - low):  # the width is beyond float64: halves are not
        return np.linspace(low / 2, high / 2, bins + 1) * 2
    borders = np.linspace(low, high, bins + 1)
    if (np.diff(borders) > 0).all():
        return borders
    # Too narrow for so many bins: one; around a single value 0.5 wide to each side, as NumPy has it, and around a large
    # one, which 0.5 does not change, a part of it, as run.watch() has it
    if low < high:
        return np.array([low, high])
    half = 0.5 if low - 0.5 < low < low + 0.5 else abs(low) * 1e-6
    return np.clip([low - half, high + half], -sys.float_info.max, sys.float_info.max)


def _known_bins(counts: list[Any], edges: list[Any]) -> dict[str, Any]:
    if not 1 <= len(counts) <= HISTOGRAM_BINS_MAX or len(edges) != len(counts) + 1:
        raise ValueError(f"a histogram has 1 to {HISTOGRAM_BINS_MAX} counts and one edge more, got {len(counts)} and "
                         f"{len(edges)}")  # fmt: skip
    numbers = [_count(count) for count in counts]
    borders = [float(edge) for edge in edges]
    if not all(map(math.isfinite, borders)) or any(a >= b for a, b in itertools.pairwise(borders)):
        raise ValueError("the edges of a histogram must be finite and rise")
    return {"counts": numbers, "edges": borders}


def _count(value: Any) -> int | float:
    number = float(value)
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"a count of a histogram must be 0 or more, got {value!r}")
    return int(number) if number.is_integer() else number


class Curves(Structured):
    """Curves of precision and recall or of a ROC: made by pr_curve() and roc_curve()."""

    __slots__ = ()

    def __init__(self, kind: str, curves: list[dict[str, Any]], caption: str | None) -> None:
        points = sum(len(curve["x"]) for curve in curves)
        if points > CURVE_POINTS_MAX:
            raise ValueError(f"curves of {points:,} points; at most {CURVE_POINTS_MAX:,}")
        said: dict[str, Any] = dict(caption_of(caption))
        if points * CURVE_POINT_BYTES_MIN > INLINE_BYTES_MAX:
            self._set_large(JsonEncoder(kind, said), f'{{"curves":[{",".join(map(_curve_json, curves))}]}}'.encode())
            return
        listed = [{**curve, "x": curve["x"].tolist(), "y": curve["y"].tolist()} for curve in curves]
        for curve in listed:
            curve["thresholds"] = [None, *curve["thresholds"].tolist()]
        self._set_data(kind, {"curves": listed}, said)


def _curve_json(curve: dict[str, Any]) -> str:
    """As _json() has it with lists in place of arrays, in a fifth of the time, and most of it without the GIL."""
    x, y, thresholds = (_core.json_numbers(curve[name]).decode() for name in ("x", "y", "thresholds"))
    said = _json({name: value for name, value in curve.items() if name not in ("x", "y", "thresholds")})
    return f'{said[:-1]},"x":{x},"y":{y},"thresholds":[null,{thresholds[1:]}}}'


class ConfusionMatrix(Structured):
    """How often each class was taken for each: made by confusion_matrix()."""

    __slots__ = ()
    kind = "confusion_matrix"

    def __init__(self, counts: list[list[int]], classes: list[str], caption: str | None) -> None:
        data = {"classes": classes, "counts": counts}
        self._set_data("confusion_matrix", data, dict(caption_of(caption)))


def confusion_matrix(
    labels: Any, predictions: Any, classes: Sequence[str] | None = None, *, caption: str | None = None
) -> ConfusionMatrix:
    """Counts by (true class, predicted class). labels, predictions: ints from 0, or names that stand in classes.

    Whole floats are ints; so are bools beside numbers, while True and False alone are names. classes: their names, no
    two alike; without them all numbers to the largest, or what occurs, sorted. ValueError says what was expected.
    """
    true, taken = _flat(labels), _flat(predictions)
    if len(true) != len(taken) or not true:
        raise ValueError(f"labels and predictions must have one length, 1 or more, got {len(true)} and {len(taken)}")
    by_number = _by_number(true, taken)
    if classes is not None:
        found = [short_text("the name of a class", str(name), LABEL_CHARS_MAX) for name in classes]
    elif by_number:
        count = max(max(true), max(taken)) + 1
        _check_classes(count)  # an id among the labels would be a list of so many names
        found = [str(i) for i in range(count)]
    else:
        found = sorted({str(each) for each in true + taken})
    _check_classes(len(found))
    place = {name: i for i, name in enumerate(found)}
    if len(place) < len(found):
        twice = next(name for i, name in enumerate(found) if place[name] != i)
        raise ValueError(f"two classes are called {twice!r}")
    matrix = [[0] * len(found) for _ in found]
    for a, b in zip(true, taken, strict=True):
        try:
            row, column = (a, b) if by_number else (place[str(a)], place[str(b)])
            if row < 0 or column < 0:
                raise IndexError
            matrix[row][column] += 1
        except (IndexError, KeyError):
            raise ValueError(f"{a!r} or {b!r} is none of the {len(found)} classes") from None
    return ConfusionMatrix(matrix, found, caption)


def _flat(values: Any) -> list[Any]:
    """Its values as Python has them: a number of NumPy, torch or JAX in a list is one too."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    listed = values.tolist() if hasattr(values, "tolist") else [plain_number(each) for each in values]
    if not isinstance(listed, list) or any(isinstance(each, list) for each in listed):
        raise ValueError("labels and predictions take one axis")
    return listed


def _by_number(true: list[Any], taken: list[Any]) -> bool:
    """Whether these are class numbers; whole floats and bools among numbers become ints in the lists."""
    kinds = set(map(type, true)) | set(map(type, taken))
    if not all(issubclass(kind, (int, float)) for kind in kinds) or kinds == {bool}:
        return False
    if kinds != {int}:
        true[:], taken[:] = map(_class_number, true), map(_class_number, taken)
    return True


def _class_number(value: float) -> int:
    if not math.isfinite(value) or value != int(value):
        raise ValueError(f"labels and predictions take ints from 0, or names; got {value!r}")
    return int(value)


def _check_classes(count: int) -> None:
    if not 1 <= count <= CLASSES_MAX:
        raise ValueError(f"a confusion matrix has 1 to {CLASSES_MAX} classes, got {count:,}")


def pr_curve(labels: Any, scores: Any, classes: Sequence[str] | None = None, *, caption: str | None = None) -> Curves:
    """Precision over recall, at each threshold that the scores have; none is left out.

    labels: 0 and 1 (or bool) with scores of one axis; or class numbers with scores of (samples, classes), a curve a
    class against the rest. ValueError says what was expected. ImportError without NumPy.
    """
    return Curves("pr_curve", [_curve(*each, roc=False) for each in _problems(labels, scores, classes)], caption)


def roc_curve(labels: Any, scores: Any, classes: Sequence[str] | None = None, *, caption: str | None = None) -> Curves:
    """True positives over false positives, as pr_curve(), with the area below each curve."""
    return Curves("roc_curve", [_curve(*each, roc=True) for each in _problems(labels, scores, classes)], caption)


def _problems(labels: Any, scores: Any, classes: Sequence[str] | None) -> list[tuple[str, Any, Any]]:
    """(name, which are of the class, scores) a curve."""
    np = numpy_for("curves")
    true, given = as_array(labels, "labels"), as_array(scores, "scores").astype(np.float64)
    if true.ndim != 1 or given.ndim not in (1, 2) or len(true) != len(given):
        raise ValueError(f"labels take one axis and scores one or two of the same length, got shapes {true.shape} and "
                         f"{given.shape}")  # fmt: skip
    if not np.isfinite(given).all():
        raise ValueError("scores hold NaN or infinite values")
    if given.ndim == 1:
        if not np.isin(true, (0, 1)).all():
            raise ValueError("labels beside scores of one axis are 0 and 1")
        return [(str(classes[-1]) if classes else "1", true.astype(bool), given)]
    count = given.shape[1]
    names = [str(i) for i in range(count)] if classes is None else list(map(str, classes))
    if len(names) != count or count > CLASSES_MAX:
        raise ValueError(f"scores of {count:,} classes need as many names, at most {CLASSES_MAX}; got {len(names):,}")
    if not np.isin(true, np.arange(count)).all():
        raise ValueError(f"labels are the numbers of {count} classes, from 0")
    return [
        (short_text("the name of a class", name, LABEL_CHARS_MAX), true == i, given[:, i])
        for i, name in enumerate(names)
    ]


def _curve(name: str, positive: Any, scores: Any, *, roc: bool) -> dict[str, Any]:
    np = numpy_for("curves")
    order = np.argsort(-scores, kind="stable")
    sorted_scores, hits = scores[order], np.cumsum(positive[order])
    last = np.append(np.flatnonzero(np.diff(sorted_scores)), len(scores) - 1)  # of equal scores the last
    hits, taken, thresholds = hits[last], last + 1, sorted_scores[last]
    positives, negatives = int(positive.sum()), int(len(positive) - positive.sum())
    out: dict[str, Any] = {"name": name, "positives": positives, "negatives": negatives}
    recall = hits / positives if positives else np.zeros(len(hits))
    if not roc:
        x, y = np.append(0.0, recall), np.append(1.0, hits / taken)
        out["average_precision"] = float(np.sum(np.diff(x) * y[1:]))
    else:
        false = (taken - hits) / negatives if negatives else np.zeros(len(hits))
        x, y = np.append(0.0, false), np.append(0.0, recall)
        if positives and negatives:
            out["area"] = float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2))
    return {**out, "x": x, "y": y, "thresholds": thresholds}
