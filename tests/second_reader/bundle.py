# SPDX-License-Identifier: MIT
"""A run in one file by docs/formats/bundle.md."""

from __future__ import annotations

import json
import re
from pathlib import Path

from bytes_in import Bytes, crc32c

from artifact import Version, read_versions


def read_bundle(data: bytes) -> dict[str, bytes]:
    """Its files by name."""
    rest = Bytes(data)
    if rest.take(8) != b"TRKBUND\n" or rest.uint(4) != 1:
        raise ValueError("not a bundle of version 1 to 3")
    count, size = rest.uint(4), rest.uint(8)
    _check(rest, 0)
    out: dict[str, bytes] = {}
    for _ in range(count):
        begin = rest.at
        length = rest.uint(8)
        name = rest.take(rest.uint(4)).decode()
        _check(rest, begin)
        begin = rest.at
        content = rest.take(length)
        _check(rest, begin)
        assert not out or name > max(out), f"{name} is out of order"
        out[name] = content
    assert rest.take(8) == b"TRKBEND\n"
    assert not rest.more()
    assert size == sum(map(len, out.values()))
    return out


def _check(rest: Bytes, begin: int) -> None:
    if crc32c(rest.data[begin : rest.at]) != rest.uint(4):
        raise ValueError(f"CRC of the bytes from {begin} on")


def unpack_bundle(data: bytes, to: Path) -> dict[str, list[Version]]:
    """The files of the run's folder below `to`; returns the artifacts that it brings, by "project/name"."""
    files = read_bundle(data)
    documents: dict[str, dict[str, dict[str, object]]] = {}
    for name, content in files.items():
        if found := re.fullmatch(r"artifacts/(\d+)(?:-(.+))?\.json", name):
            rest = found[2] or "artifact"
            documents.setdefault(found[1], {})[f"{rest}.json"] = json.loads(content)
        elif not name.startswith("blobs/"):
            path = to / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    out: dict[str, list[Version]] = {}
    for one in documents.values():
        who = one["artifact.json"]
        (version,) = read_versions(one, lambda digest: files[f"blobs/{digest}"])
        version.aliases.remove("latest")  # which is of a store
        out.setdefault(f"{who['project']}/{who['name']}", []).append(version)
    return out
