# SPDX-License-Identifier: MIT
"""A run of a server, read over HTTP as one of a store is read (docs/formats/http.md)."""

from __future__ import annotations

import datetime
import fnmatch
import math
from typing import Any, NamedTuple

from tracker import _core
from tracker._reading.accounts import RemoteLosses, RemoteMetric, RemoteWriter, of_answer
from tracker._reading.chart import SYSTEM_PREFIX, Chart
from tracker._reading.console_lines import LINES_MAX, ConsoleLine, ConsoleOutput
from tracker._reading.remote_series import RemoteHistory, Series, cells_of, read_series
from tracker._reading.remote_server import RemoteServer
from tracker._reading.row_selection import utc
from tracker._reading.run_frame import frame_row
from tracker._reading.stored_config import StoredConfig, StoredSummary

_LINES_PAGE = 10_000
_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class RemoteUse(NamedTuple):
    """That a run made a version of an artifact, or used it."""

    name: str  # "project/name@9f86d081ab12"
    type: str
    digest: str
    use_as: str
    time: float  # seconds since 1970


class RemoteMedium:
    """One medium: name, step, time (seconds since 1970), attempt, rank, kind; `info` is all that the run says of it."""

    def __init__(self, server: RemoteServer, uid: str, facts: dict[str, Any]) -> None:
        self._server, self._uid = server, uid
        self.name: str = facts.pop("key")
        self.step: int | None = facts.pop("step")
        self.time: float = facts.pop("time_us") / 1e6
        self.attempt: int = facts.pop("attempt")
        self.rank: int = facts.pop("rank")
        self.info: dict[str, Any] = facts
        self.kind: str = str(facts.get("kind", ""))

    @property
    def bytes(self) -> bytes:
        """Those of its file, asked for each time, or of the text that is a part of the run. NotFoundError: not sent
        yet."""
        if "digest" not in self.info:
            return str(self.info.get("text", "")).encode()
        return self._server.ask(f"runs/{self._uid}/media/{self.info['digest']}.{self.info['ext']}")[0]

    def __repr__(self) -> str:
        return f"<tracker.RemoteMedium {self.name} step {self.step}: {self.kind}>"


