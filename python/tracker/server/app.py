# SPDX-License-Identifier: MIT
"""The ASGI application: each path of the service becomes a route, and all else is a file of the console.

What may be asked is decided in the compiled service alone; here are the bounds of the transport: the header Host, sizes
of bodies before they are read, and the headers of safety on each answer.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any

import anyio.to_thread
from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse

from tracker import _core

API = "/api/v1/"
# Of the bodies of all requests at once; between two parts of a body.
# Limit: bytes of the bodies of all requests at once. Beyond it: 503.
BODY_BYTES_MAX = 512 * 1024 * 1024
# Limit: seconds without a part of a body. Beyond it: the connection ends.
BODY_IDLE_SECONDS = 60
HEADERS_TAKEN = ("authorization", "cookie", "origin", "x-tracker")
SAFETY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "media-src 'self' blob:; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
CONSOLE = Path(__file__).parent / "console"
NO_CONSOLE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>tracker</title>
<h1>tracker</h1><p>The server runs. Its console was not built: in a source tree <code>make console</code> builds it, and
so does <code>pip install .</code> without <code>-C console=off</code>.</p></html>"""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
# What the service answers: status, content type, headers, body, file.
Answer = tuple[int, str, list[tuple[str, str]], bytes, str]


def _error(status: int, code: str, message: str) -> Response:
    return JSONResponse({"error": {"code": code, "message": message}}, status)


class Guard:
    """Refuses requests that name another host, as DNS rebinding does, and adds the headers of safety to each answer."""

    def __init__(
        self, app: Callable[[Message, Receive, Send], Awaitable[None]], names: Iterable[str], any_address: bool
    ):
        self._app = app
        self._names = frozenset(name.lower() for name in names)
        self._any_address = any_address

    def _knows(self, host: str) -> bool:
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        name = name.strip("[]").lower()
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or self._any_address  # no name is in it that somebody could rebind

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name.lower() for name, _ in message["headers"]}
                more = [(key.encode(), value.encode()) for key, value in SAFETY.items()]
                message["headers"] = [*message["headers"], *(one for one in more if one[0].lower() not in there)]
            await send(message)

        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not self._knows(hosts[0]):
            refusal = _error(403, "no_access", "this server has another name; --allow-host NAME adds one")
            await refusal(scope, receive, send_safely)
            return
        await self._app(scope, receive, send_safely)


def _response(answer: Answer) -> Response:
    status, content_type, headers, body, file = answer
    out: Response
    if file:
        out = FileResponse(file, status_code=status, media_type=content_type)
    else:
        out = Response(body, status, media_type=content_type)
        out.headers["content-type"] = content_type
    for name, value in headers:
        out.headers.append(name, value)
    out.headers.setdefault("cache-control", "no-store")
    return out


class _RefusedError(Exception):
    """A body that is not taken, with the answer that says why."""

    def __init__(self, answer: Response) -> None:
        self.answer = answer


class _Bodies:
    """Reads bodies within a bound of memory: of each, and of all at once."""

    def __init__(self) -> None:
        self.held = 0

    async def read(self, request: Request, bytes_max: int) -> bytes:
        """The caller subtracts its length from `held` when it is handled."""
        said = request.headers.get("content-length", "")
        if said and (not said.isdigit() or int(said) > bytes_max):
            raise _RefusedError(self._too_large(bytes_max))
        parts: list[bytes] = []
        size = 0
        stream = request.stream()
        try:
            while True:
                async with asyncio.timeout(BODY_IDLE_SECONDS):
                    part = await anext(stream, b"")
                if not part:
                    break
                size += len(part)
                self.held += len(part)
                if size > bytes_max:
                    raise _RefusedError(self._too_large(bytes_max))
                if self.held > BODY_BYTES_MAX:
                    busy = _error(503, "busy", "the server has too much to do; send the request again")
                    busy.headers["retry-after"] = "1"
                    raise _RefusedError(busy)
                parts.append(part)
        except BaseException:
            self.held -= size
            raise
        return b"".join(parts)

    @staticmethod
    def _too_large(bytes_max: int) -> Response:
        return _error(413, "too_large", f"at most {bytes_max} bytes; nothing of it was stored")


