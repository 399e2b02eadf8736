# SPDX-License-Identifier: MIT
"""Goal: each limit of media holds at its edge: what is as large as it goes in, one more is refused and says the limit.
Method: values of exactly that size and of one more; the largest by smaller limits."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracker
from tracker._media import (
    audio_video,
    documents,
    encode_queue,
    histograms_curves,
    image_array,
    media_files,
    medium,
    table,
    table_cells,
    table_columns,
)
from tracker._media.class_labels import LABEL_CHARS_MAX
from tracker._media.encode_queue import EXIT_MS_MAX
from tracker._media.histograms_curves import CLASSES_MAX, HISTOGRAM_BINS_MAX
from tracker._media.image_overlays import BOXES_MAX, MASK_IDS_MAX, MASKS_MAX
from tracker._media.medium import CAPTION_CHARS_MAX, INLINE_BYTES_MAX, LIST_VALUES_MAX, sound
from tracker._media.table_cells import CELL_CHARS_MAX
from tracker._media.table_columns import COLUMN_NAME_CHARS_MAX, TABLE_COLUMNS_MAX, TABLE_ROWS_MAX

K_MEDIA_DESCRIPTION_BYTES_MAX = 1 << 20  # kMediaDescriptionBytesMax
K_MEDIA_KIND_BYTES_MAX = 32  # kMediaKindBytesMax
DOT = np.zeros((1, 1), np.uint8)


def media(run: tracker.Run, name: str = "a") -> list[tracker.MediaEntry]:
    return tracker.open_run(run.uid).media(name)


def test_a_caption() -> None:
    tracker.Image(DOT, caption="x" * CAPTION_CHARS_MAX)
    assert "is cut at 4,096" in tracker.Image(DOT, caption="x" * (CAPTION_CHARS_MAX + 1))._remarks[0]


def test_boxes_of_an_image(run: tracker.Run) -> None:
    run.log({"a": tracker.Image(DOT, boxes=[(0, 0, 1, 1)] * BOXES_MAX)}, step=0)
    assert len(media(run)[0].info["boxes"]["boxes"]) == BOXES_MAX
    run.log({"b": tracker.Image(DOT, boxes={"a": [(0, 0, 1, 1)] * BOXES_MAX, "b": [(0, 0, 1, 1)]})}, step=0)
    assert [len(boxes) for boxes in media(run, "b")[0].info["boxes"].values()] == [BOXES_MAX, 0]


def test_masks_of_an_image() -> None:
    assert tracker.Image(DOT, masks={str(i): DOT for i in range(MASKS_MAX)})._remarks == ()
    further = tracker.Image(DOT, masks={str(i): DOT for i in range(MASKS_MAX + 1)})
    assert further._remarks == ("an image has at most 16 masks; the others are left out",)


def test_ids_of_a_mask() -> None:
    for count, fits in ((MASK_IDS_MAX, True), (MASK_IDS_MAX + 1, False)):
        ids = 1000 * np.arange(count).reshape(1, count)
        said = tracker.Image(np.zeros((1, count)), masks={"m": ids})._remarks
        assert said == (() if fits else ("the mask 'm' is left out: a mask has at most 256 ids, got 257",))


def test_a_label(run: tracker.Run) -> None:
    longest = "x" * LABEL_CHARS_MAX
    run.log({"a": [tracker.confusion_matrix([0], [0], classes=[label]) for label in (longest, longest + "x")]}, step=0)
    assert [entry.load()["classes"] for entry in media(run)] == [[longest], [longest[1:] + "…"]]


def test_pictures_of_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    assert table_cells.TABLE_PICTURES_MAX == 1000
    monkeypatch.setattr(table_cells, "TABLE_PICTURES_MAX", 2)
    assert tracker.Table({"x": [tracker.Image(DOT)] * 2})._remarks == ()
    assert "at most 2 pictures" in tracker.Table({"x": [tracker.Image(DOT)] * 3})._remarks[0]


def test_values_nested_in_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    assert table_cells.NESTED_VALUES_MAX == 1_000_000
    monkeypatch.setattr(table_cells, "NESTED_VALUES_MAX", 5)
    assert tracker.Table({"x": [[1, 2], [3, 4, 5]]})._remarks == ()
    assert "no end" in tracker.Table({"x": [[1, 2], [3, 4, 5, 6]]})._remarks[0]


def test_what_is_reported_of_one_value() -> None:
    boxes = [(0,) * count for count in range(20) if count != 4]
    assert len(tracker.Image(DOT, boxes=boxes)._remarks) == medium.REMARKS_MAX


def test_pixels_of_an_image(monkeypatch: pytest.MonkeyPatch) -> None:
    assert image_array.IMAGE_PIXELS_MAX == 64 << 20
    monkeypatch.setattr(image_array, "IMAGE_PIXELS_MAX", 12)
    tracker.Image(np.zeros((3, 4)))
    with pytest.raises(ValueError, match=r"13 × 1 pixels; at most 12"):
        sound(tracker.Image(np.zeros((1, 13))))


def test_values_of_a_list(patient_run: tracker.Run) -> None:
    run = patient_run
    text = tracker.Text("x")
    run.log({"a": [text] * LIST_VALUES_MAX, "b": [text] * (LIST_VALUES_MAX + 1)}, step=0)
    assert len(media(run, "a")) == len(media(run, "b")) == LIST_VALUES_MAX
    assert tracker.open_run(run.uid).media_account["by_reason"] == {"list too long": 1}


def test_a_text_within_its_event(run: tracker.Run) -> None:
    run.log({"a": [tracker.Text("x" * INLINE_BYTES_MAX), tracker.Text("x" * (INLINE_BYTES_MAX + 1))]}, step=0)
    assert [entry.path is None for entry in media(run)] == [True, False]


def test_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    assert documents.DOCUMENT_BYTES_MAX == 16 << 20
    monkeypatch.setattr(documents, "DOCUMENT_BYTES_MAX", 1000)
    tracker.Html("x" * 1000)
    with pytest.raises(ValueError, match="at most 1,000"):
        sound(tracker.Html("x" * 1001))


def test_what_is_said_of_a_value(run: tracker.Run) -> None:
    core = run._core
    for size, fits in ((K_MEDIA_DESCRIPTION_BYTES_MAX - 200, True), (K_MEDIA_DESCRIPTION_BYTES_MAX, False)):
        assert core.begin_media("a", 0, 1) == "ok"
        value = {"kind": "x", "text": "y" * size}
        if fits:
            core.log_media("a", 0, core.next_media_call(), 0, value)
        else:
            with pytest.raises(tracker.LimitError, match="at most 1048576"):
                core.log_media("a", 0, core.next_media_call(), 0, value)


def test_a_file_and_what_is_copied_of_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: tracker.Run) -> None:
    assert media_files.FILE_BYTES_MAX == 1 << 30  # kMediaBytesMax
    assert media_files.FILE_COPIED_BYTES_MAX == 16 << 20
    monkeypatch.setattr(media_files, "FILE_BYTES_MAX", 40)
    monkeypatch.setattr(media_files, "FILE_COPIED_BYTES_MAX", 39)
    for size in (39, 40):
        path = tmp_path / f"{size}.gif"
        path.write_bytes(b"GIF89a".ljust(size, b"."))
        run.log({str(size): tracker.Video(path)}, step=0)
        assert media(run, str(size))[0].bytes == path.read_bytes()
    path.write_bytes(b"GIF89a".ljust(41, b"."))
    with pytest.raises(ValueError, match="41 bytes; at most 40"):
        sound(tracker.Video(path))


def test_arrays_of_audio_and_video(monkeypatch: pytest.MonkeyPatch) -> None:
    assert audio_video.ARRAY_BYTES_MAX == 256 << 20
    monkeypatch.setattr(audio_video, "ARRAY_BYTES_MAX", 96)
    tracker.Audio(np.zeros(48), sample_rate=8)
    tracker.Video(np.zeros((2, 4, 4, 3)))
    with pytest.raises(ValueError, match="98 bytes"):
        sound(tracker.Audio(np.zeros(49), sample_rate=8))
    with pytest.raises(ValueError, match="144 bytes"):
        sound(tracker.Video(np.zeros((3, 4, 4, 3))))


def test_rate_channels_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    tracker.Audio(np.zeros((2, audio_video.AUDIO_CHANNELS_MAX)), sample_rate=audio_video.SAMPLE_RATE_MAX)
    with pytest.raises(ValueError, match="1 to 1,000,000"):
        sound(tracker.Audio(np.zeros(2), sample_rate=audio_video.SAMPLE_RATE_MAX + 1))
    with pytest.raises(ValueError, match="at most 32 channels"):
        sound(tracker.Audio(np.zeros((2, audio_video.AUDIO_CHANNELS_MAX + 1)), sample_rate=8))
    tracker.Video(np.zeros((audio_video.VIDEO_FRAMES_MAX, 1, 1, 1)), fps=audio_video.FPS_MAX)
    with pytest.raises(ValueError, match="at most 10,000"):
        sound(tracker.Video(np.zeros((audio_video.VIDEO_FRAMES_MAX + 1, 1, 1, 1))))


def test_rows_columns_and_cells_of_a_table(monkeypatch: pytest.MonkeyPatch, run: tracker.Run) -> None:
    run.log({"a": tracker.Table({"n": list(range(TABLE_ROWS_MAX))})}, step=0)
    assert run.flush(120)
    assert media(run)[0].load().columns["n"] == list(range(TABLE_ROWS_MAX))
    with pytest.raises(ValueError, match="at most 200,000"):
        sound(tracker.Table({"n": range(TABLE_ROWS_MAX + 1)}))
    tracker.Table({str(i): [1] for i in range(TABLE_COLUMNS_MAX)})
    with pytest.raises(ValueError, match="at most 1,000"):
        sound(tracker.Table({str(i): [1] for i in range(TABLE_COLUMNS_MAX + 1)}))
    assert table_columns.TABLE_CELLS_MAX == 4_000_000
    monkeypatch.setattr(table_columns, "TABLE_CELLS_MAX", 6)
    tracker.Table([[1, 2]] * 3, columns=["a", "b"])
    with pytest.raises(ValueError, match="8 cells; at most 6"):
        sound(tracker.Table([[1, 2]] * 4, columns=["a", "b"]))


# Bug: a table whose document is too large was encoded as a whole, seconds for the allowed number of cells.
def test_a_tables_document_is_refused_before_more_of_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    typed: list[str] = []

    real = table_cells.Cells.column

    def count_typed(self: Any, name: str, values: list[Any]) -> str:
        typed.append(name)
        return real(self, name, values)

    monkeypatch.setattr(table_cells.Cells, "column", count_typed)
    monkeypatch.setattr(table, "DOCUMENT_BYTES_MAX", 1000)
    columns = {f"c{i}": [1 / 3] * 20 for i in range(10)}
    with pytest.raises(ValueError, match="a table of 20 × 10 cells has a document of more than 1,000 bytes"):
        sound(tracker.Table(columns))
    assert typed == ["c0", "c1"]
    typed.clear()
    assert table.CELL_BYTES_MIN == 2
    with pytest.raises(ValueError, match="more than 1,000 bytes"):
        sound(tracker.Table({f"c{i}": [1] * 51 for i in range(10)}))
    assert typed == []


def test_names_and_cells_of_a_table() -> None:
    tracker.Table([["x" * CELL_CHARS_MAX]], columns=["n" * COLUMN_NAME_CHARS_MAX])
    assert "is cut at 65,536" in tracker.Table([["x" * (CELL_CHARS_MAX + 1)]], columns=["n"])._remarks[0]
    assert "is cut at 256" in tracker.Table([], columns=["n" * (COLUMN_NAME_CHARS_MAX + 1)])._remarks[0]


def test_bins_classes_and_points() -> None:
    tracker.Histogram([1, 2], bins=HISTOGRAM_BINS_MAX)
    tracker.Histogram(counts=[1] * HISTOGRAM_BINS_MAX, edges=range(HISTOGRAM_BINS_MAX + 1))
    with pytest.raises(ValueError, match="1 to 2048"):
        sound(tracker.Histogram([1, 2], bins=HISTOGRAM_BINS_MAX + 1))
    with pytest.raises(ValueError, match="1 to 2048"):
        sound(tracker.Histogram(counts=[1] * (HISTOGRAM_BINS_MAX + 1), edges=range(HISTOGRAM_BINS_MAX + 2)))
    sound(tracker.confusion_matrix(range(CLASSES_MAX), range(CLASSES_MAX)))
    with pytest.raises(ValueError, match="1 to 1000 classes"):
        sound(tracker.confusion_matrix(range(CLASSES_MAX + 1), range(CLASSES_MAX + 1)))


def test_points_of_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    assert histograms_curves.CURVE_POINTS_MAX == 1_000_000
    monkeypatch.setattr(histograms_curves, "CURVE_POINTS_MAX", 3)
    tracker.roc_curve([0, 1], [0.1, 0.2])
    with pytest.raises(ValueError, match="4 points; at most 3"):
        sound(tracker.roc_curve([0, 1, 1], [0.1, 0.2, 0.3]))


def test_a_kind_of_the_c_interface_has_a_bound() -> None:
    assert len("image") < K_MEDIA_KIND_BYTES_MAX  # at its edge: tests/unit/run/media_test.cc


def test_a_process_that_ends_waits_a_bounded_time_for_media() -> None:
    assert EXIT_MS_MAX <= 2000


# Regression: the end of the interpreter unwound the thread that was in the library, and the process aborted.
def test_a_process_that_ends_while_a_stuck_disk_has_a_medium_ends_with_its_own_code(
    store: Path, tmp_path: Path
) -> None:
    (tmp_path / "slow.c").write_text("#include <unistd.h>\nint fsync(int fd) { (void)fd; sleep(8); return 0; }\n")
    library = tmp_path / "slow.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "slow.c"], check=True)
    code = """
        import sys, tracker
        run = tracker.init(project="test", quiet=True)
        run.log({"a": tracker.Html("<p>" * 100_000)}, step=0)
        sys.exit(7)
    """
    environment = {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": str(Path(tracker.__file__).parent.parent)}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert (ended.returncode, "terminate" in ended.stderr) == (7, False), ended.stderr


def test_storing_raw_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch, run: tracker.Run) -> None:
    image = tracker.Image(np.zeros((4, 4), np.uint8))
    monkeypatch.setattr(encode_queue, "HELD_BYTES_MAX", 15)
    monkeypatch.setitem(encode_queue.queue()._used, "large", 1)
    monkeypatch.setattr(encode_queue, "RAW_CALL_MS_MAX", -1)
    run.log({"a": image}, step=0)
    assert list(Path(run.dir).rglob("*.npy")) == []
    monkeypatch.setattr(encode_queue, "RAW_CALL_MS_MAX", 600_000)
    run.log({"b": image}, step=0)
    run.finish()
    stored = tracker.open_run(run.uid)
    assert stored.media_names() == ["b"]
    assert stored.media("b")[0].load().shape == (4, 4)


def test_the_bounds_of_the_queue_are_those_of_the_documentation() -> None:
    queue = encode_queue
    assert (queue.HELD_BYTES_MAX, queue.HELD_DOCUMENT_BYTES_MAX) == (16 << 20, 32 << 20)
    assert (queue.RAW_CALL_MS_MAX, queue.RAW_END_MS_MAX) == (100, 250)
    assert (queue.QUEUED_VALUES_MAX, queue.WAIT_CALL_MS, queue.WAIT_TOTAL_MS) == (10_000, 10, 100)
    assert medium.INLINE_BYTES_MAX == 64 << 10
