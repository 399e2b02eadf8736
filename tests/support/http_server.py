# SPDX-License-Identifier: MIT
"""A `tracker server` in a process of its own, requests to it, and batches of what a local run has recorded."""

from __future__ import annotations

import http.client
import importlib.util
import json
import signal
import sqlite3
import struct
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote, urlencode

from commands import command, environment

FRAME, SEGMENT = 1, 2
START_SECONDS_MAX = 60


def second_reader(name: str) -> ModuleType:
    """A module of tests/second_reader that needs no other of them."""
    spec = importlib.util.spec_from_file_location(
        f"second_{name}", Path(__file__).parent.parent / "second_reader" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


crc32c = second_reader("bytes_in").crc32c


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json", self.body[:200]
        return json.loads(self.body)

    def ok(self) -> Any:
        assert self.status == 200, (self.status, self.body[:500])
        return self.json()


def create_token(store: Path, *scopes: str, project: str = "") -> str:
    words = [word for scope in scopes for word in ("--scope", scope)]
    more = ["--project", project] if project else []
    done = command("server", "token", "create", "--dir", str(store), "--name", "test", *words, *more)
    assert done.returncode == 0, done.stderr
    return done.stdout.removesuffix("\n")


@dataclass
class Server:
    """Call start(); the token may do what `scopes` says."""

    store: Path
    words: tuple[str, ...] = ()
    program: str = "server"
    token: str = ""
    port: int = 0
    line: str = ""
    process: subprocess.Popen[str] | None = field(default=None, repr=False)

    def start(self) -> Server:
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tracker",
                self.program,
                "--dir",
                str(self.store),
                "--port",
                str(self.port),
                *self.words,
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert self.process.stderr is not None
        self.line = self.process.stderr.readline().removesuffix("\n")
        assert self.line.startswith("tracker: http://127.0.0.1:"), self.line + self.process.stderr.read()
        self.port = int(self.line.removeprefix("tracker: http://127.0.0.1:").split("/")[0])
        return self

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """The exit code, and what it wrote to stderr after its line."""
        assert self.process is not None
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=START_SECONDS_MAX)
        code, self.process = self.process.returncode, None
        return code, said

    def __enter__(self) -> Server:
        if not self.token and self.program == "server":
            self.token = create_token(self.store, "ingest", "read")
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.end(signal.SIGKILL)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | dict[str, Any] | None = None,
        *,
        token: str | None = None,
        headers: dict[str, str] | None = None,
        **query: Any,
    ) -> Answer:
        """`path` below /api/v1/, or from / on. token: "" sends none."""
        where = path if path.startswith("/") else "/api/v1/" + quote(path)
        if query:
            where += "?" + urlencode(query)
        token = self.token if token is None else token
        all_headers = {"Authorization": f"Bearer {token}"} if token else {}
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, where, data, {**all_headers, **(headers or {})})
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **query: Any) -> Any:
        return self.request("GET", path, **query).ok()


@dataclass
class Unit:
    kind: int
    prev: int
    first: int
    last: int
    data: bytes
    lost: int = 0


@dataclass
class Log:
    """What a writer's database holds: its identity as CBOR, and its units in order."""

    uid: str
    writer: str
    identity: bytes
    units: list[Unit]

    def batch(self, units: list[Unit] | None = None, heartbeat_us: int = 0) -> bytes:
        return batch_of(self.identity, self.units if units is None else units, heartbeat_us)


def with_crc(data: bytes) -> bytes:
    """The frame or batch with the CRC of what it holds now."""
    return data[:-4] + struct.pack("<I", crc32c(data[:-4]))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def batch_of(identity: bytes, units: list[Unit], heartbeat_us: int = 0) -> bytes:
    head = (b"\xa2" if heartbeat_us else b"\xa1") + b"\x66writer" + identity
    if heartbeat_us:
        head += b"\x6cheartbeat_us\x1b" + heartbeat_us.to_bytes(8, "big")
    body = _varint(len(head)) + head + _varint(len(units))
    for unit in units:
        body += bytes([unit.kind]) + b"".join(_varint(n) for n in (unit.prev, unit.first, unit.last, unit.lost))
        body += _varint(len(unit.data)) + unit.data
    out = b"TBAT" + struct.pack("<HHI", 1, 0, 12 + len(body) + 4) + body
    return out + struct.pack("<I", crc32c(out))


def log_of(database: Path) -> Log:
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as db:
        rows = [(FRAME, seq, seq, data) for seq, data in db.execute("SELECT seq, data FROM frames")]
        rows += [(SEGMENT, *row) for row in db.execute("SELECT first_seq, last_seq, data FROM segments")]
        (identity,) = db.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone()
    db.close()
    rows.sort(key=lambda row: row[1])
    units: list[Unit] = []
    for kind, first, last, data in rows:
        units.append(Unit(kind, units[-1].last if units else 0, first, last, data))
    uid = second_reader("cbor").decode(identity)["run"]["uid"]
    return Log(uid, database.stem, identity, units)


def logs_of(run_dir: Path | str) -> list[Log]:
    return [log_of(path) for path in sorted(Path(run_dir).glob("*.db"))]


def post(server: Server, log: Log, units: list[Unit] | None = None, project: str = "mnist", **more: Any) -> Answer:
    return server.request("POST", f"runs/{log.uid}/frames", log.batch(units, **more), project=project)


def wait_until(check: Any, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it has not come"
        time.sleep(0.02)
