# SPDX-License-Identifier: MIT
"""A run as a row of a data frame."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tracker._read import StoredRun
    from tracker._remote_run import RemoteRun


def frame_row(run: StoredRun | RemoteRun, row: dict[str, Any]) -> dict[str, Any]:
    finished = row["finished"]
    out = {"project": run.project, "id": run.id, "uid": run.uid, "name": row["name"], "state": row["state"]}
    out |= {"state_detail": row["state_detail"], "created": run.created, "finished": finished}
    out |= {"duration": (time.time() if finished is None else finished) - run.created, "host": row["host"]}
    out |= {key: row[key] for key in ("points", "lost", "texts_lost", "entries_lost")}
    out |= {key: row["attributes"].get(key) for key in ("group", "job_type", "notes", "tags")}
    out["alerts"] = row["attributes"].get("alerts", 0)
    out |= {f"config.{key}": value for key, value in _flat(row["config"]).items()}
    return out | {f"summary.{key}": value for key, value in row["summary"].items()}


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}/"))
        else:
            flat[prefix + key] = value
    return flat
