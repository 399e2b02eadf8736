# SPDX-License-Identifier: MIT
"""wandb.login(), and whether a tracker server is known. Hosts of other vendors are never contacted."""

from __future__ import annotations

from tracker.compat import _upload
from tracker.compat.wandb._state import said_once, say_once

NO_SERVER = "wandb: no server is known (wandb.login(key, host=...), TRACKER_HOST): runs stay local"


def login(
    key: str | None = None,
    relogin: bool | None = None,
    host: str | None = None,
    force: bool | None = None,
    timeout: int | None = None,
    verify: bool = True,
    referrer: str | None = None,
    anonymous: object = None,
) -> bool:
    """Returns True where a tracker server is known from now on, else False after one line; runs stay local then.

    host: taken only with a key that begins with "trk_" (or TRACKER_TOKEN), or where it is the server that TRACKER_HOST
    or an earlier login names. No other host is ever contacted, whatever its key is. Never asks. Cost: at most one
    request of some 10 s.
    """
    known = _upload.login("wandb", host, key, say_once)
    if not known:
        said_once(NO_SERVER)  # init() does not repeat it
    return known
