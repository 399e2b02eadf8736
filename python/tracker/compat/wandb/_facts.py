# SPDX-License-Identifier: MIT
"""What a wandb.Run says of itself."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    import tracker
    from tracker.compat.wandb._config import Config
    from tracker.compat.wandb._rows import Rows
    from tracker.compat.wandb._settings import Settings
    from tracker.compat.wandb._summary import Summary


class Facts:
    """Base of Run."""

    _run: tracker.Run
    _settings: Settings
    _id: str
    _start: float
    _starting_step: int
    _rows: Rows
    _config: Config
    _summary: Summary

    @property
    def id(self) -> str:
        return self._id

    @property
    def name(self) -> str:
        return self._run.name or str(self._settings.run_name or self._id)

    @name.setter
    def name(self, value: str) -> None:
        self._run.name = value

    @property
    def project(self) -> str:
        return str(self._settings.project or self._run.project)

    @property
    def entity(self) -> str:
        """What init() was given: a label, which tracker has no other use for."""
        return str(self._settings.entity or "")

    @property
    def path(self) -> str:
        return "/".join(filter(None, (self.entity, self.project, self.id)))

    @property
    def notes(self) -> str | None:
        return self._run.notes

    @notes.setter
    def notes(self, value: str) -> None:
        self._run.notes = value

    @property
    def tags(self) -> tuple[str, ...]:
        return self._run.tags

    @tags.setter
    def tags(self, value: Iterable[str]) -> None:
        self._run.tags = tuple(value)

    @property
    def group(self) -> str:
        return str(self._settings.run_group or "")

    @property
    def job_type(self) -> str:
        return str(self._settings.run_job_type or "")

    @property
    def settings(self) -> Settings:
        return self._settings

    @property
    def config(self) -> Config:
        return self._config

    @property
    def summary(self) -> Summary:
        return self._summary

    @property
    def step(self) -> int:
        """Of the next row."""
        return self._rows.step

    @property
    def starting_step(self) -> int:
        return self._starting_step

    @property
    def resumed(self) -> bool:
        return self._run.attempt > 1

    @property
    def start_time(self) -> float:
        return self._start

    @property
    def offline(self) -> bool:
        return self._run._core.mode != "online"

    @property
    def disabled(self) -> bool:
        return self._run._core.mode == "disabled"

    @property
    def sweep_id(self) -> str | None:
        return None

    @property
    def url(self) -> str | None:
        return self._run.url

    def get_url(self) -> str | None:
        return self.url

    def get_project_url(self) -> str | None:
        return None

    def get_sweep_url(self) -> str | None:
        return None

    def project_name(self) -> str:
        return self.project
