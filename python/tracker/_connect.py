# SPDX-License-Identifier: MIT
"""Runs of a server, read over HTTP as those of a store are read (docs/formats/http.md)."""

from __future__ import annotations

import fnmatch
import http.client
import json
import math
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, overload
from urllib.parse import quote, urlencode, urlsplit

from tracker import _core
from tracker._chart import SYSTEM_PREFIX, Chart
from tracker._numpy import numpy, pandas
from tracker._options import label

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]

_TIMEOUT_SECONDS = 60
_PAGE = 1000  # runs, or metrics, of one request
_SHOWN_BYTES_MAX = 80  # of an answer that is none of a tracker server
_TYPES = {"f64": "<f8", "u32": "<u4", "i64": "<i8", "u8": "u1"}


class _Server:
    """Requests to one server. Each opens a connection, goes through no proxy and follows no redirect."""

    def __init__(self, address: str, token: str) -> None:
        parts = urlsplit(address)
        self.address = address
        self._secure = parts.scheme == "https"
        self._name, self._port = parts.hostname or "", parts.port
        self._path = parts.path + "/api/v1/"
        self._token = token

    def ask(self, path: str, body: dict[str, Any] | None = None, **query: Any) -> tuple[bytes, str, str]:
        """The body of the answer, its type, and where it goes on."""
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._name, self._port, timeout=_TIMEOUT_SECONDS)
        sent = urlencode({name: value for name, value in query.items() if value is not None})
        where = self._path + quote(path) + (f"?{sent}" if sent else "")
        data = None if body is None else json.dumps(body).encode()
        try:
            headers = {"Authorization": f"Bearer {self._token}"}
            connection.request("GET" if data is None else "POST", where, data, headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise _core.StoreError(f"{self.address} does not answer: {error}") from error
        finally:
            connection.close()
        if answer.status != 200:
            self._refuse(answer.status, content)
        return content, answer.headers.get("content-type", ""), answer.headers.get("x-tracker-cursor", "")

    def json(self, path: str, **query: Any) -> Any:
        content, kind, _ = self.ask(path, **query)
        if kind != "application/json":
            self._strange(200, content)
        return json.loads(content)

    def _strange(self, status: int, content: bytes) -> NoReturn:
        shown = content[:_SHOWN_BYTES_MAX].decode(errors="replace")
        raise _core.TrackerError(f"{self.address} is no tracker server: status {status}, {shown!r}")

    def _refuse(self, status: int, content: bytes) -> NoReturn:
        try:
            error = json.loads(content)["error"]
            message = f"{self.address}: {error['message']}"
        except (ValueError, KeyError, TypeError):
            self._strange(status, content)
        kind = {400: ValueError, 404: _core.NotFoundError}.get(status, _core.TrackerError)
        raise kind(message)


class _Series:
    """One series of the binary form: what its header says, and its columns by name."""

    def __init__(self, head: dict[str, Any], data: bytes) -> None:
        np = numpy()
        self.head = head
        self.columns: dict[str, npt.NDArray[Any]] = {
            column["name"]: np.frombuffer(data, _TYPES[column["type"]], head["n"], column["offset"])
            for column in head["columns"]
        }


def _read_series(data: bytes) -> list[_Series]:
    magic, version, size = struct.unpack_from("<4sII", data)
    if magic != b"TSER" or version != 1:
        raise _core.CorruptError("the answer is not of the version of the binary form that this version reads")
    return [_Series(head, data) for head in json.loads(data[12 : 12 + size])["series"]]


class RemoteHistory:
    """The rows of one metric on a server, as tracker.History has them: steps, values, times, has_step, attempts,
    ranks."""

    def __init__(self, name: str, parts: list[_Series]) -> None:
        np = numpy()
        self.name = name

        def joined(column: str) -> npt.NDArray[Any]:
            out: npt.NDArray[Any] = np.concatenate([part.columns[column] for part in parts])
            return out

        whole = all("y_int" in part.columns for part in parts)
        self.steps: Ints = joined("step")
        self.values: npt.NDArray[Any] = joined("y_int" if whole else "y")
        self.times: Floats = joined("time_us") / 1e6
        self.has_step: Bools = joined("has_step").astype(bool)
        self.attempts: npt.NDArray[Any] = joined("attempt")
        self.ranks: npt.NDArray[Any] = joined("rank")

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"<tracker.RemoteHistory {self.name!r}: {len(self):,} rows>"

    def to_pandas(self) -> pd.DataFrame:
        """A row a row: step, value, time (seconds since 1970), attempt, rank."""
        columns = {
            "step": self.steps,
            "value": self.values,
            "time": self.times,
            "attempt": self.attempts,
            "rank": self.ranks,
        }
        frame: pd.DataFrame = pandas().DataFrame(columns)
        return frame


class RemoteRun:
    """A run on a server. Each look asks the server; one seen finished stays as it was seen until refresh()."""

    def __init__(self, server: _Server, uid: str, known: dict[str, Any]) -> None:
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
    def config(self) -> dict[str, Any]:
        config: dict[str, Any] = self._look()["config"]
        return config

    @property
    def summary(self) -> dict[str, Any]:
        summary: dict[str, Any] = self._look()["summary"]
        return summary

    @property
    def tags(self) -> list[str]:
        return list(self._look()["tags"] or [])

    def series(self, pattern: str = "*", *, system: bool = False) -> list[str]:
        """The names of the metrics that hold numbers, sorted; those that match a pattern such as "val/*"."""
        names: list[str] = []
        while True:
            page = self._server.json(f"runs/{self.uid}/series", offset=len(names), limit=_PAGE)
            names += [each["key"] for each in page["series"]]
            if not page["series"] or len(names) >= page["total"]:
                break
        return [
            name for name in names if name.startswith(SYSTEM_PREFIX) == system and fnmatch.fnmatchcase(name, pattern)
        ]

    def history(self, name: str, *, all: bool = False) -> RemoteHistory:
        """The complete rows of one metric by step, the last one of each; all=True: every row in the order logged.

        NotFoundError: the run has no such metric.
        """
        parts: list[_Series] = []
        cursor: str | None = None
        while cursor != "":
            data, _, cursor = self._server.ask(
                f"runs/{self.uid}/rows", key=name, cursor=cursor, view=None if all else "resolved"
            )
            parts += _read_series(data)
        if not sum(part.head["n"] for part in parts) and name not in self.series() + self.series(system=True):
            raise _core.NotFoundError(f"run {self.project}/{self.id} has no metric {name!r}")
        return RemoteHistory(name, parts)

    def chart(self, name: str, lo: Any = None, hi: Any = None, pixels: int = 2000, x: str | None = None) -> Chart:
        """As StoredRun.chart(): x is "step", "time" (seconds since 1970) or a metric."""
        over = x if x in (None, "step", "time") else f"metric:{x}"
        scale = 1e6 if x == "time" else 1.0
        body = {"runs": [self.uid], "keys": [name], "x": over or "step", "pixels": pixels}
        for key, bound in (("lo", lo), ("hi", hi)):
            if bound is not None:
                body[key] = str(bound) if isinstance(bound, int) and scale == 1.0 else float(bound) * scale
        (series,) = _read_series(self._server.ask("series", body)[0])
        if not series.head["n"] and name not in self.series() + self.series(system=True):
            raise _core.NotFoundError(f"run {self.project}/{self.id} has no metric {name!r}")
        return Chart(name, x or "step", _cells(series, x))

    def __repr__(self) -> str:
        return f"<tracker.RemoteRun {self.project}/{self.id} on {self._server.address}>"


def _cells(series: _Series, x: str | None) -> dict[str, Any]:
    """What tracker.Chart takes."""
    np = numpy()
    columns = dict(series.columns)
    is_points = series.head["form"] == "points"
    if is_points:
        y = columns["y"]
        finite = np.isfinite(y)
        own = np.where(finite, y, math.nan)
        columns |= {"x0": columns["x"], "x1": columns["x"], "first": y, "last": y, "min": own, "max": own}
        columns |= {"sum": np.where(finite, y, 0.0), "count": finite, "nan": np.isnan(y)}
        columns |= {"pos_inf": y == math.inf, "neg_inf": y == -math.inf}
    out: dict[str, Any] = {"points": is_points, "rows": series.head["rows"], "left_out": series.head["left_out"]}
    for name in ("first", "last", "min", "max", "sum"):
        out[name] = columns[name]
    for name in ("count", "nan", "pos_inf", "neg_inf"):
        out[name] = columns[name].astype(np.int64)
    base = series.head["x_base"]
    for name in ("x0", "x1"):
        if x in (None, "step"):
            out[name] = columns[name].astype(np.int64) + np.int64(base)
        elif x == "time":
            out[name] = (columns[name].astype(np.int64) + np.int64(base)) / 1e6
        else:
            out[name] = columns[name] + float(base)
    return {**out, "smoothed": None}


class RemoteRunList(Sequence[RemoteRun]):
    """The runs of a server, in the order asked for. matched: how many there are without limit and offset."""

    def __init__(self, runs: Sequence[RemoteRun], matched: int) -> None:
        self._runs = tuple(runs)
        self.matched = matched

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, index: int) -> RemoteRun: ...
    @overload
    def __getitem__(self, index: slice) -> RemoteRunList: ...
    def __getitem__(self, index: int | slice) -> RemoteRun | RemoteRunList:
        if isinstance(index, slice):
            return RemoteRunList(self._runs[index], self.matched)
        return self._runs[index]

    def __repr__(self) -> str:
        shown = ", ".join(f"{run.project}/{run.id}" for run in self._runs[:5])
        return f"<tracker.RemoteRunList of {len(self)}: {shown}{', ...' if len(self) > 5 else ''}>"


