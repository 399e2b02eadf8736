# SPDX-License-Identifier: MIT
"""Goal: media of SwanLab become media of the run, once, and no file beside its folder is read.

Method: a run of SwanLab 0.10 with the files beside it (make_data.py), whole, in parts, without them, and with others in
their place; items of records made by hand, and flipped bits.
"""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import tracker
from importing import import_json, opened, unpacked
from tracker._media.medium import INLINE_BYTES_MAX, LIST_VALUES_MAX
from tracker.exchange import leveldb_log
from tracker.exchange.swanlab_media import media_of, text_of

IMAGE, TEXT, ECHARTS, OBJECT3D = 2, 4, 6, 7


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return unpacked(tmp_path, "swanlab_media")


def all_media(run: Any) -> dict[str, list[tuple[int, str, str | None]]]:
    return {name: [(e.step, e.kind, e.caption) for e in run.media(name, all=True)] for name in run.media_names()}


def item(filename: str = "", payload: bytes = b"", caption: str = "") -> bytes:
    """A MediaItem."""
    parts = [(0x0A, filename.encode()), (0x22, caption.encode()), (0x2A, payload)]
    return b"".join(bytes([tag]) + varint(len(data)) + data for tag, data in parts if data)


def varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out, number = out + bytes([number & 0x7F | 0x80]), number >> 7
    return out + bytes([number])


def test_media_of_swanlab_keep_steps_captions_and_their_place_in_a_list(tmp_path: Path, folder: Path) -> None:
    # Bug: they were counted alone.
    report = import_json(tmp_path / "s", folder)
    run = opened(tmp_path / "s", report)
    assert all_media(run) == {
        "chart": [(4, "text", None)],
        "film": [(3, "video", "a dot")],
        "img": [(0, "image", "seven"), (2, "image", None)],
        "many": [(2, "image", "two"), (2, "image", "three"), (2, "image", None)],
        "nested/img": [(0, "image", None)],
        "notes": [(5, "text", None), (5, "text", None)],
        "page": [(4, "html", "bold")],
        "photo": [(3, "image", None)],
        "said": [(5, "text", "a word")],
        "tone": [(3, "audio", "quiet")],
    }
    assert [entry.load()[0][0].tolist() for entry in run.media("many")] == [[2, 2, 2], [3, 3, 3], [2, 2, 2]]
    assert [entry.info.get("index") for name in ("many", "img") for entry in run.media(name)] == [0, 1, 2, None, None]
    assert abs(run.media("img")[0].time - run.history("loss").times[0]) < 1
    assert [entry.load() for entry in run.media("notes")] == ["one", "two"]
    assert [entry.load() for entry in run.media("page")] == ["<b>x</b>"]
    assert '"animation": true' in run.media("chart")[0].load()
    assert run.media("tone")[0].load()[1] == 8000
    assert run.media("film")[0].bytes[:6] == b"GIF89a"
    assert [row.text for row in run.texts("note")] == ["a text"]
    assert (report["left_out"]["images"], report["left_out"]["3D objects"]) == (1, 1)


def test_media_of_swanlab_are_imported_once(tmp_path: Path, folder: Path) -> None:
    first = import_json(tmp_path / "s", folder)
    before = all_media(opened(tmp_path / "s", first))
    second = import_json(tmp_path / "s", folder)
    assert not second["runs"][0]["changed"]
    assert all_media(opened(tmp_path / "s", second)) == before


