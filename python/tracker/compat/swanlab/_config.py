# SPDX-License-Identifier: MIT
"""swanlab.config and run.config."""

from __future__ import annotations

from typing import Any

from tracker import _open_runs
from tracker.compat._attributes import Attributes


class Config(Attributes):
    """The config of a run: a dict with attribute access. The store keeps the key of a removed entry, with None."""

    def update(self, data: Any = None, **named: Any) -> None:  # type: ignore[override]
        """Sets several entries. `data`: a mapping, or an object with attributes (a namespace, a dataclass)."""
        if data is not None:
            self._merge(data)
        self._merge(named)

    def set(self, name: str, value: Any) -> None:
        self[name] = value

    def clean(self) -> None:
        """Removes all entries."""
        self.clear()


class ModuleConfig(Config):
    """swanlab.config: the config of the current run. Without a run it collects entries for each run to come."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["_before"] = self.__dict__.pop("_values")

    @property
    def _values(self) -> dict[str, Any]:  # type: ignore[override]
        target = self._target()
        return self._before if target is None else target._values

    def _record(self, changed: dict[str, Any]) -> None:
        target = self._target()
        if target is not None:
            target._record(changed)

    def _target(self) -> Config | None:
        from tracker.compat.swanlab._run import current

        return None if _open_runs.current() is None else current().config

    def _pending(self) -> dict[str, Any]:
        """What was set without a run."""
        return dict(self._before)
