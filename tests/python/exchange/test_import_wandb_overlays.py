# SPDX-License-Identifier: MIT
"""Goal: boxes and masks of W&B's images are those of the image, in pixels and with the names of their classes.

Method: a run of W&B 0.31 with the files beside it (make_data.py); files of boxes and masks made by hand and at random.
"""

from __future__ import annotations

import json
import os
import random
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from importing import import_json, opened, unpacked
from PIL import Image
from tracker._media.image_array import IMAGE_PIXELS_MAX
from tracker._media.image_overlays import BOXES_MAX, MASKS_MAX
from tracker.exchange import wandb_overlays
from tracker.exchange.wandb_media import media_of
from tracker.exchange.wandb_overlays import Overlays

FOUND = [
    {"box": [3.0, 1.0, 6.0, 2.0], "label": "cat", "score": 0.75},
    {"box": [2.0, 1.0, 4.0, 3.0], "label": "a dog"},
]
TRUE = [{"box": [3.0, 1.0, 6.0, 2.0], "label": "class_1", "score": 0.75}]


def image_with(folder: Path, boxes: Any = None, mask: Any = None, **more: Any) -> dict[str, Any]:
    """What a history says of an image of 6 × 4 pixels whose one file of boxes and one mask are these."""
    Image.new("RGB", (6, 4)).save(folder / "image.png")
    value: dict[str, Any] = {"_type": "image-file", "path": "image.png", "width": 6, "height": 4}
    if boxes is not None:
        (folder / "boxes.json").write_text(boxes if isinstance(boxes, str) else json.dumps({"box_data": boxes}))
        value["boxes"] = {"found": {"_type": "boxes2D", "path": "boxes.json"}}
    if mask is not None:
        mask.save(folder / "mask.png")
        value["masks"] = {"parts": {"_type": "mask", "path": "mask.png"}}
    return {**value, **more}


def at(*corners: float, **more: Any) -> dict[str, Any]:
    names = ("minX", "minY", "maxX", "maxY")
    return {"position": dict(zip(names, corners, strict=True)), "domain": "pixel", **more}


def test_boxes_and_masks_of_wandb_are_those_of_the_image(tmp_path: Path) -> None:
    # Bug: they were counted alone.
    run = opened(tmp_path / "s", import_json(tmp_path / "s", unpacked(tmp_path, "wandb_media")))
    plain, listed = run.media("both")
    assert (plain.caption, plain.info.get("boxes"), plain.info.get("masks")) == ("five", None, None)
    for entry in (*run.media("seen"), *run.media("nested/seen"), listed):
        assert entry.caption == "seen"
        assert entry.info["boxes"] == {"found": FOUND, "true": TRUE}
        assert entry.info["masks"]["parts"]["labels"] == {"1": "cat", "2": "dog"}
    assert run.media("boxed")[0].info["boxes"] == {"found": [{"box": [0.0, 0.0, 6.0, 4.0], "label": "class_1"}]}
    (entry,) = run.media("seen")
    digest = entry.info["masks"]["parts"]["digest"]
    (mask,) = Path(entry.path).parents[1].glob(f"*/{digest}.png")
    assert np.array(Image.open(mask)).tolist() == (np.arange(24).reshape(4, 6) % 3).tolist()


def test_scores_of_which_a_box_has_several_are_counted(tmp_path: Path) -> None:
    report = import_json(tmp_path / "s", unpacked(tmp_path, "wandb_media"))
    assert report["left_out"]["scores of boxes"] == 6  # two of a box that is in three images


def test_images_with_boxes_and_masks_are_imported_once(tmp_path: Path) -> None:
    folder = unpacked(tmp_path, "wandb_media")
    import_json(tmp_path / "s", folder)
    report = import_json(tmp_path / "s", folder)
    assert not report["runs"][0]["changed"]
    assert [len(opened(tmp_path / "s", report).media(name, all=True)) for name in ("seen", "both")] == [1, 2]


def test_boxes_that_are_none_are_counted_and_the_others_kept(tmp_path: Path) -> None:
    boxes: list[Any] = [
        at(0, 1, 2, 3, class_id=7),
        at(2, 1, 0, 3),
        at(0, 1, float("nan"), 3),
        {"position": {"middle": [1], "width": 1, "height": 1}},
        {"position": {"minX": "0"}},
        {"class_id": 1},
        7,
        at(0, 0, 1, 1, box_caption="x" * 1000, scores={"sure": float("inf")}),
        {**at(0, 0, 10**400, 1)},
    ]
    heard: list[str] = []
    (image,) = media_of(image_with(tmp_path, boxes), tmp_path, heard.append)
    said = image._encoder._said["boxes"]["found"]  # type: ignore[union-attr]
    assert said == [{"box": [0, 1, 2, 3], "label": "7"}, {"box": [0, 0, 1, 1], "label": "x" * 256}]
    assert sorted(heard) == [*["boxes of images"] * 7, "scores of boxes"]
    heard.clear()
    many = image_with(tmp_path, [at(0, 0, 1, 1)] * (BOXES_MAX + 2))
    assert len(Overlays(many, tmp_path, "", {}, heard.append).of(0)["boxes"]["found"]) == BOXES_MAX
    assert heard == ["boxes of images"] * 2


def test_parts_of_an_image_of_unknown_size_are_no_boxes(tmp_path: Path) -> None:
    heard: list[str] = []
    part = {**at(0, 0, 1, 1), "domain": None}
    value = image_with(tmp_path, [part, at(0, 0, 1, 1)], Image.new("L", (6, 4)), width=None)
    assert Overlays(value, tmp_path, "", {}, heard.append).of(0) == {
        "boxes": {"found": [{"box": [0, 0, 1, 1], "label": None}]}
    }
    assert heard == ["boxes of images"]


