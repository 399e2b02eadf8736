# SPDX-License-Identifier: MIT
"""What log() calls for each medium or list of media. The core gets these functions when the room is imported, with the
first medium (bindings/media_hook.h)."""

from __future__ import annotations

import os
import time
from typing import Any

from tracker import _core
from tracker._media.coerced import coerced
from tracker._media.encode_queue import Item, queue, reason_of
from tracker._media.medium import LIST_VALUES_MAX, Media, withheld
from tracker._open_runs import say_of
from tracker._refused_value_hint import hint

# Errors that can be made of one text
_PLAIN = (TypeError, ValueError, OverflowError)
FULL = "no memory is left for media that wait to be encoded, and the disk did not take it raw"


def _log(run: Any, key: str, given: object, step: int) -> BaseException | None:
    """Called by log() for each medium or list of them. What it returns is raised by a strict run."""
    core: _core.RunCore = run._core
    listed, problem = _media_of(list(given)) if isinstance(given, (list, tuple)) else ([given], None)
    values = [value for value in listed if isinstance(value, Media) and hasattr(value, "_payload")]
    if len(values) < len(listed):
        other = next(value for value in listed if not isinstance(value, Media) or not hasattr(value, "_payload"))
        found = type(other).__name__
        made = not isinstance(other, Media)
        why = f"a list of media holds a {found}" if made else f"its {found} was not made by its constructor"
        why += f": {problem}" if problem is not None else hint(other) if made else ""
        core.reject_media(key, why)
        problem = TypeError(f"'{key}': {why}")
    for refused in [value._error for value in values if value._error is not None]:
        core.reject_media(key, str(refused) or type(refused).__name__)
        problem = problem or type(refused)(f"'{key}': {refused}") if type(refused) in _PLAIN else problem or refused
    values = [value for value in values if value._error is None]
    if not values and core.takes_media:
        return problem
    code = core.begin_media(key, step, len(values))
    if code != "ok":
        ended = run._pid == os.getpid() and core.finished  # what a forked child has is inert, which is no error
        return problem or (_core.ClosedError(f"'{key}': the run has ended") if ended else None)
    if len(values) > LIST_VALUES_MAX:
        detail = f"a list of {len(values):,} media; at most {LIST_VALUES_MAX:,} are taken"
        core.drop_media(key, "list too long", detail, len(values) - LIST_VALUES_MAX)
        problem = problem or _core.LimitError(f"'{key}': {detail}")
    left = min(len(values), LIST_VALUES_MAX)
    try:
        call, time_us = core.next_media_call(), time.time_ns() // 1000
        for index, value in enumerate(values[:LIST_VALUES_MAX]):
            place = {"index": index} if isinstance(given, (list, tuple)) else {}
            left -= 1
            problem = _log_one(run, key, step, call, time_us, value, place) or problem
    except BaseException as error:  # what a signal's handler raises
        core.drop_media(key, reason_of(error), "the call was interrupted", left)
        raise
    return problem


def _media_of(listed: list[object]) -> tuple[list[object], BaseException | None]:
    """With what log() takes as a medium by itself as one, and why something of that is none."""
    problem: BaseException | None = None
    for i, each in enumerate(listed):
        try:
            listed[i] = each if isinstance(each, Media) else coerced(each) or each
        except Exception as error:
            problem = error
    return listed, problem


def _report_remarks(run: Any, key: str, remarks: tuple[str, ...]) -> None:
    """Counts what is logged in a plainer form, and says it once a name."""
    counts: dict[str, int] = run._plainer
    counts[key] = counts.get(key, 0) + 1
    if counts[key] == 1:
        say_of(run, f"'{key}': {'; '.join(remarks)} (said once)")


def _log_one(
    run: Any, key: str, step: int, call: int, time_us: int, value: Media, place: dict[str, int]
) -> BaseException | None:
    if value._remarks:
        _report_remarks(run, key, value._remarks)
    value = withheld(key, value)
    core: _core.RunCore = run._core
    if value._encoder is not None:
        item = Item(core, key, step, call, time_us, value._encoder, value._payload, place)
        try:
            taken = queue().put(item)
        except BaseException as error:
            if queue().claim(item):
                core.drop_media(key, reason_of(error), f"{type(error).__name__} in the call", 1)
            if isinstance(error, Exception):
                return error
            raise
        if taken:
            return None
        core.drop_media(key, "queue full", FULL, 1)
        return _core.LimitError(f"'{key}': {FULL}")
    try:
        core.log_media(key, step, call, time_us, {**(value._description or {}), **place})
    except Exception as error:
        core.drop_media(key, reason_of(error), str(error), 1)
        return error
    return None


_core._set_media_hook(Media, _log, coerced)
