# SPDX-License-Identifier: MIT
"""Files go to a server in parts, and artifacts are versions there when all of their files are.

Method: a real server process; blobs and manifests of an artifact that this process has stored locally.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tracker
from http_server import Server, create_token, logs_of, post


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path / "server") as server:
        yield server


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def put(server: Server, data: bytes, offset: int = 0, end: int | None = None, digest: str = "") -> Any:
    return server.request(
        "PUT", f"blobs/{digest or digest_of(data)}", data[offset:end], project="mnist", offset=offset, bytes=len(data)
    )


def test_a_file_comes_in_parts_and_goes_on_where_it_stopped(server: Server) -> None:
    data = bytes(range(256)) * 100
    digest = digest_of(data)
    asked = {"blobs": [digest]}
    assert server.request("POST", "files/missing", asked, project="mnist").ok()["blobs"] == [
        {"digest": digest, "received": 0}
    ]
    assert put(server, data, 0, 1000).ok() == {"received": 1000, "complete": False}
    again = put(server, data, 0, 1000)
    assert (again.status, again.json()["received"]) == (422, 1000)
    assert server.request("POST", "files/missing", asked, project="mnist").ok()["blobs"][0]["received"] == 1000
    assert put(server, data, 1000).ok() == {"received": len(data), "complete": True}
    assert put(server, data).ok() == {"received": len(data), "complete": True}
    assert server.request("POST", "files/missing", asked, project="mnist").ok() == {"blobs": [], "media": []}
    answer = server.request("GET", f"blobs/{digest}", name="model é.pt")
    assert answer.body == data
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''model%20%C3%A9.pt"


def test_bytes_of_another_digest_are_thrown_away(server: Server) -> None:
    answer = put(server, b"something", digest="0" * 64)
    assert (answer.status, answer.json()["received"]) == (422, 0)
    assert server.request("GET", f"blobs/{'0' * 64}").status == 404
    assert not list((server.store / "uploads").iterdir())


@pytest.mark.parametrize("name", ["../../etc/passwd", "..%2f..%2fserver.db", "A" * 64, "0" * 63])
def test_a_name_that_is_no_digest_is_no_path(server: Server, name: str) -> None:
    assert server.request("GET", f"/api/v1/blobs/{name}").status == 404
    assert server.request("PUT", f"/api/v1/blobs/{name}?bytes=1", b"x").status == 404


def stored(tmp_path: Path, data: Path) -> tuple[tracker.Run, dict[str, Any], list[bytes]]:
    """A run that made an artifact, what a client says of it, and the blobs of its files; the manifest comes last."""
    local = tmp_path / "local"
    run = tracker.init(project="mnist", id="otter", dir=str(local), quiet=True)
    artifact = run.log_artifact(data, name="data", type="dataset", aliases=["best"])
    artifact.wait()
    run.finish()
    blobs = {digest_of(path.read_bytes()): path.read_bytes() for path in local.glob("blobs/sha256/??/*")}
    (document,) = local.glob("artifacts/mnist/data/v0.json")
    said = json.loads(document.read_text())
    manifest = blobs.pop(said["manifest"])
    body = {
        "name": "data",
        "type": "dataset",
        "digest": said["content"] if "content" in said else said["digest"],
        "manifest": said["manifest"],
        "created_us": said["created_us"],
        "run": run.uid,
        "aliases": ["best"],
        "tags": ["small"],
        "marked_us": said["created_us"] + 1,
    }
    return run, body, [*blobs.values(), manifest]


def test_a_version_is_there_when_all_of_its_files_are(server: Server, tmp_path: Path, data: Path) -> None:
    run, body, blobs = stored(tmp_path, data)
    for log in logs_of(run.dir):
        post(server, log).ok()

    def send() -> Any:
        return server.request("PUT", "artifacts/versions", body, project="mnist")

    manifest = blobs.pop()
    assert send().json()["missing"] == [body["manifest"]]
    put(server, manifest).ok()
    answer = send()
    assert answer.status == 409
    assert sorted(answer.json()["missing"]) == sorted(digest_of(blob) for blob in blobs)
    for blob in blobs:
        put(server, blob).ok()
    assert send().ok() == {"number": 0, "created": True}
    assert send().ok() == {"number": 0, "created": False}

    (listed,) = server.get("artifacts", project="mnist")["artifacts"]
    assert (listed["name"], listed["versions"], listed["latest"], listed["aliases"]["best"]) == ("data", 1, 0, 0)
    version = server.get("artifacts/version", project="mnist", name="data", version="best")
    assert [(file["path"], file["bytes"]) for file in version["files"]] == [("one.bin", 100), ("sub/two.bin", 50)]
    assert (version["digest"], version["tags"]) == (body["digest"], ["small"])
    assert [made["uid"] for made in version["made_by"]] == [run.uid]
    assert version["used_by"] == []
    outputs = server.get(f"runs/{run.uid}")["outputs"]
    assert [each["digest"] for each in outputs] == [body["digest"]]


def test_marks_count_where_they_were_said_later(server: Server, tmp_path: Path, data: Path) -> None:
    _, body, blobs = stored(tmp_path, data)
    for blob in blobs:
        put(server, blob).ok()
    server.request("PUT", "artifacts/versions", body, project="mnist").ok()
    for alias, later in (("old", -100), ("new", 100)):
        said = {**body, "aliases": [alias], "marked_us": body["marked_us"] + later}
        server.request("PUT", "artifacts/versions", said, project="mnist").ok()
    version = server.get("artifacts/version", project="mnist", name="data")
    assert version["aliases"] == ["best", "latest", "new"]


def test_a_manifest_of_another_content_is_refused(server: Server, tmp_path: Path, data: Path) -> None:
    _, body, blobs = stored(tmp_path, data)
    for blob in blobs:
        put(server, blob).ok()
    answer = server.request("PUT", "artifacts/versions", {**body, "digest": "0" * 64}, project="mnist")
    assert answer.status == 400
    assert server.get("artifacts")["artifacts"] == []


def test_a_token_of_another_project_sees_no_blob(server: Server, tmp_path: Path, data: Path) -> None:
    _, body, blobs = stored(tmp_path, data)
    for blob in blobs:
        put(server, blob).ok()
    server.request("PUT", "artifacts/versions", body, project="mnist").ok()
    path = f"blobs/{digest_of(blobs[0])}"
    assert server.request("GET", path, token=create_token(server.store, "read", project="mnist")).status == 200
    assert server.request("GET", path, token=create_token(server.store, "read", project="other")).status == 404
