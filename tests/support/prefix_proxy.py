# SPDX-License-Identifier: MIT
"""A reverse proxy that mounts a server below a path, as nginx does with `location /lab/ { proxy_pass …/; }`."""

from __future__ import annotations

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class PrefixProxy:
    """Answers 404 to all that is not below `prefix`, which begins and ends with "/"."""

    def __init__(self, prefix: str, port: int) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self) -> None:
                if not self.path.startswith(prefix):
                    self.send_error(404)
                    return
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                upstream = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                upstream.request(self.command, "/" + self.path.removeprefix(prefix), body, dict(self.headers))
                answer = upstream.getresponse()
                data = answer.read()
                upstream.close()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("transfer-encoding", "connection", "content-length", "date", "server"):
                        self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = forward  # noqa: N815

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}{prefix}".rstrip("/")
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> PrefixProxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
