# SPDX-License-Identifier: MIT
"""write(2) for each point: what the mechanism of a ring must beat."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from pathlib import Path

from rivals import Log, Series

NAME = "write(2) a point"
MODULES: list[str] = []
DURABLE = "process: all; power: what the kernel has written back (up to 30 s), all after finish (fsync)"
SETTINGS = "a file a key, 16 bytes a point"
POINT = struct.Struct("<qd")


class Files:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.files: dict[str, int] = {}

    def log(self, values: Mapping[str, float], step: int) -> None:
        for key, value in values.items():
            file = self.files.get(key)
            if file is None:
                path = Path(self.folder, key.replace("/", "%2F"))
                file = self.files[key] = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
            os.write(file, POINT.pack(step, value))

    def flush(self) -> None:
        pass

    def finish(self) -> None:
        for file in self.files.values():
            os.fsync(file)
            os.close(file)


def open(folder: str) -> Log:
    return Files(folder)


def read(folder: str, key: str) -> Series:
    data = Path(folder, key.replace("/", "%2F")).read_bytes()
    points = list(POINT.iter_unpack(data[: len(data) // POINT.size * POINT.size]))
    return [step for step, _ in points], [value for _, value in points]


def dropped(folder: str) -> int:
    return 0
