# SPDX-License-Identifier: MIT
"""Goal: what cannot be kept as it is meant is refused where it is given, in words that say what to do, and never stored
as something else.

Method: values as users have them at hand: a column of pandas, a file in another encoding, masked arrays, images in
colours of print, media in the place of a setting.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import tracker
from PIL import Image as PillowImage
from tracker._media.audio_video import FPS_MIN
from tracker._media.medium import sound
from tracker._media.table_columns import TABLE_ROWS_MAX


def test_a_column_of_arrow_is_no_table_and_the_error_says_how_it_becomes_one() -> None:
    # Bug: ArrowInvalid of pyarrow.
    with pytest.raises(TypeError, match=r"a ChunkedArray is no table .*a column has a name"):
        sound(tracker.Table(pa.chunked_array([[1, 2]])))


class Rows:
    """So many that the code must not read each."""

    def __len__(self) -> int:
        return TABLE_ROWS_MAX + 1

    def __iter__(self) -> Any:
        raise AssertionError("they were copied")


@pytest.mark.parametrize(
    "given",
    [
        lambda: (Rows(), ["a"]),
        lambda: ({"a": Rows()}, None),
        lambda: (([i] for i in itertools.count()), ["a"]),
    ],
)
def test_too_many_rows_are_refused_before_they_are_copied(given: Callable[[], tuple[Any, Any]]) -> None:
    # Bug: all of them were copied first, of which a huge array ran out of memory, and an endless one never ended.
    data, columns = given()
    with pytest.raises(ValueError, match="a table has 200,001 rows; at most 200,000"):
        sound(tracker.Table(data, columns=columns))


@pytest.mark.parametrize("kind", [tracker.Text, tracker.Markdown, tracker.Html])
def test_a_file_that_is_no_utf_8_is_named(tmp_path: Path, kind: Any) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes("naïve".encode("latin-1"))
    with pytest.raises(ValueError, match=rf"{path} is no UTF-8: invalid continuation byte at byte 2") as raised:
        sound(kind(path))
    assert type(raised.value) is ValueError


def test_a_video_slower_than_its_format_can_say_is_refused(run: tracker.Run) -> None:
    # Bug: it was taken, and dropped when it was encoded.
    frames = np.zeros((2, 8, 8, 3), np.uint8)
    for fps in (1e-9, FPS_MIN / 2):
        with pytest.raises(ValueError, match=r"fps must be 0.01 to 100"):
            sound(tracker.Video(frames, fps=fps))
    for format in ("gif", "webp"):
        run.log({format: tracker.Video(frames, fps=FPS_MIN, format=format)}, step=0)
    assert run.flush()
    assert len(tracker.open_run(run.uid).media("gif") + tracker.open_run(run.uid).media("webp")) == 2


def test_masked_values_are_refused_and_an_empty_mask_is_none() -> None:
    # Bug: what is masked was shown.
    shown = np.ma.masked_array(np.zeros((4, 4)), np.eye(4))
    with pytest.raises(ValueError, match="masked values"):
        sound(tracker.Image(shown))
    assert "masked values" in tracker.Image(np.zeros((4, 4)), masks={"m": shown.astype(int)})._remarks[0]
    tracker.Image(np.ma.masked_array(np.zeros((4, 4)), False))
    tracker.Image(shown.filled(1))


def test_an_image_of_lab_colours_keeps_them(run: tracker.Run) -> None:
    # Bug: its "a" was taken for an alpha, and the image could not be seen.
    run.log({"lab": tracker.Image(PillowImage.new("LAB", (4, 4), (136, 208, 195)))}, step=0)
    assert run.flush()
    pixels = tracker.open_run(run.uid).media("lab")[0].load()
    assert pixels.shape == (4, 4, 3)
    assert abs(pixels[0, 0].astype(int) - [255, 0, 0]).max() <= 12  # red


def test_media_are_no_settings(run: tracker.Run, capfd: pytest.CaptureFixture[str]) -> None:
    # Bug: the repr of the medium was stored, and nothing said so.
    image = tracker.Image(np.zeros((4, 4)))
    run.config["a"] = image
    run.config.update({"b": [image], "c": {"d": image, "e": 1}})
    run.summary["f"] = image
    said = capfd.readouterr().err
    assert run.config.as_dict() == {"c": {"e": 1}}
    assert dict(run.summary) == {}
    for key in ("a", "b", "c/d", "f"):
        assert said.count(f"'{key}': config and summary take no media, got Image") == 1
    assert run.status().values_rejected == 4


def test_media_in_the_config_of_init_are_left_out(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    given = {"lr": 0.1, "image": tracker.Image(np.zeros((4, 4)))}
    with tracker.init(dir=str(tmp_path), config=given) as run:
        assert run.config.as_dict() == {"lr": 0.1}
    assert "'image': config and summary take no media" in capfd.readouterr().err
    with pytest.raises(TypeError, match="'image': config and summary take no media, got Image"):
        tracker.init(dir=str(tmp_path), config=given, strict=True)
    with tracker.init(dir=str(tmp_path), strict=True) as run:
        with pytest.raises(TypeError, match="'a': config and summary take no media"):
            run.config["a"] = given["image"]
        with pytest.raises(TypeError, match="'a': config and summary take no media"):
            run.summary["a"] = given["image"]
