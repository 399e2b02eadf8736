# SPDX-License-Identifier: MIT
"""wandb.login(), and whether a tracker server is known. Hosts of other vendors are never contacted."""

from __future__ import annotations

import os

from tracker.compat.wandb._state import said_once, say, say_once

TOKEN_PREFIX = "trk_"  # of every token that a tracker server makes
NO_SERVER = "wandb: no tracker server is known (wandb.login(key, host=...), TRACKER_HOST): runs stay local"

_host: str | None = None  # what login() was given, where that is a tracker server


def known_host() -> str | None:
    """The tracker server that runs are sent to; None: they stay local."""
    return _host or os.environ.get("TRACKER_HOST") or None


def _is_tracker(host: str, key: object) -> bool:
    """A host that nobody has named as a tracker server may be another vendor's: only a token of ours, or the variable
    that names the host, shows that it is one."""
    if host.rstrip("/") == (os.environ.get("TRACKER_HOST") or "").rstrip("/"):
        return True
    return str(key or os.environ.get("TRACKER_TOKEN") or "").startswith(TOKEN_PREFIX)


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

    host: taken only with a key that begins with "trk_" (or TRACKER_TOKEN), or where TRACKER_HOST names it. No other
    host is ever contacted, whatever its key is. Never asks, never waits for a network.
    """
    global _host
    if host and _is_tracker(host, key):
        _host = host
    found = known_host()
    if found is None:
        say_once(
            f"{NO_SERVER}; {host} is not contacted, the key is no token of a tracker server" if host else NO_SERVER
        )
        said_once(NO_SERVER)  # init() does not repeat it
        return False
    token = key if str(key or "").startswith(TOKEN_PREFIX) else os.environ.get("TRACKER_TOKEN")
    return _tell_core(found, token)


def _tell_core(host: str, token: str | None) -> bool:
    import tracker

    try:
        core_login = getattr(tracker, "login", None)
        if core_login is not None:
            core_login(host, token)
    except Exception as error:  # a training must not end because a server cannot be used
        say(f"wandb.login: {host}: {error}; runs stay local")
        return False
    return True
