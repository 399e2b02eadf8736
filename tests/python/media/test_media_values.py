# SPDX-License-Identifier: MIT
"""Goal: each kind of medium takes what it documents, refuses the rest with an ordinary error, and reads back exactly.
Method: constructors alone for refusals, a run for the way there and back."""

from __future__ import annotations

import datetime
import io
import math
import random
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import PIL.Image
import pyarrow as pa
import pytest
import tracker
from tracker._media.medium import sound


def back(run: tracker.Run, value: Any) -> tracker.MediaEntry:
    run.log({"value": value}, step=0)
    (entry,) = tracker.open_run(run.uid).media("value")
    return entry


# --- images -----------------------------------------------------------------------------------------------------------

GREY = np.arange(12, dtype=np.uint8).reshape(3, 4)
COLOUR = np.arange(36, dtype=np.uint8).reshape(3, 4, 3)
WIDE = np.arange(45, dtype=np.uint8).reshape(3, 5, 3)
SHAPES: dict[str, tuple[Any, Any]] = {
    "grey": (GREY, GREY),
    "one channel": (GREY[:, :, None], GREY),
    "channels last": (COLOUR, COLOUR),
    "channels first": (np.moveaxis(WIDE, -1, 0), WIDE),
    "with alpha": (np.dstack([COLOUR, GREY]), np.dstack([COLOUR, GREY])),
    "grey with alpha": (np.dstack([GREY, GREY]), np.dstack([GREY, GREY])),
    "bool": (GREY % 2 == 0, np.where(GREY % 2 == 0, 255, 0)),
    "bool, transposed": (np.asfortranarray(GREY % 2 == 0), np.where(GREY % 2 == 0, 255, 0)),
    "bool, channels first": (np.moveaxis(WIDE % 2 == 0, -1, 0).copy(), np.where(WIDE % 2 == 0, 255, 0)),
    "int64": (COLOUR.astype(np.int64), COLOUR),
    "float32": (COLOUR.astype(np.float32) / 255, COLOUR),
    "float64": (COLOUR / 255, COLOUR),
    "nested lists": (GREY.tolist(), GREY),
    "not contiguous": (COLOUR[:, ::-1], COLOUR[:, ::-1]),
}


@pytest.mark.parametrize("what", SHAPES)
def test_an_array_of_any_layout_and_type_is_the_same_image(run: tracker.Run, what: str) -> None:
    given, expected = SHAPES[what]
    entry = back(run, tracker.Image(given))
    assert np.array_equal(entry.load(), expected)


def test_a_shape_that_fits_both_ways_is_channels_last_unless_it_is_said(run: tracker.Run) -> None:
    cube = np.arange(27, dtype=np.uint8).reshape(3, 3, 3)
    entry = back(run, [tracker.Image(cube), tracker.Image(cube, layout="CHW")][0])
    assert np.array_equal(entry.load(), cube)
    run.log({"chw": tracker.Image(cube, layout="CHW")}, step=0)
    assert np.array_equal(tracker.open_run(run.uid).media("chw")[0].load(), np.moveaxis(cube, 0, -1))


BAD_IMAGES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "no axis": (lambda: np.float32(1), ValueError, "2 or 3 axes"),
    "one axis": (lambda: np.zeros(4), ValueError, "2 or 3 axes"),
    "a batch": (lambda: np.zeros((2, 3, 4, 3)), ValueError, "log a list"),
    "no channels": (lambda: np.zeros((7, 8, 9)), ValueError, "no axis of 1 to 4 channels"),
    "no pixels": (lambda: np.zeros((0, 4)), ValueError, "no values"),
    "texts": (lambda: np.array([["a"]]), TypeError, "bool, int or float"),
    "an object": (object, TypeError, "bool, int or float"),
    "a missing file": (lambda: "missing.png", FileNotFoundError, "missing.png"),
    "no image": (lambda: b"no image at all", ValueError, "by its first bytes"),
}


@pytest.mark.parametrize("what", BAD_IMAGES)
def test_what_is_no_image_is_one_with_a_problem_that_says_what_was_expected(what: str) -> None:
    make, error, text = BAD_IMAGES[what]
    with pytest.raises(error, match=text):
        sound(tracker.Image(make()))


