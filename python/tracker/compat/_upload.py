# SPDX-License-Identifier: MIT
"""All that the drop-ins do with a server. This version knows none: runs stay in their store."""

from __future__ import annotations

from pathlib import Path

from tracker.compat._report import gated, report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tracker._read import StoredRun
    from tracker._run import Run


def server_is_known() -> bool:
    return False


def login(module: str, host: str | None) -> bool:
    """Whether runs are sent to a server from now on. No host is contacted."""
    ignored = f"; the host {host} is not contacted" if host else ""
    report(f"{module}.login: no server is known, runs stay local{ignored}")
    return False


def upload(run: Run | StoredRun, folder: str | None, make_folder: bool, conflict_strategy: str) -> None:
    """Sends a run with its artifacts. `folder`: the project on the server, None for that of the run."""
    from tracker._run import Run

    if gated() or (isinstance(run, Run) and not run._recorded):
        return
    store = run._core.store_path if isinstance(run, Run) else Path(run.dir).parents[2]  # <store>/runs/<project>/<id>
    report(f"no server is known: the run is in {store}")