def test_media_that_swanlab_logs_after_an_import_are_added_by_the_next_one(tmp_path: Path, folder: Path) -> None:
    (path,) = folder.glob("*.swanlab")
    whole = path.read_bytes()
    with path.open("rb") as file:
        ends = [at for at, _ in leveldb_log.records(file, str(path), leveldb_log.SWANLAB)]
    stored = []
    for end in (*ends[len(ends) // 3 :: 5], len(whole)):
        path.write_bytes(whole[:end])
        stored.append(import_json(tmp_path / "s", folder)["runs"][0]["media"])
    assert len([count for count in stored if count]) > 2
    shutil.rmtree(tmp_path / "one", ignore_errors=True)
    at_once = opened(tmp_path / "one", import_json(tmp_path / "one", folder))
    in_parts = tracker.open_run(at_once.uid, dir=str(tmp_path / "s"))
    assert all_media(in_parts) == all_media(at_once)
    assert [e.load().tolist() for e in in_parts.media("img")] == [e.load().tolist() for e in at_once.media("img")]


def test_media_of_swanlab_whose_files_stayed_elsewhere_are_counted(tmp_path: Path, folder: Path) -> None:
    shutil.rmtree(folder / "media")
    report = import_json(tmp_path / "s", folder)
    assert opened(tmp_path / "s", report).media_names() == []
    assert {kind: count for kind, count in report["left_out"].items() if "file" in kind and kind != "files"} == {
        "images without their file": 9,  # of them a video
        "audio without their file": 1,
        "texts without their file": 4,
        "charts without their file": 1,
        "HTML without their file": 1,
    }


def test_no_file_outside_the_folder_of_swanlab_becomes_a_medium(tmp_path: Path, folder: Path) -> None:
    images = folder / "media" / "image"
    secret = tmp_path / "secret.png"
    picture = next(iter(images.glob("000-*.png")))
    shutil.copy(picture, secret)
    picture.unlink()
    picture.symlink_to(secret)
    report = import_json(tmp_path / "s", folder)
    assert report["left_out"]["images without their file"] == 1
    heard: list[str] = []
    names = ("../../../../secret.png", str(secret), picture.name, "a\0b", "", ".", "..", "x/../../../../../secret.png")
    assert list(media_of(IMAGE, [item(name) for name in names], folder, heard.append)) == []
    assert heard == ["images without their file"] * len(names)
    images.rename(tmp_path / "image")
    images.symlink_to(tmp_path / "image")
    assert list(media_of(IMAGE, [item(next((tmp_path / "image").glob("002-*")).name)], folder, heard.append)) == []


def test_items_of_records_that_fit_nothing_are_counted(tmp_path: Path) -> None:
    heard: list[str] = []
    (made,) = media_of(IMAGE, [item(payload=b"GIF89a;")], tmp_path, heard.append)
    assert made.kind == "video"  # SwanLab keeps its videos among the images
    assert list(media_of(IMAGE, [item(payload=b"BM and more"), b"\x0a\xff"], tmp_path, heard.append)) == []
    assert list(media_of(OBJECT3D, [item(payload=b"{}")], tmp_path, heard.append)) == []
    assert list(media_of(99, [b"", b""], tmp_path, heard.append)) == []
    assert heard == ["images", "images", "3D objects", *["media of other kinds"] * 2]
    heard.clear()
    charts = [item(payload=b"{}")] * (LIST_VALUES_MAX + 2)
    assert sum(1 for _ in media_of(ECHARTS, charts, tmp_path, heard.append)) == LIST_VALUES_MAX
    assert heard == ["charts"] * 2


def test_a_text_without_a_caption_stays_a_text_up_to_64_kib(tmp_path: Path) -> None:
    assert text_of([item(payload=b"x" * INLINE_BYTES_MAX)], tmp_path) == "x" * INLINE_BYTES_MAX
    for items in (
        [item(payload=b"x" * (INLINE_BYTES_MAX + 1))],
        [item(payload=b"x", caption="said")],
        [item(payload=b"x")] * 2,
    ):
        assert text_of(items, tmp_path) is None
        assert sum(1 for _ in media_of(TEXT, items, tmp_path, pytest.fail)) == len(items)
    assert text_of([item("gone.txt")], tmp_path) is None
    assert text_of([b"\x0a\xff"], tmp_path) is None


def test_flipped_bits_in_a_run_of_swanlab_or_its_media_never_end_in_a_traceback(tmp_path: Path, folder: Path) -> None:
    seed = int(os.environ.get("TRACKER_TEST_SEED", random.randrange(1 << 32)))
    print(f"TRACKER_TEST_SEED={seed}")
    rng = random.Random(seed)
    store = tracker._core.ImportStore.open(str(tmp_path / "s"))
    for i in range(10):
        damaged = tmp_path / f"damaged-{i}"
        shutil.copytree(folder, damaged)
        for path in sorted(damaged.rglob("*.*")):
            whole = bytearray(path.read_bytes()) if path.is_file() else bytearray()
            if whole:
                whole[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
                path.write_bytes(whole)
        tracker.exchange.import_source(store, "swanlab", str(damaged), "", lambda done, total: None)
        for _ in range(50):
            noise = [rng.randbytes(rng.randrange(60)) for _ in range(rng.randrange(4))]
            kind = rng.randrange(12)
            text_of(noise, folder)
            assert sum(1 for _ in media_of(kind, noise, folder, lambda _: None)) <= len(noise)
