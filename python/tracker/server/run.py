# SPDX-License-Identifier: MIT
"""Runs the application on uvicorn: the socket, the line that says it is ready, and a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import signal
import socket
import sys
import webbrowser
from collections.abc import Iterator

import uvicorn

from tracker import _core
from tracker.server.app import make_app

# Open at once, also those that ask for nothing: 10,000 clients and their browsers.
# Limit: connections of a server. Beyond it: 503.
CONNECTIONS_MAX = 12_000
# Limit: seconds for requests that run at the end of the server. Beyond it: cut.
SHUTDOWN_SECONDS_MAX = 5


def _raise_limit() -> None:
    """Descriptors up to the hard limit: each database of a live writer takes some."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _listen(host: str, port: int) -> socket.socket:
    (family, kind, protocol, _, address), *_ = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    out = socket.socket(family, kind, protocol)
    out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        out.bind(address)
    except OSError as error:
        out.close()
        raise OSError(f"port {port} of {host}: {error.strerror}; --port takes another one") from error
    return out


class _Server(uvicorn.Server):
    """Ends by SIGTERM and Ctrl-C with exit code 0; says when it is ready."""

    def __init__(self, config: uvicorn.Config, line: str) -> None:
        super().__init__(config)
        self._line = line

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            sys.stderr.write(self._line + "\n")
            sys.stderr.flush()


def run(store: str, host: str, port: int, takes_uploads: bool, opens_browser: bool, allowed_hosts: list[str]) -> None:
    _raise_limit()
    service = _core.Service(store, takes_uploads)
    listener = _listen(host, port)
    bound = listener.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{bound}"
    line = f"tracker: {url}"
    loopback = host in ("localhost", "::1") or host.startswith("127.")
    if not takes_uploads:
        line += f"/#code={service.create_code()}"
    if loopback:
        service.set_address(url)  # for `tracker ui --link`
    names = {host, "localhost", *allowed_hosts}
    if not loopback:
        names |= {socket.gethostname(), socket.getfqdn()}
    config = uvicorn.Config(
        make_app(service, names, any_address=not loopback),
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        limit_concurrency=CONNECTIONS_MAX,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS_MAX,
        proxy_headers=False,
    )
    server = _Server(config, line)
    if opens_browser:
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(line.removeprefix("tracker: "))
    try:
        server.run(sockets=[listener])
    finally:
        service.close()