class Connection:
    """A server to read from: what connect() returns. Threads: any."""

    def __init__(self, address: str, token: str) -> None:
        self._server = _Server(address, token)
        about = self._server.json("server")
        if not isinstance(about, dict) or about.get("service") != "tracker" or 1 not in about.get("api", []):
            raise _core.TrackerError(f"{self._server.address} is no tracker server that this version can read")

    def runs(
        self,
        project: str | None = None,
        *,
        where: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> RemoteRunList:
        """As tracker.runs(). ValueError: a mistake in where or sort."""
        found: list[RemoteRun] = []
        matched = 0
        while limit is None or len(found) < limit:
            size = _PAGE if limit is None else min(_PAGE, limit - len(found))
            page = self._server.json(
                "runs", project=project, where=where, sort=sort, offset=offset + len(found), limit=size
            )
            matched = page["total"]
            found += [RemoteRun(self._server, each["uid"], each) for each in page["runs"]]
            if len(page["runs"]) < size:
                break
        return RemoteRunList(found, matched)

    def open_run(self, name: str) -> RemoteRun:
        """By "project/id", an id that is unique on the server, or the uid.

        NotFoundError; ValueError: the name fits several.
        """
        if len(name) == 32 and all(digit in "0123456789abcdef" for digit in name):
            return RemoteRun(self._server, name, self._server.json(f"runs/{name}"))
        found: list[RemoteRun] = []
        for at in [at for at, letter in enumerate(name) if letter == "/"]:
            found += self.runs(name[:at], where=f"id = {_quoted(name[at + 1 :])}", limit=2)
        if not found:
            found += self.runs(where=f"id = {_quoted(name)}", limit=6)
        if not found:
            raise _core.NotFoundError(f"no run {name!r} on {self._server.address}")
        if len(found) > 1:
            shown = ", ".join(f"{run.project}/{run.id}" for run in found[:5])
            raise ValueError(f"{name!r} is ambiguous: {shown}")
        return found[0]

    def __repr__(self) -> str:
        return f"<tracker.Connection to {self._server.address}>"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def connect(host: str | None = None, token: str | None = None) -> Connection:
    """A server whose runs are read: the one that an upload would go to, with the token that it would use."""
    address, token = _core.known_server(label("host", host) or "", label("token", token) or "")
    if not address:
        raise ValueError("no server is known: give connect() a host, set TRACKER_HOST, or call tracker.login() once")
    if not token:
        raise ValueError(
            "connect() needs a token: an argument, TRACKER_TOKEN, or that of tracker.login() for this host"
        )
    return Connection(address, token)
