# SPDX-License-Identifier: MIT
"""An empty function: the floor of every row."""

from __future__ import annotations

from collections.abc import Mapping

from rivals import Log, Series

NAME = "empty function"
MODULES: list[str] = []
DURABLE = "nothing"
SETTINGS = "–"


class Nothing:
    def log(self, values: Mapping[str, float], step: int) -> None:
        pass

    def flush(self) -> None:
        pass

    def finish(self) -> None:
        pass


def open(folder: str) -> Log:
    return Nothing()


def read(folder: str, key: str) -> Series:
    return [], []


def dropped(folder: str) -> int:
    return 0
