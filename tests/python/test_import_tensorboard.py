# SPDX-License-Identifier: MIT
"""Goal: an image in an event file is an image of the run, with the bytes it had.

Method: an event as torch's SummaryWriter writes it, imported by the command.
"""

from __future__ import annotations

import io
import struct
from pathlib import Path

from importing import import_json, opened
from PIL import Image


def masked_crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def field(number: int, data: bytes) -> bytes:
    size = bytes([len(data)]) if len(data) < 128 else bytes([len(data) & 127 | 128, len(data) >> 7])
    return bytes([number << 3 | 2]) + size + data


def record(event: bytes) -> bytes:
    head = struct.pack("<Q", len(event))
    return head + struct.pack("<I", masked_crc32c(head)) + event + struct.pack("<I", masked_crc32c(event))


def test_an_image_in_an_event_file_becomes_an_image_of_the_run(tmp_path: Path) -> None:
    png = io.BytesIO()
    Image.new("RGB", (6, 4), (1, 2, 3)).save(png, "PNG")
    image = bytes([0x08, 4, 0x10, 6]) + field(4, png.getvalue())
    summary = field(1, field(1, b"img") + field(4, image))
    event = b"\x09" + struct.pack("<d", 1.7e9) + b"\x10\x05" + field(5, summary)
    source = tmp_path / "logs" / "events.out.tfevents.1.host"
    source.parent.mkdir()
    source.write_bytes(record(event))
    report = import_json(tmp_path / "s", source)
    assert report["runs"][0]["media"] == 1
    assert report["left_out"] == {}
    (entry,) = opened(tmp_path / "s", report).media("img")
    assert (entry.step, entry.time, entry.bytes) == (5, 1.7e9, png.getvalue())
    assert entry.load().tolist() == [[[1, 2, 3]] * 6] * 4
