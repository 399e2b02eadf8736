# SPDX-License-Identifier: MIT
"""An import of run files of W&B or SwanLab, one after the other: each record goes to the tool's reader; what cannot be
read is a problem of the import, and the rest is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tracker.exchange.leveldb_log import DamagedError, LogKind, records
from tracker.exchange.rows import Rows

if TYPE_CHECKING:
    from tracker import _core

Progress = Callable[[int, int], None]  # (what is read, all of it)
PROGRESS_BYTES = 1 << 20
# What a value of a hostile or odd file makes Python or the core raise.
NOT_READ = (ValueError, TypeError, OverflowError, RecursionError)


def with_progress(paths: list[str], progress: Progress) -> Iterator[tuple[str, Callable[[int], None]]]:
    """Each file with a function to report how far it is read."""
    total = sum(Path(path).stat().st_size for path in paths)
    done = 0

    def report_after(before: int) -> Callable[[int], None]:
        return lambda at: progress(before + at, total)

    for path in paths:
        yield path, report_after(done)
        done += Path(path).stat().st_size


class RunFile:
    """One file, which is one run. Private: the base of the tools' readers."""

    def __init__(self, store: _core.ImportStore, path: str, project: str, progress: Callable[[int], None]) -> None:
        self.store, self.path, self.project, self.progress = store, path, project, progress
        self.rows: Rows | None = None  # from the record on that names the run
        self.ended_us = 0
        self.read_bytes = 0  # up to the end of the current record

    def carry(self, kind: LogKind) -> None:
        shown = 0
        with open(self.path, "rb") as file:
            try:
                for at, record in records(file, self.path, kind):
                    self.read_bytes = at
                    try:
                        self._record(record)
                    except NOT_READ as error:
                        self.store.problem(f"{self.path}: the record that ends at byte {at} cannot be read: {error}")
                    if at - shown >= PROGRESS_BYTES:
                        shown = at
                        self.progress(at)
            except DamagedError as error:
                self.store.problem(f"{error} (what is before it was taken)")
        if self.rows is None:
            self.store.problem(f"{self.path} names no run; nothing of it was stored")
        else:
            self._end(self.rows)

    def _record(self, record: bytes) -> None:
        raise NotImplementedError

    def _end(self, rows: Rows) -> None:
        raise NotImplementedError
