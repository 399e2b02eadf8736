# SPDX-License-Identifier: MIT
"""tensorboardX: a TensorBoard event file written by a thread behind a queue. It has no reader: the file is read as
TensorBoard's documentation of the record format has it, without its checksums."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rivals import Log, Series

NAME = "tensorboardX"
MODULES = ["tensorboardX"]
DURABLE = (
    "process: what its thread has written (queue of 10, flush each 120 s); power: what the kernel has written back"
)
SETTINGS = "its defaults (max_queue=10, flush_secs=120); one add_scalar a key, its documented call"


class Events:
    def __init__(self, folder: str) -> None:
        from tensorboardX import SummaryWriter

        self.writer: Any = SummaryWriter(folder)

    def log(self, values: Mapping[str, float], step: int) -> None:
        for key, value in values.items():
            self.writer.add_scalar(key, value, step)

    def flush(self) -> None:
        self.writer.flush()

    def finish(self) -> None:
        self.writer.close()


def open(folder: str) -> Log:
    return Events(folder)


def read(folder: str, key: str) -> Series:
    from tensorboardX.proto import event_pb2

    steps: list[int] = []
    values: list[float] = []
    for path in sorted(Path(folder).glob("events.out.tfevents.*")):
        data = path.read_bytes()
        at = 0
        while at + 12 <= len(data):
            (size,) = struct.unpack_from("<Q", data, at)
            if at + 16 + size > len(data):
                break  # the end is torn
            event = event_pb2.Event()
            event.ParseFromString(data[at + 12 : at + 12 + size])
            at += 16 + size
            for value in event.summary.value:
                if value.tag == key:
                    steps.append(event.step)
                    values.append(value.simple_value)
    return steps, values


def dropped(folder: str) -> int:
    return 0
