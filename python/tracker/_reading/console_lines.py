# SPDX-License-Identifier: MIT
"""What the processes of a run printed, read back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tracker import _arguments
from tracker._console.stream_wrappers import STREAMS

if TYPE_CHECKING:
    from tracker import _core

LINES_MAX = 100_000  # what console() gives unless it is asked for another number
_LINES_ALL = 2**31 - 1  # more than a run can hold


class ConsoleLine(NamedTuple):
    """A line as it was last: a progress bar that was drawn a thousand times is one line with 999 updates."""

    text: str  # with its colours; without the line end
    stream: str  # "stdout" or "stderr"
    time: float  # when it was first seen, seconds since 1970
    attempt: int
    rank: int
    line: int  # number in its stream and process, from 0
    updates: int
    open: bool  # it had not ended
    joined: bool  # the next line is the rest of it
    cut_bytes: int  # not 0: so many bytes are missing here, more than is recorded a minute
    no_room: bool  # with it: not for that, they found no room on their way to the store


class ConsoleOutput(list[ConsoleLine]):
    """Lines by time; str() is the text. `total`: how many there are, which may be more than were asked for."""

    total: int

    def __str__(self) -> str:
        return "".join(_text(line) for line in self)


def _text(line: ConsoleLine) -> str:
    if line.cut_bytes:
        minute = "more was written than is recorded a minute"
        why = "they found no room on their way to the store" if line.no_room else minute
        return f"[{line.cut_bytes:,} bytes are missing here: {why}]\n"
    return line.text if line.joined or line.open else line.text + "\n"


def read_console(view: _core.RunView, rank: int | None, stream: str | None, contains: str, last: int) -> ConsoleOutput:
    """StoredRun.console(). TypeError, ValueError say what was expected."""
    if rank is not None and (isinstance(rank, bool) or not isinstance(rank, int)):
        raise TypeError(f"rank must be an int or None, got {type(rank).__name__}")
    if stream is not None and stream not in STREAMS:
        raise ValueError(f"stream must be 'stdout', 'stderr' or None, got {stream!r}")
    if isinstance(last, bool) or not isinstance(last, int):
        raise TypeError(f"last must be an int, got {type(last).__name__}")
    if last < 0:
        raise ValueError(f"last must be 0 or more, got {last}")
    held = _arguments.text("contains", contains) or ""
    lines, total = view.console(rank, STREAMS[stream] if stream else 0, held, min(last, _LINES_ALL))
    output = ConsoleOutput(ConsoleLine(*line) for line in lines)
    output.total = total
    return output