@pytest.mark.parametrize("mask", [Image.new("L", (5, 4)), Image.new("RGB", (6, 4)), Image.new("1", (6, 4))])
def test_what_is_no_mask_of_an_image_is_counted_and_the_image_kept(tmp_path: Path, mask: Any) -> None:
    heard: list[str] = []
    assert len(list(media_of(image_with(tmp_path, None, mask), tmp_path, heard.append))) == 1
    assert heard == ["values of type mask"]


def test_masks_are_bounded_in_number_and_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    value = image_with(tmp_path, None, Image.new("L", (6, 4)))
    value["masks"] = {f"mask {i}": value["masks"]["parts"] for i in range(MASKS_MAX + 2)}
    assert len(Overlays(value, tmp_path, "", {}, pytest.fail).of(0)["masks"]) == MASKS_MAX
    monkeypatch.setattr(wandb_overlays, "IMAGE_PIXELS_MAX", 6 * 4 * 3)
    assert len(Overlays(value, tmp_path, "", {}, pytest.fail).of(0)["masks"]) == 3
    monkeypatch.undo()
    monkeypatch.setattr(wandb_overlays, "_pixels", pytest.fail)
    value |= {"width": IMAGE_PIXELS_MAX, "height": 2}
    assert Overlays(value, tmp_path, "", {}, pytest.fail).of(0) == {}


def test_no_file_outside_the_runs_folder_becomes_an_overlay(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    value = image_with(folder, [at(0, 0, 1, 1)], Image.new("L", (6, 4)))
    (folder / "boxes.json").rename(tmp_path / "boxes.json")
    (folder / "boxes.json").symlink_to(tmp_path / "boxes.json")
    (folder / "mask.png").rename(tmp_path / "mask.png")
    value["masks"]["parts"]["path"] = "../mask.png"
    heard: list[str] = []
    assert len(list(media_of(value, folder, heard.append))) == 1
    assert heard == ["values of type boxes2D", "values of type mask"]


def test_random_overlays_never_cost_the_image(tmp_path: Path) -> None:
    seed = int(os.environ.get("TRACKER_TEST_SEED", random.randrange(1 << 32)))
    print(f"TRACKER_TEST_SEED={seed}")
    rng = random.Random(seed)
    words = ("position", "minX", "maxX", "minY", "maxY", "middle", "width", "height", "scores", "class_id", "\ud800",
             "domain", "box_caption", "path", "found")  # fmt: skip

    def anything(depth: int) -> Any:
        kind = rng.randrange(7 if depth else 4)
        if kind == 6:
            return [anything(depth - 1) for _ in range(rng.randrange(4))]
        if kind > 3:
            return {rng.choice(words): anything(depth - 1) for _ in range(rng.randrange(6))}
        return (None, rng.random() * 10, rng.randrange(-(1 << 70), 1 << 70), rng.choice(words))[kind]

    whole = json.dumps({"box_data": [at(0, 0, 1, 1, class_id=1)], "class_labels": {"1": "cat"}})
    for _ in range(300):
        boxes = rng.choice((whole[: rng.randrange(len(whole))], [anything(3) for _ in range(3)]))
        value = image_with(tmp_path, boxes, Image.new("L", (6, 4)))
        mask = bytearray((tmp_path / "mask.png").read_bytes())
        mask[rng.randrange(len(mask))] ^= 1 << rng.randrange(8)
        (tmp_path / "mask.png").write_bytes(mask)
        if rng.randrange(2):
            value |= {rng.choice(("boxes", "masks", "all_boxes", "width", "height")): anything(3)}
        names = {"mask/class_labels": anything(2), "bounding_box/class_labels": {"_wandb_delimeter_found": anything(2)}}
        assert len(list(media_of(value, tmp_path, lambda _: None, "", names))) == 1


def test_a_name_of_boxes_that_cannot_be_stored_costs_those_boxes_alone(tmp_path: Path) -> None:
    heard: list[str] = []
    value = image_with(tmp_path, [at(0, 0, 1, 1)])
    boxes = value["boxes"]["found"]
    value["boxes"] = {"\ud800": {**boxes}, "x" * 300: {**boxes}, "found": boxes}
    (image,) = media_of(value, tmp_path, heard.append)
    assert set(image._encoder._said["boxes"]) == {"found"}  # type: ignore[union-attr]
    assert heard == ["values of type boxes2D"] * 2


def test_overlays_of_what_is_no_image_are_counted(tmp_path: Path) -> None:
    heard: list[str] = []
    value = image_with(tmp_path, [at(0, 0, 1, 1)], Image.new("L", (6, 4)))
    (tmp_path / "image.png").write_bytes(b"no image")
    assert list(media_of(value, tmp_path, heard.append)) == [None]
    assert heard == ["values of type image-file", "values of type boxes2D", "values of type mask"]


def test_a_mask_that_says_it_is_huge_is_not_unpacked(tmp_path: Path) -> None:
    # Pillow raises an exception of its own for it.
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    side = 1 << 20
    head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
    heard: list[str] = []
    value = image_with(tmp_path, None, Image.new("L", (6, 4)))
    (tmp_path / "mask.png").write_bytes(head + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b""))
    assert len(list(media_of(value, tmp_path, heard.append))) == 1
    assert heard == ["values of type mask"]