def _endpoint(service: _core.Service, bodies: _Bodies, bytes_max: int) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        path = request.scope["path"].removeprefix(request.scope.get("root_path", "")).removeprefix(API)
        headers = {name: request.headers[name] for name in HEADERS_TAKEN if name in request.headers}
        client = request.client.host if request.client else ""
        host = request.headers.get("host", "")
        # A browser says https where a front door before this process ends TLS.
        over_tls = request.url.scheme == "https" or headers.get("origin") == f"https://{host}"
        own = f"{'https' if over_tls else 'http'}://{host}"
        query = request.query_params.multi_items()
        body = b""
        if request.method not in ("GET", "HEAD"):
            refusal = await anyio.to_thread.run_sync(
                service.refusal, request.method, path, query, headers, client, own, over_tls
            )
            if refusal is not None:
                return _response(refusal)
            try:
                body = await bodies.read(request, bytes_max)
            except _RefusedError as refused:
                refused.answer.headers["connection"] = "close"
                return refused.answer
        try:
            answer = await anyio.to_thread.run_sync(
                service.handle, request.method, path, query, headers, client, own, over_tls, body
            )
        finally:
            bodies.held -= len(body)
        return _response(answer)

    return endpoint


def _console_files() -> dict[str, Path]:
    """By their path below the console's folder: nothing that is asked for is ever joined to a path."""
    return {str(file.relative_to(CONSOLE)): file for file in CONSOLE.rglob("*") if file.is_file()}


def _page(index: bytes, depth: int) -> Response:
    """The console's page for an address `depth` folders below the root: what it loads is relative to that address."""
    up = b"../" * depth or b"./"
    return Response(index.replace(b'="./', b'="' + up), media_type="text/html", headers={"cache-control": "no-cache"})


def _add_console(app: FastAPI) -> None:
    files = _console_files()
    index = files["index.html"].read_bytes() if "index.html" in files else b""

    @app.get("/{path:path}", include_in_schema=False)
    async def console(request: Request, path: str) -> Response:
        file = files.get(path)
        if file is not None and path != "index.html":
            lasting = path.startswith("assets/")  # their names hold a hash of what they are
            return FileResponse(
                file, headers={"cache-control": "public, max-age=31536000, immutable" if lasting else "no-cache"}
            )
        if path.startswith(("assets/", "api/")):
            return PlainTextResponse("there is no such file", 404)
        if index:  # the console's own addresses
            root = request.scope.get("root_path", "").encode()
            return _page(index, request.scope["raw_path"].removeprefix(root).count(b"/") - 1)
        return Response(NO_CONSOLE, media_type="text/html")


def make_app(service: _core.Service, names: Iterable[str] = (), any_address: bool = False) -> Guard:
    """`names`: hosts that clients may name. `any_address`: addresses of the network too."""
    app = FastAPI(title="tracker", version=_core.version, openapi_url=None, docs_url=None, redoc_url=None)
    bodies = _Bodies()
    for method, pattern, scope, bytes_max in _core.Service.routes():
        endpoint = _endpoint(service, bodies, bytes_max)
        if method == "GET":
            app.add_api_route(API + pattern, endpoint, methods=["HEAD"], include_in_schema=False)
        app.add_api_route(
            API + pattern,
            endpoint,
            methods=[method],
            name=f"{method} {pattern}",
            summary=f"scope {scope}" if scope else "open to everybody",
            operation_id=f"{method}_{pattern}".replace("/", "_").replace("{", "").replace("}", ""),
        )

    session = _endpoint(service, bodies, 0)

    async def schema(request: Request) -> Response:
        request.scope["path"] = API + "session"
        answer = await session(request)
        return JSONResponse(app.openapi()) if answer.status_code == 200 else answer

    app.add_api_route(API + "openapi.json", schema, methods=["GET"], include_in_schema=False)
    # What has no route: the service says 401 to those who may know nothing, else 404 or 405.
    app.add_api_route(
        API + "{path:path}",
        _endpoint(service, bodies, 0),
        methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
        include_in_schema=False,
    )
    _add_console(app)
    return Guard(app, names, any_address)
