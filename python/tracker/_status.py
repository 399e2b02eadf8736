# SPDX-License-Identifier: MIT
"""What run.status() returns."""

from __future__ import annotations

from typing import NamedTuple


class RunStatus(NamedTuple):
    """Where the points of this process are: logged = stored + dropped + pending. A copy; it does not change."""

    points_logged: int
    points_stored: int  # committed to the database
    points_dropped: int  # counted, never stored
    points_pending: int  # accepted, not yet committed
    values_rejected: int  # bad values and keys: never became points
    values_rounded: int  # ints beyond int64, stored as float64
    values_redacted: int  # secrets, stored as "[redacted]"
    bytes_stored: int
    journal_bytes: int  # memory of rings and spill file
    journal: str  # "shm", "disk", "memory" or "none"
    survives: tuple[str, ...]  # what an accepted point survives now: "process", "container", "power"
    degraded: bool  # the store cannot be written now; see last_error
    recording: bool
    why_not_recording: str
    last_error: str
    store_files: str  # "sqlite", "frames" (a network or FUSE file system) or "none" (not opened yet)
    file_system: str  # what they lie on: "local", "NFS", ...
    store_parts: int  # files the database stands in; more than 1: a reader keeps a WAL from being emptied
    recovered_points: int  # replayed at init from a dead attempt of this run

    def __str__(self) -> str:
        points = (
            f"{self.points_logged:,} points logged = {self.points_stored:,} stored + {self.points_dropped:,} dropped"
            f" + {self.points_pending:,} pending"
        )
        if not self.recording:
            return f"{points}; not recording: {self.why_not_recording or 'ended'}"
        text = f"{points}; survives: {', '.join(self.survives) or 'nothing yet'} (journal: {self.journal})"
        if self.store_files == "frames":
            text += f"; written as .frames files ({self.file_system})"
        if self.values_rejected:
            text += f"; {self.values_rejected:,} bad values"
        if self.degraded:
            text += f"; the store cannot be written: {self.last_error}"
        return text
