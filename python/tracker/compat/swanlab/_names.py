# SPDX-License-Identifier: MIT
"""Names of SwanLab 0.9.7 that are accepted and not recorded."""

from __future__ import annotations

from typing import Any

VERSION = "0.9.7"

MODULE = frozenset(
    (
        *("merge_settings", "merge_callbacks", "register_callbacks", "require", "Settings", "Callback"),
        *("log_audio", "log_video", "log_echarts", "log_html", "log_object3d", "log_molecule"),
        *("Audio", "Video", "ECharts", "Html", "Object3D", "Molecule"),
        *("async_log", "define_scalar", "save"),
        *("sync_wandb", "sync_tensorboardX", "sync_tensorboard_torch", "sync_mlflow"),
        *("Api", "OpenApi", "utils", "plot", "echarts", "roc_curve", "pr_curve", "confusion_matrix", "integration"),
    )
)
RUN = frozenset(
    (
        *("log_audio", "log_video", "log_echarts", "log_html", "log_object3d", "log_molecule"),
        *("async_log", "define_scalar", "save"),
    )
)

MODES = {"cloud": "online", "cloud-only": "online", "online": "online"} | {
    mode: mode for mode in ("local", "offline", "disabled")
}
RESUME: dict[Any, str] = {True: "allow", False: "never"}
# Of finish(): the state of the run and its exit code
STATES = {"success": ("finished", 0), "crashed": ("failed", 1), "aborted": ("interrupted", 130)}
