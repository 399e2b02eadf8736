# SPDX-License-Identifier: MIT
"""What an em run answers about itself: read from the store, or from the dict that it was made from."""

from __future__ import annotations

import time
from typing import Any

import tracker
from tracker._reading import find_runs
from tracker.compat.em.containers import Params
from tracker.compat.em.names import timestamp

STATUS = {"running": "Running", "finished": "Complete"}


class RunRecord:
    """Base of Run."""

    name: str
    labels: list[str]
    description: str
    alternative_name: str
    hparams: Params
    remote: list[dict[str, str]]  # em keeps uploads here; a run of tracker has its own account of them
    _run: tracker.Run | None  # the one that this process records
    _stored: tracker.StoredRun | None
    _given: dict[str, Any]  # of parse_from_dict()

    def _reader(self) -> tracker.StoredRun | None:
        """The run as it is stored; None where it is not."""
        if self._stored is None and self._run is not None and self._run._recorded:
            try:
                self._stored = tracker.StoredRun(find_runs.folder_of(self._run))
            except (tracker.TrackerError, ValueError):  # nothing is stored yet: the disk refuses
                return None
        return self._stored

    @property
    def params(self) -> Params:
        return self.hparams

    @property
    def status(self) -> str:
        """ "Running", "Complete", or another state of tracker with a capital letter, such as "Failed"."""
        if self._run is not None and not self._run._core.finished:
            return STATUS["running"]
        reader = self._reader()
        if reader is None:
            return str(self._given["metadata"].get("status") or STATUS["finished" if self._run else "running"])
        return STATUS.get(reader.state, reader.state.capitalize())

    @property
    def start_timestamp(self) -> str:
        """ISO 8601, UTC."""
        reader = self._reader()
        if reader is not None:
            return timestamp(reader.created.timestamp())
        return str(self._given["metadata"].get("start_timestamp") or timestamp(time.time()))

    @property
    def end_timestamp(self) -> str | None:
        """ISO 8601, UTC; None while the run has no end."""
        reader = self._reader()
        if reader is not None:
            return None if reader.ended is None else timestamp(reader.ended.timestamp())
        end: str | None = self._given["metadata"].get("end_timestamp")
        return end

    @property
    def local(self) -> str:
        """The folder of the run in the store; "" where it is not recorded."""
        run = self._run or self._stored
        return "" if run is None else run.dir

    @property
    def platform(self) -> dict[str, Any]:
        reader = self._reader()
        if reader is None:
            return self._given.get("platform") or {}
        return {key: value for key, value in reader.environment.items() if key != "git"}

    @property
    def git(self) -> dict[str, Any]:
        reader = self._reader()
        return (self._given if reader is None else reader.environment).get("git") or {}

    @property
    def associations(self) -> dict[str, list[dict[str, str]]]:
        """The versions of artifacts that the run has used and made."""
        reader = self._reader()
        if reader is None:
            return self._given["metadata"].get("associations") or {"inputs": [], "outputs": []}
        uses = {"inputs": reader.inputs, "outputs": reader.outputs}
        return {
            direction: [{"type": "Artifact", "name": use.name, "digest": use.digest} for use in of_run]
            for direction, of_run in uses.items()
        }

    @property
    def metrics(self) -> dict[str, list[dict[str, dict[str, Any]]]]:
        """By type, then by step: {"train": [{"metrics": {"loss": 0.5}, "index": {"step": 1, "epoch": 1}}]}.

        Cost: reads every metric. ImportError without NumPy.
        """
        reader = self._reader()
        if reader is None:
            return self._given.get("metrics") or {}
        by_type: dict[str, dict[int, dict[str, Any]]] = {}
        for series in reader.series():
            kind, _, name = series.rpartition("/") if "/" not in series else series.partition("/")
            history = reader.history(series)
            for step, value in zip(history.steps.tolist(), history.values.tolist(), strict=True):
                by_type.setdefault(kind, {}).setdefault(step, {})[name] = value
        return {
            kind: [_entry(step, dict(values)) for step, values in sorted(steps.items())]
            for kind, steps in by_type.items()
        }

    def to_dict(self) -> dict[str, Any]:
        metadata = {
            "name": self.name,
            "labels": list(self.labels),
            "description": self.description,
            "start_timestamp": self.start_timestamp,
            "end_timestamp": self.end_timestamp,
            "status": self.status,
            "alternative_name": self.alternative_name,
            "associations": self.associations,
            "remote": list(self.remote),
            "local": self.local,
        }
        data = {"metrics": self.metrics, "platform": self.platform, "git": self.git}
        return {"metadata": metadata, "hparams": self.hparams.as_dict(), **data}


def _entry(step: int, values: dict[str, Any]) -> dict[str, dict[str, Any]]:
    index: dict[str, Any] = {"step": step}
    if "epoch" in values:
        index["epoch"] = values.pop("epoch")
    return {"metrics": values, "index": index}
