# SPDX-License-Identifier: MIT
"""The exceptions that scripts written for the original catch."""

from __future__ import annotations

from tracker.compat._accepted import Inert, accept


class Error(Exception):
    """Base of all of them."""


class UsageError(Error):
    """A call that the run's state or its arguments do not allow."""


class CommError(Error):
    """Something that was asked for by name does not exist."""


class AuthenticationError(CommError):
    """Never raised: a missing server or key makes a local run."""


class ConfigError(Error):
    """A config value was changed without allow_val_change=True."""


def __getattr__(name: str) -> Inert:
    if name == "term":
        return accept("wandb", "errors.term")
    raise AttributeError(f"wandb.errors has no {name!r}")
