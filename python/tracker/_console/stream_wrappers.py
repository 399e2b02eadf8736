# SPDX-License-Identifier: MIT
"""What the process prints, recorded with its runs: the `write` of sys.stdout and sys.stderr is wrapped.

A text goes to the current run (_open_runs.py) of the thread or task that prints it, if that run records the console.
The stream stays the object that it was, with its fileno, isatty and encoding, and is written to first; nothing that
fails here reaches the caller. What native code and child processes write past these objects is not seen: that is what
fd_capture.py is for. The wrapper goes when the last run ends. Threads: any; a forked child records nothing through it.
"""

from __future__ import annotations

import sys
from _thread import _local

from tracker import _core, _open_runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

STREAMS = {"stdout": 1, "stderr": 2}  # numbers of docs/formats/records.md

_cores: dict[int, tuple[_core.RunCore, ...]] = dict.fromkeys(STREAMS.values(), ())  # by stream
# Number, stream, our wrapper, and what the stream itself had before (None: its class had the method).
_wrapped: list[tuple[int, Any, Callable[..., Any], Callable[..., Any] | None]] = []
_writing = _local()  # .text: what a wrapper of this thread is handing on
_wrapping = 0  # counts the times that streams were unwrapped: wrappers of an earlier time take nothing more


def add(core: _core.RunCore, streams: dict[str, int] = STREAMS) -> None:
    """From now on what is printed to these streams where this run is the current one goes to it."""
    if not core.takes_console:
        return
    for name, number in streams.items():
        if core in _cores[number]:
            continue
        stream = getattr(sys, name, None)
        # sys.stderr = sys.stdout is one stream; what was put there since an earlier run began is a further one.
        if not any(stream is wrapped for _, wrapped, *_ in _wrapped):
            _wrap(stream, number, _wrapping)
        _cores[number] = (*_cores[number], core)


def remove(core: _core.RunCore) -> None:
    """Ends the capture for this run; after the last run the streams are as they were."""
    global _wrapping
    for number, cores in _cores.items():
        _cores[number] = tuple(other for other in cores if other is not core)
    if any(_cores.values()):
        return
    _wrapping += 1
    for _, stream, wrapper, own in _wrapped:
        # Somebody else's wrapper around ours stays, and ours below it, which from now on does nothing but write.
        if stream.__dict__.get("write") is not wrapper:
            continue
        if own is None:
            del stream.write
        else:
            stream.write = own
    _wrapped.clear()


def _wrap(stream: Any, number: int, wrapping: int) -> None:
    if stream is None or not callable(getattr(stream, "write", None)):
        return
    before = stream.write
    own = getattr(stream, "__dict__", {}).get("write")

    def write(*args: Any, **keywords: Any) -> Any:
        outer = getattr(_writing, "text", None)
        text = args[0] if args and isinstance(args[0], str) else None
        _writing.text = text
        try:
            written = before(*args, **keywords)
        finally:
            _writing.text = outer
        try:
            # What a stream hands on to another one of ours, such as a tee to the terminal, is recorded by the first.
            if wrapping == _wrapping and text is not None and (outer is None or text not in outer):
                run = _open_runs.current()
                if run is not None and run._core in _cores[number]:
                    run._core.write_console(number, text)
        except Exception:  # whatever it is, the program that prints shall not meet it
            pass
        return written

    try:
        stream.write = write
        if stream.__dict__.get("write") is write:
            _wrapped.append((number, stream, write, own))
    except (AttributeError, TypeError):  # an object that takes no attribute
        pass
