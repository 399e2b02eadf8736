# SPDX-License-Identifier: MIT
"""Params: the hyperparameters of an em run."""

from __future__ import annotations

import sys
from typing import Any

from tracker._mapping_entries import read_dict
from tracker._plain_values import plain_config
from tracker.compat._attributes import Attributes


class Params(Attributes):
    """run.hparams: a dict with attribute access. What is set in it is recorded in the config of the run."""

    def update(self, new_params: Any = (), override: bool = True, **named: Any) -> None:  # type: ignore[override]
        """Sets several parameters. override=False keeps those that are there."""
        entries = read_dict(new_params)
        entries = {**(plain_config(dict(new_params or ())) if entries is None else entries), **named}
        self._merge(entries if override else {key: value for key, value in entries.items() if str(key) not in self})

    def parse(self, dist_tf_strategy: Any = None, dist_torch_model: Any = None, dist_hvd: Any = None) -> None:
        """Records how the training is distributed, from the object that each framework has for it."""
        found: dict[str, Any] = {}
        if dist_tf_strategy is not None:
            found["dist_tf_strategy"] = type(dist_tf_strategy).__name__
            found["dist_tf_replicas"] = int(dist_tf_strategy.num_replicas_in_sync)
        if dist_torch_model is not None:
            found["dist_torch_model"] = type(dist_torch_model).__name__
            found["dist_torch_devices"] = _torch_processes() or len(
                getattr(dist_torch_model, "device_ids", None) or "1"
            )
        if dist_hvd is not None:
            found["dist_hvd_size"] = int(dist_hvd.size())
        self._merge(found)


def _torch_processes() -> int:
    """0 where torch.distributed is not initialised. It is looked up, never imported."""
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return 0
    return int(distributed.get_world_size())
