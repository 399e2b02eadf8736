# SPDX-License-Identifier: MIT
"""What an adapter of a tool offers to benchmarks/e2e/rivals.py: a module here with

    NAME        as the table has it
    MODULES     what a user imports, by name
    DURABLE     what survives when a call has returned: of the process's death, of a power cut
    SETTINGS    those that differ from its defaults, and why
    open(folder) -> Log
    read(folder, key) -> (steps, values), all that is stored of one key, as the tool itself reads it
    dropped(folder) -> points that the tool says it has not taken; what is missing without a word is lost

No adapter imports its tool at the top: what an import costs is measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Log(Protocol):
    """One run of a tool."""

    def log(self, values: Mapping[str, float], step: int) -> None: ...

    def flush(self) -> None:
        """Ends a burst: what the tool offers to wait for its background, if it has one."""

    def finish(self) -> None: ...


Series = tuple[Any, Any]  # lists or arrays