def test_files_and_bytes_go_in_as_they_are(run: tracker.Run, tmp_path: Path) -> None:
    out = io.BytesIO()
    PIL.Image.fromarray(COLOUR).save(out, "JPEG")
    path = tmp_path / "a picture.of no known name"
    path.write_bytes(out.getvalue())
    run.log({"a": tracker.Image(path), "b": tracker.Image(str(path)), "c": tracker.Image(out.getvalue())}, step=0)
    stored = tracker.open_run(run.uid)
    for name in "abc":
        (entry,) = stored.media(name)
        assert entry.bytes == out.getvalue()
        assert (entry.info["ext"], entry.info["width"], entry.info["height"]) == ("jpg", 4, 3)


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "P", "1", "CMYK"])
def test_an_image_of_pillow_is_taken_as_it_is_shown(run: tracker.Run, mode: str) -> None:
    image = PIL.Image.fromarray(COLOUR).convert(mode)
    expected = np.array(image if mode in ("L", "RGB", "RGBA") else image.convert("RGB"))
    run.log({"wrapped": tracker.Image(image), "plain": image}, step=0)
    stored = tracker.open_run(run.uid)
    assert np.array_equal(stored.media("wrapped")[0].load(), expected)
    assert np.array_equal(stored.media("plain")[0].load(), expected)


def test_jpeg_is_smaller_and_close(run: tracker.Run) -> None:
    smooth = np.linspace(0, 1, 64 * 64).reshape(64, 64)
    entry = back(run, tracker.Image(smooth, format="jpeg", quality=95))
    assert entry.info["ext"] == "jpg"
    assert np.abs(entry.load().astype(int) - np.round(smooth * 255)).max() < 16


