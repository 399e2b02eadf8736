# SPDX-License-Identifier: MIT
"""A proxy on loopback between a client under test and a real server: it fails, or answers otherwise, on request."""

from __future__ import annotations

import random
import socket
import struct
import threading
import time

FAULTS = ("refuse", "reset", "delay", "duplicate", "truncate")
# What it answers instead of the server.
ANSWERS = {
    "413": b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n",
    "page": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 20\r\n\r\n<html>Log in!</html>",
}


class Proxy:
    """`fault` names what befalls the next requests: one of FAULTS or ANSWERS, "version" (the server seems to be of a
    later one), "random", "hang", or "" for none. `body_bytes_max`: a larger body is answered with 413."""

    def __init__(self, target: int, seed: int = 0) -> None:
        self.target = target
        self.fault = ""
        self.body_bytes_max = 1 << 62
        self.seen: list[str] = []  # the faults that have happened
        self._random = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            try:
                while request := _read_message(client):
                    fault = self.fault
                    if fault == "random":
                        fault = self._random.choice(("", "", *FAULTS))
                    if len(request) - request.index(b"\r\n\r\n") - 4 > self.body_bytes_max:
                        fault = "413"
                    if fault:
                        self.seen.append(fault)
                    if not self._pass_on(client, request, fault):
                        return
            except OSError:
                return

    def _pass_on(self, client: socket.socket, request: bytes, fault: str) -> bool:
        """False: the connection is at its end."""
        if fault == "hang":
            time.sleep(60)
            return False
        if fault == "refuse":
            return _reset(client)
        if fault == "delay":
            time.sleep(0.3)
        if fault == "reset":  # half of the request has gone through, and its sender hears nothing
            self._ask(request[: len(request) // 2], wants_answer=False)
            return _reset(client)
        if fault == "duplicate":
            self._ask(request)
        answer = ANSWERS.get(fault) or self._ask(request)
        if fault == "version":
            answer = answer.replace(b'"api":[1]', b'"api":[2]')
        if fault == "truncate":
            client.sendall(answer[: self._random.randrange(1, len(answer))])
            return False
        client.sendall(answer)
        return bool(answer)

    def _ask(self, request: bytes, *, wants_answer: bool = True) -> bytes:
        with socket.create_connection(("127.0.0.1", self.target), timeout=20) as server:
            server.sendall(request)
            return _read_message(server) if wants_answer else b""


def _reset(client: socket.socket) -> bool:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    return False


def _read_message(connection: socket.socket) -> bytes:
    """One request or response with its body; empty at the end of the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (more := connection.recv(65536)):
            return b""
        data += more
    head, _, _ = data.partition(b"\r\n\r\n")
    size = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            size = int(value)
    wanted = len(head) + 4 + size
    while len(data) < wanted:
        if not (more := connection.recv(65536)):
            return b""
        data += more
    return data
