# SPDX-License-Identifier: MIT
"""tracker itself, with its defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rivals import Log, Series

NAME = "tracker"
MODULES = ["tracker"]
DURABLE = "process: all; container: all but 100 ms; power: all but one second; all after flush or finish"
SETTINGS = "its defaults; quiet=True"


class Ours:
    def __init__(self, folder: str) -> None:
        import tracker

        self.run: Any = tracker.init(project="bench", id="run", dir=folder + "/store", quiet=True)

    def log(self, values: Mapping[str, float], step: int) -> None:
        self.run.log(values, step=step)

    def flush(self) -> None:
        self.run.flush()

    def finish(self) -> None:
        self.run.finish()


def open(folder: str) -> Log:
    return Ours(folder)


def read(folder: str, key: str) -> Series:
    import tracker

    history = tracker.open_run("bench/run", dir=folder + "/store").history(key)
    return history.steps, history.values


def dropped(folder: str) -> int:
    import tracker

    return int(tracker.open_run("bench/run", dir=folder + "/store").losses.dropped)
