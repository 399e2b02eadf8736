# SPDX-License-Identifier: MIT
"""Callbacks for Keras: their names are accepted, and record nothing in this version."""

from __future__ import annotations

from tracker.compat._accepted import Inert, accept


def __getattr__(name: str) -> Inert:
    if name in ("EMFitCallback", "EMEvalCallback"):
        return accept("em.keras", name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
