# SPDX-License-Identifier: MIT
"""Histograms, curves and confusion matrices: numbers in their event, or in a JSON file where they are many."""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracker import _core
from tracker._media.class_labels import IGNORED, Label, check_classes, ignored_of, labels_of, named, of_one_kind
from tracker._media.image_array import as_array, numpy_for
from tracker._media.medium import INLINE_BYTES_MAX, Media, caption_of

if TYPE_CHECKING:
    from tracker._media.encode_queue import Files

# Limit: bins of a histogram. Beyond it: counted as rejected; an error of bins=.
HISTOGRAM_BINS_MAX = 2048
# Of a confusion matrix, and curves of one
# Limit: classes of a curve or matrix. Beyond it: counted as rejected.
CLASSES_MAX = 1000
# Of all curves of one value
# Limit: points of all curves of a value. Beyond it: counted as rejected.
CURVE_POINTS_MAX = 1_000_000
# Of a point as JSON: "0.0," three times. What has more than a text may have within an event is a file
CURVE_POINT_BYTES_MIN = 12


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
    ValueError for a wrong argument; values that are no numbers make a histogram with a `problem`, which log() counts as
    refused. ImportError without NumPy where values are given.
    """

    __slots__ = ()
    kind = "histogram"

    def __init__(
        self, values: Any = None, bins: int = 64, *, counts: Any = None, edges: Any = None, caption: str | None = None
    ) -> None:
        if (values is None) == (counts is None) or (counts is None) != (edges is None):
            raise ValueError("a histogram is made of values, or of counts= and edges=")
        if isinstance(bins, bool) or not isinstance(bins, int) or not 1 <= bins <= HISTOGRAM_BINS_MAX:
            raise ValueError(f"bins must be 1 to {HISTOGRAM_BINS_MAX}, got {bins!r}")
        with self._refusing():
            data = _known_bins(list(counts), list(edges)) if counts is not None else _counted(values, bins)
            self._set_data("histogram", data, dict(caption_of(caption, self)))


def _counted(values: Any, bins: int) -> dict[str, Any]:
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
    return data | {"nan": nan, "pos_inf": pos_inf, "neg_inf": neg_inf}


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

    def __init__(
        self, kind: str, make: Callable[[Callable[[str], None]], list[dict[str, Any]]], caption: str | None
    ) -> None:
        """`make` takes what hears remarks."""
        with self._refusing():
            self._set_curves(kind, make(self._remark), dict(caption_of(caption, self)))

    def _set_curves(self, kind: str, curves: list[dict[str, Any]], said: dict[str, Any]) -> None:
        points = sum(len(curve["x"]) for curve in curves)
        if points > CURVE_POINTS_MAX:
            raise ValueError(f"curves of {points:,} points; at most {CURVE_POINTS_MAX:,}")
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

    def __init__(self, labels: Any, predictions: Any, classes: Any, ignore: Any, caption: str | None) -> None:
        with self._refusing():
            data, ignored = self._counts(labels, predictions, classes, ignore)
            said: dict[str, Any] = dict(caption_of(caption, self)) | ({"ignored": ignored} if ignored else {})
            self._set_data("confusion_matrix", data, said)

    def _counts(self, labels: Any, predictions: Any, classes: Any, ignore: Any) -> tuple[dict[str, Any], int]:
        true, taken = labels_of(labels), labels_of(predictions)
        if len(true) != len(taken) or not true:
            hint = "; of scores a class take predictions.argmax(-1)" if getattr(predictions, "ndim", 1) > 1 else ""
            raise ValueError(f"labels and predictions must have one length, 1 or more, got {len(true)} and "
                             f"{len(taken)}{hint}")  # fmt: skip
        true, taken = of_one_kind(true, taken)
        unwanted = ignored_of(ignore)
        pairs = Counter(zip(true, taken, strict=True))
        out = [pair for pair in pairs if str(pair[0]) in unwanted or str(pair[1]) in unwanted]
        ignored = sum(pairs.pop(pair) for pair in out)
        if not pairs:
            raise ValueError(f"all {ignored:,} labels are ignored ({', '.join(sorted(unwanted))})")
        occur = {label for pair in pairs for label in pair}
        _check_classes(max(len(occur), 0 if classes is None else len(list(classes))))
        names = named(occur, classes, self._remark)
        _check_classes(len(names))
        place = {label: i for i, label in enumerate(names)}
        matrix = [[0] * len(names) for _ in names]
        for (a, b), count in pairs.items():
            matrix[place[str(a)]][place[str(b)]] += count
        return {"classes": list(names.values()), "counts": matrix}, ignored


def confusion_matrix(
    labels: Any,
    predictions: Any,
    classes: Sequence[Any] | Mapping[Any, Any] | None = None,
    *,
    ignore: Any = IGNORED,
    caption: str | None = None,
) -> ConfusionMatrix:
    """Counts by (true class, predicted class), of labels that are ints, texts or bools, in arrays of one size.

    Without classes what occurs is a class, sorted: 1, 2 and 10 are three. classes: a dict {label: name}, or a list of
    labels in their order, or of names for the ints 0, 1, 2, …; those that do not occur are shown too, and what occurs
    beside them comes after them (said once). ignore: a label, or several, whose pairs are left out; None: none is.
    Whole floats are ints; so are bools beside ints, while True and False alone are names. TypeError: classes is no list
    or dict. Anything else that cannot be shown makes a matrix with a `problem`, which log() counts as refused.
    """
    check_classes(classes)
    return ConfusionMatrix(labels, predictions, classes, ignore, caption)


def _check_classes(count: int) -> None:
    if not 1 <= count <= CLASSES_MAX:
        raise ValueError(f"a confusion matrix has 1 to {CLASSES_MAX} classes, got {count:,}")


def pr_curve(
    labels: Any,
    scores: Any,
    classes: Sequence[Any] | Mapping[Any, Any] | None = None,
    *,
    ignore: Any = IGNORED,
    caption: str | None = None,
) -> Curves:
    """Precision over recall, at each threshold that the scores have; none is left out.

    labels: ints, texts or bools. Beside scores of one axis there are two of them: of 0 and 1, -1 and 1, False and True
    the second is the positive one, else the last of classes, or of what occurs, sorted. Beside scores of (samples,
    classes) a column is a class against the rest: those of classes in their order, else 0, 1, 2, … or, of texts, what
    occurs, sorted. classes, ignore: as of confusion_matrix(). Samples whose score is NaN or infinite are left out, said
    once. TypeError: classes is no list or dict. Anything else makes a curve with a `problem`, which log() counts as
    refused. ImportError without NumPy.
    """
    check_classes(classes)
    return Curves("pr_curve", lambda remark: _curves(labels, scores, classes, ignore, remark, roc=False), caption)


def roc_curve(
    labels: Any,
    scores: Any,
    classes: Sequence[Any] | Mapping[Any, Any] | None = None,
    *,
    ignore: Any = IGNORED,
    caption: str | None = None,
) -> Curves:
    """True positives over false positives, as pr_curve(), with the area below each curve."""
    check_classes(classes)
    return Curves("roc_curve", lambda remark: _curves(labels, scores, classes, ignore, remark, roc=True), caption)


def _curves(
    labels: Any, scores: Any, classes: Any, ignore: Any, remark: Callable[[str], None], *, roc: bool
) -> list[dict[str, Any]]:
    np = numpy_for("curves")
    (true,) = of_one_kind(labels_of(labels))
    given = as_array(scores, "scores").astype(np.float64)
    given = given[:, 0] if given.ndim == 2 and given.shape[1] == 1 else given
    if given.ndim not in (1, 2) or len(true) != len(given):
        raise ValueError(f"labels take one axis and scores one or two of the same length, got {len(true):,} labels and "
                         f"scores of shape {given.shape}")  # fmt: skip
    unwanted = ignored_of(ignore)
    of_text = {label: str(label) for label in set(true)}
    texts = np.array([of_text[label] for label in true], dtype=object)
    known = np.isfinite(given) if given.ndim == 1 else np.isfinite(given).all(axis=1)
    if not known.all():
        remark(f"{int((~known).sum()):,} samples whose score is NaN or infinite are left out")
    kept = known & ~np.isin(texts, list(unwanted)) if unwanted else known
    if not kept.any():
        raise ValueError("no sample has a label that counts and a finite score")
    texts, given = texts[kept], given[kept]
    occur = {label for label, text in of_text.items() if text not in unwanted}
    if given.ndim == 1:
        label, name = _positive(occur, classes, remark)
        return [_curve(name, texts == label, given, roc=roc)]
    columns = _columns(occur, classes, given.shape[1])
    return [_curve(name, texts == label, given[:, i], roc=roc) for i, (label, name) in enumerate(columns.items())]


def _positive(occur: set[Label], classes: Any, remark: Callable[[str], None]) -> tuple[str, str]:
    """The positive label, as text, and its name."""
    bools = all(isinstance(each, bool) for each in occur)
    if classes is None and not bools and occur <= {-1, 0, 1}:
        return "1", "1"
    if classes is None and bools:
        return "True", "1"
    names = named(occur, classes, remark)
    if len(names) != 2:
        raise ValueError(f"labels beside scores of one axis are two, got {', '.join(list(names)[:5]) or 'none'}; "
                         "classes=[negative, positive] says both")  # fmt: skip
    return list(names.items())[1]


def _columns(occur: set[Label], classes: Any, count: int) -> dict[str, str]:
    """{label as text: name} of the columns of scores."""
    if count > CLASSES_MAX:
        raise ValueError(f"scores of {count:,} classes; at most {CLASSES_MAX:,}")
    if classes is None and not any(isinstance(each, str) for each in occur):
        occur, classes = {int(each) for each in occur}, list(range(count))
    names = named(occur, classes, lambda _: None)
    if len(names) != count:
        raise ValueError(f"scores have {count:,} columns, and {', '.join(list(names)[:5])} are {len(names):,} classes; "
                         "classes=[…] says the label of each column")  # fmt: skip
    return names


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
