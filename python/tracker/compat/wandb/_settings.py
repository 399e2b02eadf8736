# SPDX-License-Identifier: MIT
"""wandb.Settings, and what init() does: its arguments, before the settings, before the environment."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from tracker.compat._accepted import Inert
from tracker.compat.wandb._state import is_true
from tracker.compat.wandb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MODES = {"run": "online", "dryrun": "offline", "": None, "shared": "online"}
# Argument of init(): name of the setting, variable of the environment
SOURCES = {
    "entity": ("entity", "WANDB_ENTITY"),
    "project": ("project", "WANDB_PROJECT"),
    "dir": ("root_dir", "WANDB_DIR"),
    "id": ("run_id", "WANDB_RUN_ID"),
    "name": ("run_name", "WANDB_NAME"),
    "notes": ("run_notes", "WANDB_NOTES"),
    "tags": ("run_tags", "WANDB_TAGS"),
    "group": ("run_group", "WANDB_RUN_GROUP"),
    "job_type": ("run_job_type", "WANDB_JOB_TYPE"),
    "mode": ("mode", "WANDB_MODE"),
    "resume": ("resume", "WANDB_RESUME"),
    "resume_from": ("resume_from", "WANDB_RESUME_FROM"),
    "reinit": ("reinit", None),
    "save_code": ("save_code", None),
    "allow_val_change": ("allow_val_change", None),
}


class Settings:
    """The settings of a run by name: Settings(mode="offline", silent=True). Those that tracker has no use for are kept
    and mean nothing; one that was not given is None."""

    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return None

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter(self.__dict__.items())

    def get(self, name: str, default: Any = None) -> Any:
        return self.__dict__.get(name, default)

    def update(self, *others: Any, **named: Any) -> None:
        for other in others:
            self.__dict__.update(settings_of(other).__dict__)
        self.__dict__.update(named)

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"


def settings_of(given: object) -> Settings:
    """Of the argument settings=: a dict, a Settings, or an object with attributes."""
    if given is None:
        return Settings()
    if isinstance(given, Settings):
        return Settings(**given.__dict__)
    values = given if isinstance(given, Mapping) else getattr(given, "__dict__", {})
    return Settings(**{str(name).removeprefix("_"): value for name, value in values.items()})


def resolve(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], Settings]:
    """Every argument in SOURCES with its value, and the settings with those values. UsageError for an unknown mode."""
    settings = settings_of(arguments.get("settings"))
    chosen: dict[str, Any] = {}
    for argument, (setting, variable) in SOURCES.items():
        value = arguments.get(argument)
        if value is None:
            value = settings.get(setting)
        if value is None and variable is not None:
            value = os.environ.get(variable) or None
        chosen[argument] = None if isinstance(value, Inert) else value
    chosen["tags"] = _tags(chosen["tags"])
    mode = chosen["mode"]
    if mode is None and (is_true(os.environ.get("WANDB_DISABLED")) or settings.get("disabled")):
        mode = "disabled"
    mode = MODES.get(mode, mode) if isinstance(mode, str) else mode
    if mode not in (None, "online", "offline", "disabled"):
        raise UsageError(f"mode must be 'online', 'offline' or 'disabled', got {mode!r}")
    chosen["mode"] = mode
    settings.update({SOURCES[name][0]: value for name, value in chosen.items() if value is not None})
    return chosen, settings


def _tags(given: object) -> tuple[str, ...]:
    """A text with commas, as WANDB_TAGS has, is several tags."""
    if given is None:
        return ()
    if isinstance(given, str):
        return tuple(filter(None, (tag.strip() for tag in given.split(","))))
    if not isinstance(given, Iterable):
        raise UsageError(f"tags must be a list of str, got {type(given).__name__}")
    return tuple(map(str, given))
