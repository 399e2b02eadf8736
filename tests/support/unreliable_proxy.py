# SPDX-License-Identifier: MIT
"""A TCP proxy on loopback that fails on request, between a client under test and a real server."""

from __future__ import annotations

import random
import socket
import struct
import threading
import time
from collections.abc import Callable

FAULTS = ("refuse", "reset", "delay", "duplicate", "truncate")


class Proxy:
    """`fault` names what befalls the next connections: one of FAULTS, "random", "hang", or "" for none."""

    def __init__(self, target: int, seed: int = 0) -> None:
        self.target = target
        self.fault = ""
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
        answer = self._ask(request)
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


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return condition()
