# SPDX-License-Identifier: MIT
"""A run as a row of a data frame."""

from __future__ import annotations

import datetime

from tracker._numpy import pandas

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    import pandas as pd

    class RunOfRow(Protocol):
        """What a row has of a StoredRun or a RemoteRun."""

        @property
        def project(self) -> str: ...
        @property
        def id(self) -> str: ...
        @property
        def uid(self) -> str: ...
        @property
        def created(self) -> datetime.datetime: ...


def frame_row(run: RunOfRow, row: dict[str, Any]) -> dict[str, Any]:
    finished = row["finished"]
    end = datetime.datetime.now(datetime.UTC) if finished is None else finished
    out = {"project": run.project, "id": run.id, "uid": run.uid, "name": row["name"], "state": row["state"]}
    out |= {"state_detail": row["state_detail"], "created": run.created, "finished": finished}
    out |= {"duration": (end - run.created).total_seconds(), "host": row["host"]}
    out |= {key: row[key] for key in ("points", "lost", "texts_lost", "entries_lost")}
    out |= {key: row["attributes"].get(key) for key in ("group", "job_type", "notes", "tags")}
    out["alerts"] = row["attributes"].get("alerts", 0)
    out |= {f"config.{key}": value for key, value in _flat(row["config"]).items()}
    return out | {f"summary.{key}": value for key, value in row["summary"].items()}


def frame_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Of what frame_row() gives; times are in UTC also where all are missing."""
    frame: pd.DataFrame = pandas().DataFrame(rows)
    for name in ("created", "finished"):
        if name in frame:
            frame[name] = pandas().to_datetime(frame[name], utc=True, errors="coerce")
    return frame


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}/"))
        else:
            flat[prefix + key] = value
    return flat
