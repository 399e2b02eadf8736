# SPDX-License-Identifier: MIT
"""All that the drop-ins do with a server. Only a tracker server is ever contacted, never the host of another vendor."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

from tracker import _core
from tracker.compat._report import gated, report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tracker._reading.stored_objects import StoredRun
    from tracker._recording.run import Run

TOKEN_PREFIX = "trk_"  # of every token that a tracker server makes


def known_host(host: str = "") -> str | None:
    """The address of `host`, without one of the server that TRACKER_HOST or a login names; None: runs stay local."""
    try:
        return _core.known_server(host, "")[0] or None
    except ValueError:  # it is no address
        return None


def is_tracker(host: str, key: object) -> bool:
    """A host that was not named as a tracker server may be another vendor's: only a token of ours given
    with it, or that it is the server that is known, shows that it is one."""
    known = known_host()
    if known is not None and known_host(host) == known:
        return True
    return str(key or "").startswith(TOKEN_PREFIX)


def login(module: str, host: str | None, key: object = None, say: Callable[[str], None] = report) -> bool:
    """Whether a tracker server is known from now on; else one line says that runs stay local. Never raises."""
    import tracker

    if host and not is_tracker(host, key):
        known = known_host()
        where = f"runs go to {known}" if known else "no server is known, runs stay local"
        say(f"{module}.login: {where}; the host {host} is not contacted")
        return False
    if not host and known_host() is None:
        say(f"{module}.login: no server is known, runs stay local")
        return False
    token = str(key) if str(key or "").startswith(TOKEN_PREFIX) else None
    if not host and token is None and not os.environ.get("TRACKER_HOST"):
        return True  # an earlier login names host and token
    try:
        tracker.login(host, token)
    except Exception as error:  # a training must not end because a server cannot be used
        say(f"{module}.login: {error}; runs stay local")
        return False
    return True


def upload(run: Run | StoredRun, folder: str | None, make_folder: bool, conflict_strategy: str) -> None:
    """Sends a run with its artifacts, and waits while bytes flow. `folder`: the project on the server, None for that of
    the run."""
    from tracker._arguments import label
    from tracker._recording.run import Run

    if gated() or (isinstance(run, Run) and not run._recorded):
        return
    store = run._core.store_path if isinstance(run, Run) else str(Path(run.dir).parents[2])  # of runs/<project>/<id>
    if known_host() is None:
        report(f"no server is known: the run is in {store}")
        return
    try:
        if isinstance(run, Run):
            run.upload(folder, make_folder)
        else:
            run._recover()
            _core.upload_stored(run._folder, label("folder", folder) or "", make_folder)
    except Exception as error:
        words = shlex.quote(f"{run.project}/{run.id}")
        if store != _core.Store.resolve(""):
            words += f" --dir {shlex.quote(store)}"
        report(f"the run was not sent: {error}; it is in its store, and `tracker sync {words}` sends it")
