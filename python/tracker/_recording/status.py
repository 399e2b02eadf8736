# SPDX-License-Identifier: MIT
"""What run.status() returns."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class SeriesStatus(NamedTuple):
    """Where the points of one metric are: logged = stored + dropped + pending, all of one moment."""

    stored: int
    dropped: int
    pending: int

    @property
    def logged(self) -> int:
        return self.stored + self.dropped + self.pending


class Cost(NamedTuple):
    """What the tracker takes from this process."""

    call_seconds: float  # in calls that log: an estimate from samples
    thread_cpu_seconds: float  # CPU of the background threads
    memory_bytes: int  # rings, spill file and what waits for the disk, now
    memory_bytes_max: int  # and at most, as seen ten times a second
    bytes_written: int  # given to the kernel for the store's disk; 0 on tmpfs


class RunStatus(NamedTuple):
    """Where the points of this process are: logged = stored + dropped + pending. A copy; it does not change."""

    points_logged: int
    points_stored: int  # committed to the database
    points_dropped: int  # counted, never stored
    points_pending: int  # accepted, not yet committed
    texts_logged: int  # texts under a metric's key, which are no points: = stored + dropped + pending
    texts_stored: int
    texts_dropped: int
    texts_pending: int
    entries_dropped: int  # of config, summary, attributes, definitions, alerts: counted, not recorded
    values_rejected: int  # bad values and keys: never became points
    values_rounded: int  # ints beyond int64, stored as float64
    values_redacted: int  # secrets, stored as "[redacted]"
    media_logged: int  # images and the like: logged = stored + dropped + pending
    media_stored: int
    media_dropped: int  # no room in memory, on the disk, in time; the run keeps the reasons
    alerts_dropped: int  # more than a run takes: counted, not recorded
    console_cut_bytes: int  # written to stdout and stderr, but more at once than is recorded
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
    store_parts: int  # files the database consists of; more than 1: a reader keeps a WAL from being emptied
    recovered_points: int  # replayed at init from a dead attempt of this run
    max_disk: int | None  # bytes of the store at most; None: no bound
    disk_full: bool  # the store has reached it: new points are dropped and counted
    artifacts_stored: int  # of those that this process logged
    artifacts_pending: int
    artifacts_failed: int  # refused or given up; stderr has said why
    cost: Cost
    # status(series=True): by metric; "" has those lost for no metric in particular. None where it was not asked for.
    series: Mapping[str, SeriesStatus] | None = None
    steps_changed: int = 0  # steps that were no whole number of int64: the floor was taken, or none
    values_on_device: int = 0  # on their way from a GPU (docs/devices.md); points when they have arrived, not before
    media_plainer: int = 0  # logged in a plainer form: of another range, without a box, a cell as text

    @property
    def media_pending(self) -> int:
        """On their way: waiting to be encoded, or being stored."""
        return self.media_logged - self.media_stored - self.media_dropped

    def __str__(self) -> str:
        points = (
            f"{self.points_logged:,} points logged = {self.points_stored:,} stored + {self.points_dropped:,} dropped"
            f" + {self.points_pending:,} pending"
        )
        if self.texts_dropped:
            points += f"; {self.texts_dropped:,} of {self.texts_logged:,} texts dropped"
        if self.entries_dropped:
            points += f"; {self.entries_dropped:,} values of config, summary or the environment dropped"
        if not self.recording:
            return f"{points}; not recording: {self.why_not_recording or 'ended'}"
        text = f"{points}; survives: {', '.join(self.survives) or 'nothing yet'} (journal: {self.journal})"
        if self.store_files == "frames":
            text += f"; written as .frames files ({self.file_system})"
        if self.values_rejected:
            text += f"; {self.values_rejected:,} bad values"
        if self.steps_changed:
            text += f"; {self.steps_changed:,} steps that were no whole number"
        if self.artifacts_pending or self.artifacts_failed:
            text += (
                f"; artifacts: {self.artifacts_stored:,} stored, {self.artifacts_pending:,} pending,"
                f" {self.artifacts_failed:,} failed"
            )
        if self.values_on_device:
            text += f"; {self.values_on_device:,} values on their way from a device"
        if self.media_logged:
            text += f"; {self.media_stored:,} of {self.media_logged:,} media stored"
        if self.media_dropped:
            text += f", {self.media_dropped:,} dropped"
        if self.media_plainer:
            text += f", {self.media_plainer:,} in a plainer form"
        if self.disk_full:
            text += f"; the store has reached max_disk ({self.max_disk:,} bytes)"
        if self.degraded:
            text += f"; the store cannot be written: {self.last_error}"
        return text
