# SPDX-License-Identifier: MIT
"""wandb.config: a mapping with attribute access, in which a value that is set stays unless a change is allowed."""

from __future__ import annotations

import os
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView

from tracker._mapping_entries import read_dict
from tracker._plain_values import fields_of, plain_config
from tracker.compat.wandb.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import tracker
    from tracker._plain_values import Refused

_OWN = ("_items", "_run", "_locked", "_allow_val_change")
DEFAULTS_FILE = "config-defaults.yaml"


class Config:
    """The config of a run. `vars(config)["_items"]` is the dict that holds it. Each change is recorded at once."""

    _items: dict[str, Any]
    _run: tracker.Run | None
    _locked: dict[str, Any]
    _allow_val_change: bool

    def __init__(self) -> None:
        self.__dict__.update(_items={}, _run=None, _locked={}, _allow_val_change=False)

    # --- reading ----------------------------------------------------------------------------------------------------

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __getattr__(self, key: str) -> Any:
        try:
            return self.__dict__["_items"][key]
        except KeyError:
            raise AttributeError(f"wandb.config has no {key!r}") from None

    def get(self, key: str, default: Any = None) -> Any:
        return self._items.get(key, default)

    def keys(self) -> KeysView[str]:
        return self._items.keys()

    def values(self) -> ValuesView[Any]:
        return self._items.values()

    def items(self) -> ItemsView[str, Any]:
        return self._items.items()

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return self._items == (other._items if isinstance(other, Config) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._items)

    def as_dict(self) -> dict[str, Any]:
        """A copy."""
        return dict(self._items)

    # --- changing ---------------------------------------------------------------------------------------------------

    def __setitem__(self, key: str, value: object) -> None:
        self._set({key: value}, self._allow_val_change)

    def __setattr__(self, key: str, value: object) -> None:
        if key in _OWN:
            self.__dict__[key] = value
        else:
            self[key] = value

    def update(self, d: object = None, allow_val_change: bool | None = None, **named: object) -> None:
        """Sets all values of a mapping, a namespace, a YAML file. ConfigError where one differs from what is set,
        unless allow_val_change=True here or in init(); nothing is changed then. TypeError for media."""
        allowed = self._allow_val_change if allow_val_change is None else allow_val_change
        self._set({**mapping_of(d), **named}, allowed)

    def setdefaults(self, d: object) -> None:
        """Sets those values that have none yet."""
        self._set({key: value for key, value in mapping_of(d).items() if clean_key(key) not in self._items}, False)

    def update_locked(self, d: object, user: str | None = None, _allow_val_change: bool | None = None) -> None:
        """Sets values that later calls do not change: those are ignored."""
        values = clean(mapping_of(d))
        self._locked.clear()
        self._set(values, True)
        self._locked.update(values)

    def merge_locked(self, d: object, user: str | None = None, _allow_val_change: bool | None = None) -> None:
        locked = dict(self._locked)
        self.update_locked(d)
        self._locked.update(locked)

    def persist(self) -> None:
        """Changes are recorded when they are made."""

    def _set(self, given: Mapping[Any, object], allowed: bool | None) -> None:
        values = {key: value for key, value in clean(given).items() if key not in self._locked}
        changed = {key: value for key, value in values.items() if key in self._items and self._items[key] != value}
        if changed and not allowed:
            key, value = next(iter(changed.items()))
            raise ConfigError(
                f"Attempted to change value of key {key!r} from {self._items[key]!r} to {value!r}; "
                "config.update(..., allow_val_change=True) allows it"
            )
        new = {key: value for key, value in values.items() if key not in self._items}
        self._items.update(values)
        if self._run is None:
            return
        if new:
            self._run.config.update(new)
        for key, value in changed.items():  # replaced, not merged: entries of a dict that went are gone
            self._run.config[key] = value


def clean_key(key: object) -> str:
    return str(key).strip("-")


def clean(given: Mapping[Any, object]) -> dict[str, Any]:
    """With keys that are str and plain values. TypeError for media."""
    refused: Refused = []
    out: dict[str, Any] = {}
    for key, value in given.items():
        name = clean_key(key)
        if hasattr(type(value), "_log_type"):
            refused.append((name, f"config takes no media, got {type(value).__name__}; run.log() takes it", TypeError))
        elif name:
            out |= plain_config({name: value}, refused)
    for path, why, error in refused:
        if error is TypeError:
            raise TypeError(f"config[{path!r}]: {why}")
    return out


def mapping_of(given: Any) -> dict[Any, object]:
    """Of what config= and config.update() take. TypeError says what was expected."""
    if given is None:
        return {}
    if isinstance(given, Config):
        return dict(given._items)
    if isinstance(given, (str, os.PathLike)):
        return yaml_file(given)
    if (entries := read_dict(given)) is not None:
        return entries
    if isinstance(given, (list, tuple)):
        return dict(given)
    if type(given).__module__.startswith("absl.flags"):
        return {name: flag.value for name, flag in given.__flags.items()}
    fields = None if isinstance(given, (bytes, int, float, set)) else fields_of(given)
    if fields is None:
        raise TypeError(f"config must be a dict, a namespace or the path of a YAML file, got {type(given).__name__}")
    return dict(fields)


def yaml_file(path: str | os.PathLike[str]) -> dict[Any, object]:
    """The config in a YAML or JSON file, in which {"value": x, "desc": ...} means x. Errors: _config_file.read()."""
    from tracker.compat._config_file import read

    return {
        key: value["value"] if isinstance(value, Mapping) and "value" in value else value
        for key, value in read(path).items()
        if key != "wandb_version"
    }
