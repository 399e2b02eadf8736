# SPDX-License-Identifier: MIT
"""New rows of a run, each exactly once, through restarts of the reader."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from tracker import _core
from tracker._arguments import seconds
from tracker._reading import row_selection
from tracker._reading.history import History
from tracker._reading.own_copy import OwnCopy

POLL_S = 0.2
ROWS_MAX = 1 << 20


class Tail(OwnCopy):
    """An iterator over batches of new rows; StoredRun.tail() makes it. Each batch is a dict from a metric's name to a
    History of its new rows, every row in the order logged.

    `cursor` is after the batch last handed out: keep it once the batch is dealt with, and a later
    tail(..., cursor=kept) goes on with the row after it, in any process.
    """

    def __init__(
        self,
        view: Callable[[], _core.RunView],
        recover: Callable[[], None],
        names: list[str],
        cursor: str | None,
        limit: int,
        timeout: float | None,
    ) -> None:
        self._view = view
        self._recover = recover
        self._names = names
        self._limit = row_selection.integer("limit", limit)
        if self._limit < 1:
            raise ValueError("limit: at least one row")
        self._timeout = None if timeout is None else seconds("timeout", timeout)
        self._more = False
        if cursor is not None and not isinstance(cursor, str):
            raise TypeError(f"cursor must be a str, one that a tail has had, got {type(cursor).__name__}")
        self.cursor: str
        """Printable and opaque; a few dozen bytes a writer."""
        if cursor is None or cursor == "now":
            self.cursor = view().tail_start(names, cursor == "now")
        else:
            self.cursor = cursor
            view().tail_check(names, cursor)

    def read(self) -> dict[str, History]:
        """What has come since; of names that were asked for each, with no rows where none came. Never waits. At most
        `limit` rows, and the rest of a frame."""
        rows, self.cursor, self._more = self._view().tail(self._names, self.cursor, self._limit)
        return {name: History(name, rows[name]) for name in self._names or rows}

    def __iter__(self) -> Iterator[dict[str, History]]:
        """Waits for rows; ends when the run has ended and all of it was handed out, or after `timeout` seconds without
        a row."""
        heard = time.monotonic()
        recovered = False
        while True:
            # The state is read before the rows: what is written between the two is in the next pass.
            running = self._view().state() == "running"
            rows = self.read()
            if any(map(len, rows.values())):
                yield rows
                heard = time.monotonic()
            elif not self._more:
                silent = time.monotonic() - heard
                if not running and not recovered:
                    self._recover()
                    recovered = True
                    continue
                if not running or (self._timeout is not None and silent >= self._timeout):
                    return
                time.sleep(POLL_S if self._timeout is None else min(POLL_S, self._timeout - silent))

    def __repr__(self) -> str:
        return f"<tracker.Tail of {self._names or 'all series'}>"