class RemoteRun:
    """A run on a server. Each look asks the server; one seen finished stays as it was seen until refresh().

    NaN and infinities of config and summary are floats; integers beyond 2**53 are there as text. Threads: any.
    """

    def __init__(self, server: RemoteServer, uid: str, known: dict[str, Any]) -> None:
        self._server = server
        self.uid = uid
        self.project: str = known["project"]
        self.id: str = known["id"]
        self._seen: dict[str, Any] | None = None

    def refresh(self) -> None:
        self._seen = None

    def _look(self) -> dict[str, Any]:
        if self._seen is None or self._seen["state"] != "finished":
            self._seen = self._server.json(f"runs/{self.uid}")
        assert self._seen is not None
        return self._seen

    def _time(self, field: str) -> datetime.datetime | None:
        value = self._look()[field]
        return None if value is None else utc(int(value) / 1e6)

    @property
    def created(self) -> datetime.datetime:
        """In UTC."""
        return self._time("created_us") or utc(0)

    @property
    def ended(self) -> datetime.datetime | None:
        """In UTC; None while the run has no end."""
        return self._time("ended_us")

    @property
    def last_seen(self) -> datetime.datetime:
        """When the server last heard of its writers, in UTC."""
        return self._time("last_us") or utc(0)

    @property
    def state(self) -> str:
        state: str = self._look()["state"]
        return state

    @property
    def state_detail(self) -> str:
        detail: str = self._look()["reason"]
        return detail

    @property
    def name(self) -> str:
        name: str = self._look()["name"]
        return name

    @property
    def notes(self) -> str | None:
        notes: str | None = self._look()["notes"]
        return notes

    @property
    def group(self) -> str | None:
        group: str | None = self._look()["group"]
        return group

    @property
    def job_type(self) -> str | None:
        job_type: str | None = self._look()["job_type"]
        return job_type

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(self._look()["tags"] or ())

    @property
    def config(self) -> StoredConfig:
        """Entries by attribute too; a key with "/" is a path."""
        return StoredConfig(_with_floats(self._look()["config"]))

    @property
    def summary(self) -> StoredSummary:
        """The last value of each metric; explicit ones win."""
        return StoredSummary(_with_floats(self._look()["summary"]))

    @property
    def environment(self) -> dict[str, Any]:
        environment: dict[str, Any] = _with_floats(self._server.json(f"runs/{self.uid}/environment"))
        return environment

    @property
    def points(self) -> int:
        return int(self._look()["points"])

    @property
    def problems(self) -> tuple[str, ...]:
        """What is damaged or could not be read, one line each."""
        return tuple(self._look()["problems"])

    @property
    def losses(self) -> RemoteLosses:
        """The account: where the points of the run are, and how many were lost for which reason."""
        losses = self._look()["losses"]
        return of_answer(RemoteLosses, {**losses, "by_reason": losses["dropped_by_reason"]})

    @property
    def writers(self) -> list[RemoteWriter]:
        """The processes that recorded the run."""
        return [of_answer(RemoteWriter, writer) for writer in self._look()["writers"]]

    @property
    def outputs(self) -> list[RemoteUse]:
        """The versions of artifacts that the run made."""
        return [_use(each) for each in self._look()["outputs"]]

    @property
    def inputs(self) -> list[RemoteUse]:
        """The versions of artifacts that the run used."""
        return [_use(each) for each in self._look()["inputs"]]

    def metrics(self, *, system: bool = False) -> list[RemoteMetric]:
        """What is known of each metric without reading its rows. system: of the system's series instead."""
        answers = self._server.pages(f"runs/{self.uid}/series", "series")
        metrics = [of_answer(RemoteMetric, {**_with_floats(each), "name": each["key"]}) for each in answers]
        return [metric for metric in metrics if metric.name.startswith(SYSTEM_PREFIX) == system]

    def series(self, pattern: str = "*", *, system: bool = False) -> list[str]:
        """The names of the metrics that hold numbers, sorted; those that match a pattern such as "val/*"."""
        return [each.name for each in self.metrics(system=system) if fnmatch.fnmatchcase(each.name, pattern)]

    def history(self, name: str, *, all: bool = False) -> RemoteHistory:
        """The complete rows of one metric by step, the last one of each; all=True: every row in the order logged.

        NotFoundError: the run has no such metric.
        """
        parts: list[Series] = []
        cursor: str | None = None
        while cursor != "":
            data, _, cursor = self._server.ask(
                f"runs/{self.uid}/rows", key=name, cursor=cursor, view=None if all else "resolved"
            )
            parts += read_series(data)
        if not sum(part.head["n"] for part in parts):
            self._require(name)
        return RemoteHistory(name, parts)

    def chart(self, name: str, lo: Any = None, hi: Any = None, pixels: int = 2000, x: str | None = None) -> Chart:
        """As StoredRun.chart(): x is "step", "time" (seconds since 1970) or a metric."""
        over = x if x in (None, "step", "time") else f"metric:{x}"
        scale = 1e6 if x == "time" else 1.0
        body = {"runs": [self.uid], "keys": [name], "x": over or "step", "pixels": pixels}
        for key, bound in (("lo", lo), ("hi", hi)):
            if bound is not None:
                body[key] = str(bound) if isinstance(bound, int) and scale == 1.0 else float(bound) * scale
        (series,) = read_series(self._server.ask("series", body)[0])
        if not series.head["n"]:
            self._require(name)
        return Chart(name, x or "step", cells_of(series, x))

    def _require(self, name: str) -> None:
        if name not in self.series() + self.series(system=True):
            raise _core.NotFoundError(f"run {self.project}/{self.id} has no metric {name!r}")

    def console(
        self, *, rank: int | None = None, stream: str | None = None, contains: str = "", last: int = LINES_MAX
    ) -> ConsoleOutput:
        """What the processes printed, line by line: of one rank, of "stdout" or "stderr", lines that hold a text; at
        most the last `last` lines; `total` of the result says how many there are. ValueError."""
        lines: list[dict[str, Any]] = []
        about = self._server.json(f"runs/{self.uid}/console", rank=rank, stream=stream, limit=1)
        after = 0 if contains else max(0, about["total"] - last)
        while True:
            page = self._server.json(
                f"runs/{self.uid}/console", rank=rank, stream=stream, after=after, limit=_LINES_PAGE
            )
            lines += [line for line in page["lines"] if contains in line["text"]]
            after = page["next"]
            if not page["lines"] or after >= page["total"]:
                break
        output = ConsoleOutput(_line(line) for line in (lines[-last:] if last else []))
        output.total = len(lines) if contains else page["total"]
        return output

    def media_names(self) -> list[str]:
        """The names that hold media, sorted."""
        return sorted({each["key"] for each in self._server.pages(f"runs/{self.uid}/media", "media")})

    def media(self, name: str) -> list[RemoteMedium]:
        """The media logged under a name, by step. NotFoundError: the run has none of this name."""
        found = list(self._server.pages(f"runs/{self.uid}/media", "media", key=name))
        if not found:
            raise _core.NotFoundError(f"run {self.project}/{self.id} has no media {name!r}")
        return [RemoteMedium(self._server, self.uid, each) for each in found]

    def frame_row(self) -> dict[str, Any]:
        """The row of RemoteRunList.to_pandas()."""
        seen = self._look()
        row = {
            **{key: seen[key] for key in ("name", "state", "host")},
            "state_detail": seen["reason"],
            "finished": self.ended,
            "points": self.points,
            "lost": seen["dropped"],
            "texts_lost": seen["losses"]["texts_dropped"],
            "entries_lost": seen["losses"]["entries_dropped"],
            "attributes": {**seen["attributes"], "tags": self.tags},
            "config": self.config,
            "summary": self.summary,
        }
        return frame_row(self, row)

    def __repr__(self) -> str:
        return f"<tracker.RemoteRun {self.project}/{self.id} on {self._server.address}>"


def _use(edge: dict[str, Any]) -> RemoteUse:
    name = f"{edge['project']}/{edge['name']}@{edge['digest'][:12]}"
    return RemoteUse(name, edge["type"], edge["digest"], edge["use_as"], edge["time_us"] / 1e6)


def _line(line: dict[str, Any]) -> ConsoleLine:
    return ConsoleLine(
        line["text"],
        line["stream"],
        line["time_us"] / 1e6,
        line["attempt"],
        line["rank"],
        line["line"],
        line["updates"],
        line["open"],
        line["joined"],
        line["cut_bytes"],
        line["no_room"],
    )


def _with_floats(value: Any) -> Any:
    """JSON has no NaN and no infinity: the server writes them as texts."""
    if isinstance(value, dict):
        return {key: _with_floats(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_floats(each) for each in value]
    return _NON_FINITE.get(value, value) if isinstance(value, str) else value