def test_boxes_and_masks_come_back(run: tracker.Run) -> None:
    mask = (np.arange(12).reshape(3, 4) % 3).astype(np.int64)
    boxes = {"truth": [{"box": (0, 0, 2, 2), "label": "cat", "score": 0.9}, (1, 1, 2.5, 3)]}
    image = tracker.Image(COLOUR, boxes=boxes, masks={"seg": {"mask": mask, "labels": {1: "cat"}}, "other": mask > 1})
    entry = back(run, image)
    assert entry.info["boxes"] == {
        "truth": [{"box": [0.0, 0.0, 2.0, 2.0], "label": "cat", "score": 0.9}, {"box": [1.0, 1.0, 2.5, 3.0]}]
    }
    masks = entry.masks()
    assert np.array_equal(masks["seg"], mask)
    assert np.array_equal(masks["other"], mask > 1)
    assert entry.info["masks"]["seg"]["labels"] == {"1": "cat"}
    assert np.array_equal(entry.load(), COLOUR)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"boxes": [{"box": (0, 0, 1, 1), "lable": "x"}]}, "lable"),
        ({"masks": {"m": {"mask": GREY, "lables": {}}}}, "lables"),
        ({"format": "bmp"}, "png"),
        ({"quality": 0}, "1 to 100"),
        ({"layout": "WHC"}, "HWC"),
    ],
)
def test_a_bad_argument_of_an_image_says_what_was_expected(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        sound(tracker.Image(COLOUR, **arguments))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"boxes": [(0, 0, 1)]}, "a box is left out: a box is (x0, y0, x1, y1)"),
        ({"boxes": [(2, 0, 1, 1)]}, "x0 <= x1"),
        ({"boxes": [(0, 0, math.nan, 1)]}, "finite"),
        ({"masks": {"m": np.zeros((2, 2), int)}}, "the mask 'm' is left out: it has 2 × 2 pixels, the image 4 × 3"),
        ({"masks": {"m": np.full((3, 4), 0.5)}}, "its floats are not whole"),
        ({"masks": {"m": np.zeros((3, 4, 2), int)}}, "got shape (3, 4, 2)"),
        ({"masks": {"m": {"labels": {1: "cat"}}}}, "expected an array of (height, width)"),
        ({"masks": {"m": None}}, "expected an array of (height, width)"),
    ],
)
def test_an_image_is_kept_without_the_box_or_mask_that_cannot_be_shown(arguments: dict[str, Any], text: str) -> None:
    image = tracker.Image(COLOUR, **arguments)
    assert image.problem is None
    assert text in image._remarks[0]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"masks": [GREY]}, "dict of names to arrays, got list"),
        ({"boxes": 5}, "boxes must be a list"),
        ({"classes": "cat"}, "classes is a list of labels or names"),
        ({"normalize": 255}, "normalize must be None, True, False or"),
    ],
)
def test_a_wrong_type_of_masks_or_labels_says_what_was_expected(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        sound(tracker.Image(COLOUR, **arguments))


def test_labels_of_a_mask_may_be_numbers_of_numpy_or_digits(run: tracker.Run) -> None:
    labels = {np.int64(1): "cat", "2": "dog"}
    entry = back(run, tracker.Image(COLOUR, masks={"m": {"mask": GREY, "labels": labels}}))
    assert entry.info["masks"]["m"]["labels"] == {"1": "cat", "2": "dog"}


def test_a_name_of_media_that_is_no_text_is_a_type_error(run: tracker.Run) -> None:
    back(run, tracker.Image(GREY))
    with pytest.raises(TypeError, match=r"media\(name\): name must be a str, got int"):
        tracker.open_run(run.uid).media(5)  # type: ignore[arg-type]


# --- audio and video --------------------------------------------------------------------------------------------------


def test_samples_come_back_as_16_bits(run: tracker.Run) -> None:
    stereo = np.stack([np.sin(np.arange(800) / 9), np.cos(np.arange(800) / 7)], axis=1)
    entry = back(run, tracker.Audio(stereo, sample_rate=8000, caption="a tone"))
    samples, rate = entry.load()
    assert (rate, samples.shape, entry.caption) == (8000, (800, 2), "a tone")
    assert np.abs(samples / 32767 - stereo).max() < 1e-4
    ints = np.arange(-300, 300, dtype=np.int16)
    run.log({"ints": tracker.Audio(ints, sample_rate=100)}, step=0)
    assert np.array_equal(tracker.open_run(run.uid).media("ints")[0].load()[0], ints)


@pytest.mark.parametrize(
    ("data", "arguments", "error", "text"),
    [
        (np.zeros(4), {}, ValueError, "sample_rate"),
        (np.zeros(4), {"sample_rate": 0}, ValueError, "1 to"),
        (np.zeros((2, 2, 2)), {"sample_rate": 8}, ValueError, "samples, channels"),
        (np.zeros(0), {"sample_rate": 8}, ValueError, "no values"),
        (b"RIFF but no wave", {}, ValueError, "by its first bytes"),
    ],
)
def test_bad_audio_says_what_was_expected(
    data: Any, arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        sound(tracker.Audio(data, **arguments))


def test_a_wav_file_goes_in_as_it_is(run: tracker.Run, tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(100)
        file.writeframes(bytes(range(100)))
    assert back(run, tracker.Audio(path)).bytes == path.read_bytes()


def test_frames_become_an_animation(run: tracker.Run) -> None:
    frames = np.zeros((3, 8, 8, 3), np.uint8)
    frames[1], frames[2] = 128, 255
    entry = back(run, tracker.Video(frames, fps=5, caption="grows"))
    assert (entry.info["frames"], entry.info["fps"], entry.info["ext"]) == (3, 5.0, "gif")
    with PIL.Image.open(entry.path or "") as image:
        assert getattr(image, "n_frames", 1) == 3
        image.seek(2)
        assert np.array(image.convert("RGB")).min() == 255
    first = np.moveaxis(frames, -1, 1).copy()
    run.log({"first": tracker.Video(first), "bool": tracker.Video(first > 0)}, step=0)
    assert [tracker.open_run(run.uid).media(name)[0].info["width"] for name in ("first", "bool")] == [8, 8]


def test_a_video_file_larger_than_what_is_copied_is_stored_from_its_path(run: tracker.Run, tmp_path: Path) -> None:
    from tracker._media import media_files

    path = tmp_path / "large.mp4"
    path.write_bytes(b"\0\0\0\x20ftypisom" + bytes(media_files.FILE_COPIED_BYTES_MAX))
    run.log({"a": tracker.Video(path)}, step=0)
    assert run.flush(120)
    (entry,) = tracker.open_run(run.uid).media("a")
    assert entry.bytes == path.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "text"), [({"fps": 0}, "fps"), ({"fps": 101}, "0.01 to 100"), ({"format": "mp4"}, "gif")]
)
def test_a_bad_argument_of_a_video_says_what_was_expected(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        sound(tracker.Video(np.zeros((2, 4, 4, 3)), **arguments))
    with pytest.raises(ValueError, match="time, height, width, channels"):
        sound(tracker.Video(np.zeros((4, 4, 3))))


# --- documents and tables ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 300_000])
@pytest.mark.parametrize("kind", [tracker.Html, tracker.Text, tracker.Markdown])
def test_a_text_of_any_size_comes_back(run: tracker.Run, kind: Any, size: int) -> None:
    entry = back(run, kind("ä" * (size // 2) + "x" * (size % 2), caption="c"))
    assert entry.load() == "ä" * (size // 2) + "x" * (size % 2)
    assert (entry.path is None) == (size <= 65_536)
    assert entry.caption == "c"


def test_a_page_comes_from_a_path(run: tracker.Run, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<h1>ü</h1>")
    assert back(run, tracker.Html(tmp_path / "page.html")).load() == "<h1>ü</h1>"


def test_a_table_keeps_types_order_and_every_float(run: tracker.Run) -> None:
    when = datetime.datetime(2026, 11, 22, 9, 30, tzinfo=datetime.UTC)
    rows = [
        [1, 0.1, "a", True, when],
        [2**62, math.inf, "ü", None, None],
        [None, -0.0, None, False, when],
        [-5, math.nan, "", True, when],
    ]
    entry = back(run, tracker.Table(rows, columns=["i", "f", "t", "b", "w"], caption="mixed"))
    table = entry.load()
    assert table.types == {"i": "int", "f": "float", "t": "text", "b": "bool", "w": "time"}
    assert len(table) == 4
    assert math.isnan(table.columns["f"].pop())
    assert table.columns["f"] == [0.1, math.inf, -0.0]
    assert math.copysign(1, table.columns["f"][2]) == -1
    assert table.columns["i"] == [1, 2**62, None, -5]
    assert table.columns["w"] == [when, None, when, when]


def test_random_tables_come_back(run: tracker.Run) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    makers: list[Callable[[], Any]] = [
        lambda: rng.randrange(-(2**63), 2**63),
        lambda: rng.choice([rng.gauss(0, 1e300), 5e-324, -0.0, math.inf, -math.inf]),
        lambda: "".join(chr(rng.randrange(1, 0xD7FF)) for _ in range(rng.randrange(9))),
        lambda: rng.random() < 0.5,
    ]
    tables = []
    for _ in range(20):
        columns = {f"c{i}": rng.choice(makers) for i in range(rng.randrange(1, 5))}
        rows = [[None if rng.random() < 0.1 else make() for make in columns.values()] for _ in range(rng.randrange(30))]
        tables.append((list(columns), rows))
    run.log({"tables": [tracker.Table(rows, columns=names) for names, rows in tables]}, step=0)
    entries = tracker.open_run(run.uid).media("tables")
    for (names, rows), entry in zip(tables, entries, strict=True):
        table = entry.load()
        assert list(table.columns) == names
        assert table.to_rows() == [tuple(row) for row in rows]


def test_a_table_is_made_of_pandas_arrow_dicts_and_columns(run: tracker.Run) -> None:
    frame = pd.DataFrame({"x": [1, 2, 3], "y": [0.5, math.nan, 1.5], "z": ["a", None, "c"]})
    frame["when"] = pd.Series([pd.Timestamp("2026-01-01"), pd.NaT, pd.Timestamp("2026-01-03")])
    arrow = pa.table({"x": [1, 2, 3], "z": ["a", None, "c"]})
    run.log({"frame": tracker.Table(frame), "arrow": tracker.Table(arrow)}, step=0)
    run.log({"dicts": tracker.Table([{"a": 1}, {"a": 2, "b": "x"}]), "dict": tracker.Table({"a": [1, 2]})}, step=0)
    stored = tracker.open_run(run.uid)
    table = stored.media("frame")[0].load()
    assert table.types == {"x": "int", "y": "float", "z": "text", "when": "time"}
    assert table.columns["x"] == [1, 2, 3]
    assert table.columns["when"][1] is None
    assert stored.media("arrow")[0].load().to_rows() == [(1, "a"), (2, None), (3, "c")]
    assert stored.media("dicts")[0].load().to_rows() == [(1, None), (2, "x")]
    assert stored.media("dict")[0].load().to_pandas()["a"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("data", "columns", "text"),
    [
        ("rows", ["x"], "a table takes rows, columns, a DataFrame or Arrow, got str"),
        (5, None, "got int"),
        ([], "ab", "columns must be a list of names, got str"),
    ],
)
def test_a_wrong_argument_of_a_table_says_what_was_expected(data: Any, columns: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        tracker.Table(data, columns=columns)


# --- histograms, curves, matrices -------------------------------------------------------------------------------------


def test_a_histogram_counts_every_value_once(run: tracker.Run) -> None:
    values = np.concatenate([np.random.default_rng(1).normal(size=1000), [math.nan, math.inf, -math.inf, math.inf]])
    data = back(run, tracker.Histogram(values, bins=32)).load()
    counts, edges = np.histogram(values[:1000], bins=32)
    assert data["counts"] == counts.tolist()
    assert data["edges"] == edges.tolist()
    assert (data["nan"], data["pos_inf"], data["neg_inf"]) == (1, 2, 1)
    assert (data["min"], data["max"]) == (values[:1000].min(), values[:1000].max())


@pytest.mark.parametrize(
    "values",
    [
        [1.0] * 5,
        [math.nan],
        [1e308, -1e308],
        [5e-324, 0.0],
        [1, 2, 3],
        [True, False],
        [1e16] * 2,
        [-1e20] * 2,
        [2**60] * 3,
        [1.7976931348623157e308] * 2,
    ],
)
def test_a_histogram_of_odd_values_is_one_too(run: tracker.Run, values: list[Any]) -> None:
    data = back(run, tracker.Histogram(values, bins=8)).load()
    assert sum(data["counts"]) == len([value for value in values if not math.isnan(value)])
    assert data["edges"] == sorted(data["edges"])


def test_a_histogram_of_known_bins_is_taken_as_it_is(run: tracker.Run) -> None:
    data = back(run, tracker.Histogram(counts=[1, 2.5], edges=[0, 1, 3])).load()
    assert data == {"counts": [1, 2.5], "edges": [0.0, 1.0, 3.0]}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "values, or of counts"),
        ({"values": []}, "no values"),
        ({"values": [1], "bins": 0}, "bins must be"),
        ({"counts": [1], "edges": [0]}, "one edge more"),
        ({"counts": [1], "edges": [1, 0]}, "rise"),
        ({"counts": [-1], "edges": [0, 1]}, "0 or more"),
        ({"counts": [1], "edges": [0, math.nan]}, "finite"),
    ],
)
def test_a_bad_histogram_says_what_was_expected(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        sound(tracker.Histogram(**arguments))


def test_curves_are_those_of_scikit_learn(run: tracker.Run) -> None:
    from sklearn.metrics import average_precision_score, roc_auc_score
    from sklearn.metrics import roc_curve as theirs

    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, 500)
    scores = np.round(rng.normal(size=500) + labels, 1)  # with ties
    run.log({"roc": tracker.roc_curve(labels, scores), "pr": tracker.pr_curve(labels, scores)}, step=0)
    stored = tracker.open_run(run.uid)
    (curve,) = stored.media("roc")[0].load()["curves"]
    x, y, _ = theirs(labels, scores, drop_intermediate=False)
    assert np.allclose(curve["x"], x)
    assert np.allclose(curve["y"], y)
    assert curve["area"] == pytest.approx(roc_auc_score(labels, scores))
    (curve,) = stored.media("pr")[0].load()["curves"]
    assert curve["average_precision"] == pytest.approx(average_precision_score(labels, scores))


def test_several_classes_have_a_curve_each_and_large_ones_are_a_file(run: tracker.Run) -> None:
    rng = np.random.default_rng(4)
    labels, scores = rng.integers(0, 3, 5000), rng.random((5000, 3))
    entry = back(run, tracker.pr_curve(labels, scores, classes=["a", "b", "c"]))
    assert entry.path is not None
    assert [(c["name"], len(c["x"])) for c in entry.load()["curves"]] == [("a", 5001), ("b", 5001), ("c", 5001)]


def test_a_curve_without_positives_is_drawn_all_the_same(run: tracker.Run) -> None:
    (curve,) = back(run, tracker.roc_curve([0, 0], [0.1, 0.2])).load()["curves"]
    assert (curve["positives"], "area" in curve) == (0, False)


@pytest.mark.parametrize(
    ("labels", "scores", "text"),
    [
        ([0, 1], [0.5], "same length"),
        ([0, 2, 3], [0.5, 0.1, 0.2], "labels beside scores of one axis are two, got 0, 2, 3"),
        (["no", "no"], [0.5, 0.1], "are two, got no; classes="),
        ([0, 1], [math.inf, math.nan], "no sample"),
        ([0, 5], [[0.5, 0.5], [0.1, 0.9]], "scores have 2 columns, and 0, 1, 5 are 3 classes"),
    ],
)
def test_bad_curves_say_what_was_expected(labels: Any, scores: Any, text: str) -> None:
    for make in (tracker.pr_curve, tracker.roc_curve):
        with pytest.raises(ValueError, match=text):
            sound(make(labels, scores))


CURVES: list[tuple[Any, Any, Any, str]] = [
    ([0, 1, 1], [0.1, 0.2, 0.3], None, "1"),
    ([-1, 1, 1], [0.1, 0.2, 0.3], None, "1"),
    ([False, True, True], [0.1, 0.2, 0.3], None, "1"),
    ([3, 7, 7], [0.1, 0.2, 0.3], None, "7"),
    (["no", "yes", "yes"], [0.1, 0.2, 0.3], None, "yes"),
    (["spam", "ham", "ham"], [0.1, 0.2, 0.3], ["spam", "ham"], "ham"),
    ([0, 1, 1], [0.1, 0.2, 0.3], ["cat", "dog"], "dog"),
    ([3, 7, 7], [0.1, 0.2, 0.3], {3: "cat", 7: "dog"}, "dog"),
    ([0, 1, 1, -100], [0.1, 0.2, 0.3, 0.9], None, "1"),
    ([0, 1, 1, 1], [0.1, 0.2, 0.3, math.nan], None, "1"),
]


@pytest.mark.parametrize(("labels", "scores", "classes", "name"), CURVES)
def test_labels_of_a_curve_are_labels_as_those_of_a_matrix(
    run: tracker.Run, labels: Any, scores: Any, classes: Any, name: str
) -> None:
    (curve,) = back(run, tracker.roc_curve(labels, scores, classes)).load()["curves"]
    assert (curve["name"], curve["positives"], curve["negatives"], curve["area"]) == (name, 2, 1, 1.0)


@pytest.mark.parametrize(
    ("labels", "classes", "names"),
    [
        ([0, 1, 2], None, ["0", "1", "2"]),
        (["a", "b", "c"], None, ["a", "b", "c"]),
        ([10, 20, 90], [10, 20, 90], ["10", "20", "90"]),
        ([10, 20, 90], {10: "x", 20: "y", 90: "z"}, ["x", "y", "z"]),
        ([0, 1, 2], ["x", "y", "z"], ["x", "y", "z"]),
    ],
)
def test_each_column_of_scores_is_the_class_with_its_label(
    run: tracker.Run, labels: Any, classes: Any, names: list[str]
) -> None:
    curves = back(run, tracker.pr_curve(labels, np.eye(3), classes)).load()["curves"]
    assert [(curve["name"], curve["positives"], curve["average_precision"]) for curve in curves] == [
        (name, 1, 1.0) for name in names
    ]


def test_ids_of_boxes_and_masks_are_labels_too(run: tracker.Run) -> None:
    ids = np.array([[0, 90, 100_000], [-100, 90, 0]])
    boxes = [{"box": (0, 0, 1, 1), "label": label} for label in (90, np.int64(7), 7.0, "person", True)]
    image = tracker.Image(np.zeros((2, 3)), masks={"m": ids}, boxes=boxes, classes={90: "cat", 0: "none"})
    entry = back(run, image)
    assert [box["label"] for box in entry.info["boxes"]["boxes"]] == ["cat", "7", "7", "person", "True"]
    assert np.array_equal(entry.masks()["m"], ids)
    assert entry.info["masks"]["m"]["labels"] == {"0": "-100", "1": "none", "2": "cat", "3": "100000"}
