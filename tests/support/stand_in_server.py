# SPDX-License-Identifier: MIT
"""A server that speaks docs/formats/http.md as far as an upload needs it: a program, and what its folder holds.

Everything that it has acknowledged is in its folder, fsynced, so that it may be killed at any moment and started again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

sys.path.insert(0, str(Path(__file__).parent.parent / "second_reader"))

from batch import FRAME, Unit, read_batch
from frame import read_frame
from segment import read_segment

from run import Run, Writer

TOKEN = "trk_" + "a" * 43


class Received:
    """What the folder of a server holds, applied batch by batch as the page says."""

    def __init__(self, folder: Path, limits: dict[str, int] | None = None) -> None:
        self.folder = folder
        self.limits = {"batch_bytes": 32 << 20, "batch_units": 4096, "part_bytes": 16 << 20, "digests": 1000}
        self.limits.update(limits or {})
        self.units: dict[str, dict[str, list[Unit]]] = {}  # by run and writer
        self.acked: dict[str, dict[str, int]] = {}
        self.lost = 0
        self.heads: dict[str, dict[str, Any]] = {}
        self.projects: set[str] = set()
        self.batches = 0
        self.versions: list[dict[str, Any]] = []
        for path in sorted(folder.glob("*.batch")):
            project, data = path.read_bytes().split(b"\n", 1)
            self.apply(project.decode(), data)
        for path in sorted(folder.glob("*.version")):
            self.versions.append(json.loads(path.read_text()))

    def apply(self, project: str, data: bytes) -> tuple[int, list[dict[str, Any]], bool]:
        """The acknowledged number, what is rejected, and whether anything is new."""
        head, units = read_batch(data)
        self.batches += 1
        uid, writer = head["writer"]["run"]["uid"], head["writer"]["writer"]
        self.projects.add(project)
        self.heads[writer] = head
        acked = self.acked.setdefault(uid, {}).setdefault(writer, 0)
        held = self.units.setdefault(uid, {}).setdefault(writer, [])
        rejected = []
        new = False
        for unit in units:
            frame = read_frame(unit.data) if unit.kind == FRAME else read_segment(unit.data)
            assert frame.writer == writer
            if unit.last <= acked:
                same = [each.data for each in held if each.kind == FRAME and each.first == unit.first]
                if unit.kind == FRAME and same not in ([], [unit.data]):
                    rejected.append({"first": unit.first, "last": unit.last, "code": "differs"})
            elif unit.prev <= acked:
                # Of a segment what is known already is taken from it as well.
                held[:] = [each for each in held if each.last < unit.first]
                held.append(unit)
                self.lost += unit.lost
                acked, new = unit.last, True
            else:
                rejected.append({"first": unit.first, "last": unit.last, "code": "unknown_before"})
        self.acked[uid][writer] = acked
        return acked, rejected, new

    def run(self, uid: str) -> Run:
        writers = []
        for writer, units in self.units.get(uid, {}).items():
            frames = [read_frame(u.data) if u.kind == FRAME else read_segment(u.data) for u in units]
            writers.append(Writer(self.heads[writer]["writer"], self.acked[uid][writer], frames))
        return Run({}, writers)

    def rows(self, uid: str, metric: str) -> list[tuple[int | None, float | int | bool]]:
        return [(row.step, row.value) for row in self.run(uid).rows(metric)]


def serve(folder: Path, port: int, limits: dict[str, int]) -> None:
    lock = threading.Lock()
    received = Received(folder, limits)
    number = len(list(folder.iterdir()))

    def keep(name: str, data: bytes) -> None:
        with (folder / (name + ".new")).open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        (folder / (name + ".new")).rename(folder / name)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def answer(self, document: dict[str, Any], status: int = 200) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def fail(self, status: int, code: str, **more: Any) -> None:
            self.answer({"error": {"code": code, "message": f"this is {code}"}, **more}, status)

        def handle_one(self) -> None:
            nonlocal number
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if len(body) < int(self.headers.get("Content-Length", 0)):
                return None
            if self.headers.get("Authorization") != "Bearer " + TOKEN:
                return self.fail(401, "no_access")
            parts = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
            path = unquote(parts.path).removeprefix("/api/v1/")
            with lock:
                if path == "server":
                    return self.answer(
                        {
                            "service": "tracker",
                            "version": "0.1.0",
                            "api": [1],
                            "store": "0" * 32,
                            "limits": received.limits,
                        }
                    )
                if path == "projects":
                    return self.answer({"projects": [{"project": each} for each in sorted(received.projects)]})
                if match := re.fullmatch("runs/([0-9a-f]{32})/writers", path):
                    acked = received.acked.get(match[1], {})
                    return self.answer({"writers": {writer: {"acked_seq": n} for writer, n in acked.items()}})
                if re.fullmatch("runs/([0-9a-f]{32})/frames", path):
                    if len(body) > received.limits["batch_bytes"]:
                        return self.fail(413, "too_large")
                    acked, rejected, new = received.apply(query["project"], body)
                    if new:
                        number += 1
                        keep(f"{number:08}.batch", query["project"].encode() + b"\n" + body)
                    return self.answer(
                        {"acked_seq": acked, "rejected": rejected, "retry_after_ms": 0, "limits": received.limits}
                    )
                if path == "files/missing":
                    asked = json.loads(body)
                    out: dict[str, Any] = {"blobs": [], "media": []}
                    for digest in asked.get("blobs", []):
                        if not (folder / digest).exists():
                            out["blobs"].append({"digest": digest, "received": self.got(digest)})
                    for each in asked.get("media", []):
                        if not (folder / each["digest"]).exists():
                            out["media"].append({**each, "received": self.got(each["digest"])})
                    return self.answer(out)
                if match := re.fullmatch(r"(?:blobs|runs/[0-9a-f]{32}/media)/([0-9a-f]{64})(\.[a-z0-9]+)?", path):
                    return self.take_part(match[1], int(query["offset"]), int(query["bytes"]), body)
                if path == "artifacts/versions":
                    said = json.loads(body)
                    known = any(
                        (each["name"], each["digest"]) == (said["name"], said["digest"]) for each in received.versions
                    )
                    if not known:
                        received.versions.append(said)
                        number += 1
                        keep(f"{number:08}.version", json.dumps({**said, "project": query["project"]}).encode())
                    return self.answer({"number": 0, "created": not known})
            return self.fail(404, "not_found")

        def got(self, digest: str) -> int:
            part = folder / (digest + ".part")
            return part.stat().st_size if part.exists() else 0

        def take_part(self, digest: str, offset: int, size: int, body: bytes) -> None:
            if (folder / digest).exists():
                return self.answer({"received": size, "complete": True})
            if offset != self.got(digest):
                return self.fail(422, "damaged", received=self.got(digest))
            part = folder / (digest + ".part")
            with part.open("ab") as file:
                file.write(body)
            if self.got(digest) < size:
                return self.answer({"received": self.got(digest), "complete": False})
            if hashlib.sha256(part.read_bytes()).hexdigest() != digest:
                part.unlink()
                return self.fail(422, "damaged", received=0)
            part.rename(folder / digest)
            return self.answer({"received": size, "complete": True})

        do_GET = do_POST = do_PUT = handle_one  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3]))
