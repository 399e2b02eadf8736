# SPDX-License-Identifier: MIT
"""Hyperparameters with attribute access, as several originals have them: p["lr"] and p.lr."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping

from tracker._mapping_entries import read_dict
from tracker._plain_values import plain_config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Attributes(MutableMapping[str, "Any"]):
    """A dict whose entries are attributes too. Values are returned as they were set. Threads: any."""

    _values: dict[str, Any]
    _on_change: Callable[[dict[str, Any]], None] | None

    def __init__(
        self, values: Mapping[str, Any] | None = None, on_change: Callable[[dict[str, Any]], None] | None = None
    ) -> None:
        """on_change: called with the entries that each later call changes; a deleted one has None."""
        self.__dict__.update(_values=dict(values or {}), _on_change=on_change)

    def _record(self, changed: dict[str, Any]) -> None:
        if self._on_change is not None and changed:
            self._on_change(changed)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._values[str(key)] = value
        self._record({str(key): value})

    def __delitem__(self, key: str) -> None:
        del self._values[key]
        self._record({key: None})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            raise AttributeError(f"{name!r} is not a name of a hyperparameter")
        self[name] = value

    def __delattr__(self, name: str) -> None:
        if name not in self._values:
            raise AttributeError(name)
        del self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)

    def _merge(self, values: object) -> None:
        """Sets several values in one record. `values`: a mapping, or an object with attributes. TypeError."""
        entries = read_dict(values)
        if entries is None:
            entries = plain_config(values)
        changed = {str(key): value for key, value in entries.items()}
        self._values.update(changed)
        self._record(changed)

    def as_dict(self) -> dict[str, Any]:
        """A copy."""
        return dict(self._values)
