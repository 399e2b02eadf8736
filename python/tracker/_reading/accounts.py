# SPDX-License-Identifier: MIT
"""What is known of a run without its rows: its metrics, its writers, and the account of its points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar


class Account(NamedTuple):
    """Points of one metric, or texts: logged = stored + dropped + pending."""

    logged: int
    stored: int
    dropped: int
    pending: int
    by_reason: dict[str, int]  # of those dropped


class EntryLosses(NamedTuple):
    """Of config, summary and the like."""

    dropped: int
    by_reason: dict[str, int]


class Losses(NamedTuple):
    """The account of a run: logged = stored + dropped + pending, in points of all metrics and writers.

    Pending is what journals of this user hold and the databases do not. What their processes have counted as lost is
    among `dropped` before the databases have that count. In the process that records the run what was logged before is
    stored first, so nothing is pending while the disk takes it.
    """

    logged: int
    stored: int
    dropped: int
    pending: int
    pending_approximate: bool  # a process of it lives: what it stores while it is read is in no count
    rejected_values: int  # bad values and keys: never became points
    recovered: int  # of `stored`: replayed from the journal of a process that died
    unread_rings: int  # of dead processes; how many points they held is not known, and not counted
    missing_journals: int  # of processes that neither ended nor were recovered; their journal is not on this machine
    by_reason: dict[str, int]  # of `dropped`
    texts: Account  # texts are no points
    entries: EntryLosses  # nor are these
    by_metric: dict[str, Account]  # also of those that lost none; "" has points lost for no metric in particular

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Losses:
        texts, entries = Account(**facts["texts"]), EntryLosses(**facts["entries"])
        by_metric = {name: Account(**account) for name, account in facts["by_metric"].items()}
        return cls(**{**facts, "texts": texts, "entries": entries, "by_metric": by_metric})


class Writer(NamedTuple):
    """A process that recorded a run."""

    writer: str  # its id, 32 hex digits
    attempt: int
    rank: int
    world_size: int
    host: str
    pid: int
    journal: str  # "shm", "disk", "memory" or "none"
    started: float  # seconds since 1970
    points: int
    dropped: int


class MetricFacts(NamedTuple):
    """A metric of a run."""

    name: str
    types: list[str]
    points: int
    dropped: int
    step_min: int | None  # None: its points have no steps
    step_max: int | None
    last_step: int | None
    min: float | None  # of the finite values, as `max`; None: there are none
    max: float | None
    step_metric: str  # of define_metric(), as the next two
    summary: tuple[str, ...]
    goal: str
    nan: int
    pos_inf: int
    neg_inf: int


class RemoteLosses(NamedTuple):
    """As Losses, of a run of a server."""

    logged: int
    stored: int
    dropped: int
    pending: int
    by_reason: dict[str, int]
    texts_dropped: int
    entries_dropped: int
    rejected_values: int
    recovered: int
    unread_rings: int
    missing_journals: int
    quarantined: int  # frames that the server has received and could not store


class RemoteWriter(NamedTuple):
    """As Writer, of a run of a server."""

    writer: str
    attempt: int
    rank: int
    world_size: int
    host: str
    pid: int
    version: str  # of the library that recorded
    started: float
    heartbeat: float  # when the server last had a sign of life of it
    state: str
    ended: float | None
    points: int
    dropped: int


class RemoteMetric(NamedTuple):
    """As MetricFacts, of a run of a server."""

    name: str
    type: str
    points: int
    dropped: int
    step_min: int | None
    step_max: int | None
    last: float | None
    min: float | None
    max: float | None
    time_first: float | None  # seconds since 1970
    time_last: float | None
    nan: int
    pos_inf: int
    neg_inf: int


_Facts = TypeVar("_Facts", RemoteLosses, RemoteWriter, RemoteMetric)


def of_answer(kind: type[_Facts], answer: Mapping[str, Any]) -> _Facts:
    """From a server's JSON, which may have more fields. A time "x_us" in µs is the field x in seconds."""
    facts = {
        key.removesuffix("_us"): value / 1e6 if key.endswith("_us") and value is not None else value
        for key, value in answer.items()
    }
    values: dict[str, Any] = {field: facts.get(field) for field in kind._fields}
    return kind(**values)
