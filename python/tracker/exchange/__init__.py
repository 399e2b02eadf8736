# SPDX-License-Identifier: MIT
"""Importers and exporters that are written in Python: what `tracker import` and `tracker export` call for them.

It may import the shared modules, _media, _reading and the public names of tracker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracker import _core
    from tracker.exchange.run_file import Progress


def import_source(
    store: _core.ImportStore, format: str, source: str, project: str, progress: Progress, artifacts: bool = True
) -> None:
    """Carries the runs at `source` into the store. What is wrong with a part of it is a problem of the store. False for
    `artifacts`: those of MLflow are counted, not stored.

    ValueError: the source is not of that format.
    """
    if format == "wandb":
        from tracker.exchange.wandb_files import import_wandb

        import_wandb(store, source, project, progress)
    elif format == "mlflow":
        from tracker.exchange.mlflow_store import import_mlflow

        import_mlflow(store, source, project, progress, artifacts)
    elif format == "trackio":
        from tracker.exchange.trackio_store import import_trackio

        import_trackio(store, source, project, progress)
    elif format == "swanlab":
        from tracker.exchange.swanlab_files import import_swanlab

        import_swanlab(store, source, project, progress)
    else:
        raise ValueError(f"{format} is not read")


def export_parquet(
    folder: str, metrics: list[str], all: bool, output: str, progress: Progress | None = None
) -> tuple[int, int, list[str]]:
    """Writes a run as Parquet; rows, bytes and metrics that were written. ModuleNotFoundError without pyarrow.

    progress: points that are done, and all of them.
    """
    from tracker.exchange.parquet import write_parquet

    return write_parquet(folder, metrics, all, output, progress)
