# SPDX-License-Identifier: MIT
"""What the process prints, recorded with its runs: the `write` of sys.stdout and sys.stderr is wrapped.

The stream stays the object that it was, with its fileno, isatty and encoding, and is written to first; nothing that
fails here reaches the caller. What native code and child processes write past these objects is not seen. The wrapper
goes when the last run ends. Threads: any; a forked child records nothing through it.
"""

from __future__ import annotations

import sys

from tracker import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

STREAMS = {"stdout": 1, "stderr": 2}  # numbers of docs/formats/records.md

_cores: tuple[_core.RunCore, ...] = ()
# Stream, our wrapper, and what stood in the stream itself before (None: its class had the method).
_wrapped: list[tuple[Any, Callable[..., Any], Callable[..., Any] | None]] = []
_wrapping = 0  # counts the times that streams were wrapped: wrappers of an earlier time take nothing more


def add(core: _core.RunCore) -> None:
    """From now on what is printed goes to this run too."""
    global _cores, _wrapping
    if not core.takes_console or core in _cores:
        return
    if not _cores:
        _wrapping += 1
        for name, number in STREAMS.items():
            stream = getattr(sys, name, None)
            if all(stream is not wrapped for wrapped, _, _ in _wrapped):  # sys.stderr = sys.stdout is one stream
                _wrap(stream, number, _wrapping)
    _cores = (*_cores, core)


def remove(core: _core.RunCore) -> None:
    """Nothing more is taken for it; behind the last one the streams are as they were."""
    global _cores
    _cores = tuple(other for other in _cores if other is not core)
    if _cores:
        return
    for stream, wrapper, own in _wrapped:
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
        written = before(*args, **keywords)
        try:
            if _cores and wrapping == _wrapping and args and isinstance(args[0], str):
                for core in _cores:
                    core.write_console(number, args[0])
        except Exception:  # whatever it is, the program that prints shall not meet it
            pass
        return written

    try:
        stream.write = write
        if stream.__dict__.get("write") is write:
            _wrapped.append((stream, write, own))
    except (AttributeError, TypeError):  # an object that takes no attribute
        pass
