# SPDX-License-Identifier: MIT
"""What a stored run says to people: its alerts, a request to stop, its page in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tracker import _core


class Alert(NamedTuple):
    """What the run's code reported with run.alert()."""

    level: str  # "info", "warn" or "error"
    title: str
    text: str
    time: float  # seconds since 1970
    step: int | None  # the largest one that the process had logged by then
    attempt: int
    rank: int
    cut_bytes: int  # of title and text that were beyond their bounds


class AlertList(list[Alert]):
    """The last 1,000 alerts by time. `total`: how many there are; `dropped`: those that found no room in the run."""

    total: int
    dropped: int


class StopRequest(NamedTuple):
    """What `tracker stop` asked of an attempt of the run."""

    reason: str
    by: str  # "anna on node1"
    time: float  # seconds since 1970
    attempt: int


class AlertsOfRun:
    """Base of StoredRun."""

    _folder: _core.RunFolder

    def _view(self) -> _core.RunView:
        raise NotImplementedError

    @property
    def alerts(self) -> AlertList:
        """What the run's code reported. Cost: nothing where there are none, else reads every frame."""
        rows, total, dropped = self._view().alerts()
        alerts = AlertList(Alert(*row) for row in rows)
        alerts.total, alerts.dropped = total, dropped
        return alerts

    @property
    def stop_request(self) -> StopRequest | None:
        """What `tracker stop` asked last, unless it was taken back; of an earlier attempt too."""
        request = self._folder.stop_request()
        return None if request is None else StopRequest(*request)
