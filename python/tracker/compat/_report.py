# SPDX-License-Identifier: MIT
"""Lines for the person at the terminal. A rank that records nothing prints none: rank 0 runs the same script."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tracker._recording.run import Run

_gated = False


def opened(run: Run) -> None:
    """To be called with each run that a drop-in opens."""
    global _gated
    _gated = not run._recorded and run._core.mode != "disabled"


def gated() -> bool:
    """Whether the newest run of a drop-in in this process is one of a rank that records nothing."""
    return _gated


def report(line: str) -> None:
    """Prints one line on stderr. Never raises: stderr may be None, closed or a broken pipe."""
    if _gated or sys.stderr is None:
        return
    try:
        print(f"tracker: {line}", file=sys.stderr)
    except (OSError, ValueError):
        pass
