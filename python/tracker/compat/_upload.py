# SPDX-License-Identifier: MIT
"""All that the drop-ins do with a server. Only a tracker server is ever contacted, never the host of another vendor."""

from __future__ import annotations

import os
from pathlib import Path

from tracker.compat._report import gated, report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tracker._read import StoredRun
    from tracker._run import Run

TOKEN_PREFIX = "trk_"  # of every token that a tracker server makes


def server_is_known() -> bool:
    """Whether TRACKER_HOST, or an earlier login, names a server."""
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return bool(os.environ.get("TRACKER_HOST")) or (Path(config) / "tracker" / "login.json").exists()


def is_tracker(host: str, key: object) -> bool:
    """A host that nobody has named as a tracker server may be another vendor's: only a token of ours, or the variable
    that names the host, shows that it is one."""
    if host.rstrip("/") == (os.environ.get("TRACKER_HOST") or "").rstrip("/"):
        return True
    return str(key or os.environ.get("TRACKER_TOKEN") or "").startswith(TOKEN_PREFIX)


def login(module: str, host: str | None, key: object = None) -> bool:
    """Whether a tracker server is known from now on; else one line says that runs stay local. Never raises."""
    import tracker

    if host and not is_tracker(host, key):
        report(f"{module}.login: no server is known, runs stay local; the host {host} is not contacted")
        return False
    if not host and not server_is_known():
        report(f"{module}.login: no server is known, runs stay local")
        return False
    token = str(key) if str(key or "").startswith(TOKEN_PREFIX) else None
    if not host and token is None and not os.environ.get("TRACKER_HOST"):
        return True  # an earlier login names host and token
    try:
        tracker.login(host, token)
    except Exception as error:  # a training must not end because a server cannot be used
        report(f"{module}.login: {error}; runs stay local")
        return False
    return True


def upload(run: Run | StoredRun, folder: str | None, make_folder: bool, conflict_strategy: str) -> None:
    """Sends a run with its artifacts, and waits while bytes flow. `folder`: the project on the server, None for that of
    the run. Of a run that this process has not recorded one line names the command that sends it."""
    from tracker._run import Run

    if gated() or (isinstance(run, Run) and not run._recorded):
        return
    if not server_is_known():
        store = run._core.store_path if isinstance(run, Run) else Path(run.dir).parents[2]  # of runs/<project>/<id>
        report(f"no server is known: the run is in {store}")
    elif isinstance(run, Run):
        try:
            run.upload(folder, make_folder)
        except Exception as error:
            report(f"the run was not sent: {error}; it is in its store, and `tracker sync {run.id}` sends it")
    else:
        report(f"`tracker sync {run.id}` sends the run {run.id}")
