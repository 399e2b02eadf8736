# SPDX-License-Identifier: MIT
"""swanlab.config and run.config."""

from __future__ import annotations

from typing import Any

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
