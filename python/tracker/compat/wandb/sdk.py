# SPDX-License-Identifier: MIT
"""wandb.sdk: the names below it that scripts use. Others are accepted."""

from __future__ import annotations

from tracker.compat._accepted import Inert, accept
from tracker.compat.wandb._config import Config
from tracker.compat.wandb._init import init
from tracker.compat.wandb._run import AlertLevel, Run, RunDisabled
from tracker.compat.wandb._server import login
from tracker.compat.wandb._settings import Settings
from tracker.compat.wandb._summary import Summary
from tracker.compat.wandb.errors import ConfigError
from tracker.compat.wandb.util import generate_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Config", "Settings", "Summary", "init", "lib", "login", "wandb_run", "wandb_settings"]


class Names:
    """Names below a name. One that is not among them is accepted, and does nothing."""

    def __init__(self, name: str, **names: Any) -> None:
        self.__dict__.update(names, _name=name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return accept("wandb", f"{self._name}.{name}")


wandb_run = Names("sdk.wandb_run", Run=Run, AlertLevel=AlertLevel)
wandb_settings = Names("sdk.wandb_settings", Settings=Settings)
lib = Names(
    "sdk.lib",
    RunDisabled=RunDisabled,
    runid=Names("sdk.lib.runid", generate_id=generate_id),
    config_util=Names("sdk.lib.config_util", ConfigError=ConfigError),
)


def __getattr__(name: str) -> Inert:
    if name.startswith("_"):
        raise AttributeError(name)
    return accept("wandb", f"sdk.{name}")
