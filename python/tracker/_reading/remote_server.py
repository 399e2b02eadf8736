# SPDX-License-Identifier: MIT
"""Requests to a server, and the errors that its answers become."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any, NoReturn
from urllib.parse import quote, urlencode, urlsplit

from tracker import _core

_TIMEOUT_SECONDS = 60
PAGE = 1000  # entries of a list in one request
_SHOWN_BYTES_MAX = 80  # of an answer that is none of a tracker server


class RemoteServer:
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

    def pages(self, path: str, entries: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Every entry of a list, in requests of PAGE."""
        begin = 0
        while True:
            page = self.json(path, offset=begin, limit=PAGE, **query)
            yield from page[entries]
            begin += len(page[entries])
            if not page[entries] or begin >= page["total"]:
                return

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
