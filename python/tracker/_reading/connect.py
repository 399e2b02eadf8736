# SPDX-License-Identifier: MIT
"""connect(): the runs of a server, listed and opened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from tracker import _core
from tracker._arguments import label
from tracker._reading.remote_run import RemoteRun
from tracker._reading.remote_server import PAGE, RemoteServer
from tracker._reading.run_frame import frame_of

if TYPE_CHECKING:
    import pandas as pd


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

    def to_pandas(self) -> pd.DataFrame:
        """As tracker.runs().to_pandas(). ImportError without pandas. Cost: a request a run."""
        return frame_of([run.frame_row() for run in self._runs])


class Connection:
    """A server to read from: what connect() returns. Threads: any."""

    def __init__(self, address: str, token: str) -> None:
        self._server = RemoteServer(address, token)
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
            size = PAGE if limit is None else min(PAGE, limit - len(found))
            page = self._server.json(
                "runs", project=project, where=where, sort=sort, offset=offset + len(found), limit=size
            )
            matched = page["total"]
            found += [RemoteRun(self._server, each["uid"], each) for each in page["runs"]]
            if len(page["runs"]) < size:
                break
        return RemoteRunList(found, matched)

    def open_run(self, name: str) -> RemoteRun:
        """By "project/id", an id, the uid, a name, or the beginning of an id.

        NotFoundError; ValueError lists the runs where several fit.
        """
        if len(name) == 32 and all(digit in "0123456789abcdef" for digit in name):
            return RemoteRun(self._server, name, self._server.json(f"runs/{name}"))
        found: list[RemoteRun] = []
        for at in [at for at, letter in enumerate(name) if letter == "/"]:
            found += self.runs(name[:at], where=f"id = {_quoted(name[at + 1 :])}", limit=2)
        for where in (f"id = {_quoted(name)}", f"name = {_quoted(name)}", f"id ~ {_quoted('^' + re.escape(name))}"):
            if not found and name:
                found += self.runs(where=where, limit=6)
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
