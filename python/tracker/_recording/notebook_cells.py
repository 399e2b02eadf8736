# SPDX-License-Identifier: MIT
"""init() in a notebook (docs/notebooks.md): a cell that opens a run ends those that other executions of cells have
opened, so that running a cell again leaves no run behind that only the kernel's end would end."""

from __future__ import annotations

import os
import sys

from tracker import _open_runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REASON = "another cell called init()"


def cell() -> int | None:
    """The number of the execution of the cell that runs now, In[7]; None outside of a kernel of a notebook."""
    ipython: Any = sys.modules.get("IPython")
    try:
        shell = ipython.get_ipython()
        if shell is None or not hasattr(shell, "kernel"):
            return None
        return int(shell.execution_count)
    except Exception:  # a half-imported or replaced module decides nothing
        return None


def begin_cell() -> int | None:
    """cell(); the live runs of other cells are finished, and one line says so. Nothing that was logged is lost."""
    now = cell()
    if now is None:
        return None
    for run in _open_runs.live_runs():
        if run._pid != os.getpid() or run._cell is None or run._cell == now:
            continue
        run._finish("finished", 0, REASON)
        print(f"tracker: {run.project}/{run.id} finished: {REASON} (docs/notebooks.md)", file=sys.stderr)
    return now
