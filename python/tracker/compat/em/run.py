# SPDX-License-Identifier: MIT
"""Run of em, recorded by a run of tracker."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tracker
from tracker import _open_runs
from tracker.compat import _upload
from tracker.compat._accepted import accept
from tracker.compat._report import opened, report
from tracker.compat.em import names
from tracker.compat.em.artifact import Artifact
from tracker.compat.em.containers import Params
from tracker.compat.em.run_record import RunRecord

ALTERNATIVE_NAME = "alternative_name"  # an attribute of the run


class Run(RunRecord):
    """A run: made by em.create_run(), brought back by em.load_run().

    A run that was loaded or made from a dict is recorded from its first change; a loaded one then has a further
    attempt. On a rank that records nothing each call works and does nothing. Threads: any may log.
    """

    def __init__(
        self,
        metadata: dict[str, Any],
        hparams: dict[str, Any] | None = None,
        metrics: dict[str, list[dict[str, dict[str, Any]]]] | None = None,
        platform: dict[str, Any] | None = None,
        git: dict[str, Any] | None = None,
    ) -> None:
        self._run = self._stored = None
        self._project: str | None = None
        self._store = names.store_folder()
        self._online = False
        self._marked: list[Artifact] = []
        self.remote = []
        self.hparams = Params({}, self._record_hparams)
        given = {"hparams": hparams, "metrics": metrics, "platform": platform, "git": git}
        self.parse_from_dict({"metadata": metadata, **given})

    def parse_from_dict(self, data: dict[str, Any]) -> None:
        """Takes over what to_dict() has returned. Name, labels, description and hyperparameters of a recorded run are
        recorded; metrics are not logged again."""
        self._given = {**data, "metadata": dict(data.get("metadata") or {})}
        about = self._given["metadata"]
        self.name = str(about.get("name") or "default")
        self.labels = names.checked_labels(about.get("labels"))
        self.description = str(about.get("description") or "")
        self.alternative_name = str(about.get(ALTERNATIVE_NAME) or names.alternative_name(self.name))
        if self._run is not None or self._stored is not None:
            run = self._live()
            run.name, run.tags, run.notes = self.name, self.labels, self.description
        self.hparams.update(data.get("hparams") or {})

    def _live(self) -> tracker.Run:
        """The run that this process records; the first call opens it."""
        if self._run is None:
            self._run = self._begun() if self._stored is None else _resumed(self._stored)
            opened(self._run)
        return self._run

    def _begun(self) -> tracker.Run:
        run = tracker.init(
            project=self._project,
            name=self.name,
            config=self.hparams.as_dict(),
            tags=self.labels,
            notes=self.description or None,
            mode="online" if self._online else None,
            dir=self._store,
        )
        run._core.set_attribute(ALTERNATIVE_NAME, self.alternative_name)
        return run

    def _record_hparams(self, changed: dict[str, Any]) -> None:
        if self._run is not None or self._stored is not None:
            self._live().config.update(changed)

    def log(self, type: str, metrics: Mapping[str, Any], step: int, epoch: int | None = None) -> None:
        """Logs each metric as "<type>/<name>", where em's other words for train, val and test become these, and the
        epoch as "<type>/epoch". TypeError for a type that is no str, or metrics that are no dict."""
        if not isinstance(type, str):
            raise TypeError(f"type must be a str, got {type.__class__.__name__}")
        if not isinstance(metrics, Mapping):
            raise TypeError(f"metrics must be a dict, got {metrics.__class__.__name__}")
        kind = names.TYPES.get(type, type)
        values = {f"{kind}/{name}": value for name, value in metrics.items()}
        if epoch is not None:
            values.setdefault(f"{kind}/epoch", epoch)
        self._live().log(values, step)

    def mark_input(self, resource: Any) -> None:
        """Records that the run uses an artifact."""
        self._mark(resource, is_input=True)

    def mark_output(self, resource: Any) -> None:
        """Records that the run made an artifact."""
        self._mark(resource, is_input=False)

    def _mark(self, resource: Any, is_input: bool) -> None:
        if isinstance(resource, Artifact):
            resource._mark(self._live(), is_input)
            self._marked.append(resource)
        elif is_input and isinstance(resource, (tracker.Artifact, tracker.StoredArtifact)):
            self._live().use_artifact(resource)
        elif isinstance(resource, tracker.Artifact):
            self._live().log_artifact(resource)
        else:
            verb = "mark_input" if is_input else "mark_output"
            accept("em", f"Run.{verb} of {resource.__class__.__module__}.{resource.__class__.__name__}")

    def finish(self, *args: Any, **kwargs: Any) -> None:
        """Ends the run as complete. The second call does nothing."""
        if self._run is None:
            return
        self._run.finish()
        marked, self._marked = self._marked, []
        for artifact in marked:
            artifact._release()

    def upload(self, folder: str = "default", make_folder: bool = False, conflict_strategy: str = "new") -> None:
        """Sends the run and its artifacts to a folder (a project) of the server. ValueError for another strategy."""
        strategy = names.checked_strategy(conflict_strategy)
        run = self._run or self._stored
        if run is None:
            report(f"em: the run {self.name} was not recorded, so there is nothing to send")
        else:
            _upload.upload(run, folder or "default", bool(make_folder), strategy)

    def __repr__(self) -> str:
        return f"<tracker.compat.em.Run {self.alternative_name}>"


def of_stored(stored: tracker.StoredRun) -> Run:
    """An em run that is stored."""
    about = {
        "name": stored.name,
        "labels": list(stored.tags),
        "description": stored.notes or "",
        ALTERNATIVE_NAME: stored._view().attribute(ALTERNATIVE_NAME) or stored.id,
    }
    run = Run(about, dict(stored.config))
    run._stored = stored
    return run


def _resumed(stored: tracker.StoredRun) -> tracker.Run:
    live: Any = _open_runs.live_runs()
    for run in live:
        if run.uid == stored.uid and run._pid == os.getpid():
            return run  # type: ignore[no-any-return]
    store = Path(stored.dir).parents[2]  # <store>/runs/<project>/<id>
    return tracker.init(project=stored.project, id=stored.id, resume="must", dir=store)
