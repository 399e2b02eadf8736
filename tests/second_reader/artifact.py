# SPDX-License-Identifier: MIT
"""Artifacts of a store by docs/formats/artifact.md: documents, manifests, and the bytes of their files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bytes_in import Bytes, crc32c

FORMATS = {"artifact": "tracker-artifact", "v": "tracker-artifact-version", "mark": "tracker-artifact-mark"}


@dataclass
class Entry:
    path: str
    size: int
    digest: str = ""
    uri: str = ""
    checksum: str = ""


@dataclass
class Version:
    type: str
    document: dict[str, Any]
    entries: list[Entry]
    aliases: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    expires_us: int | None = None


def read_manifest(data: bytes) -> tuple[list[Entry], str]:
    """Its entries, and the content digest that follows from them."""
    if crc32c(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise ValueError("CRC")
    rest = Bytes(data[:-4])
    if rest.take(4) != b"TRKM" or rest.uint(2) != 1 or rest.uint(2) != 0:
        raise ValueError("not a manifest of version 1")
    entries: list[Entry] = []
    content = hashlib.sha256(b"tracker-artifact-content-1\n")
    path = b""
    while kind := _peek(rest):
        begin = rest.at
        rest.take(1)
        shared = rest.varint()
        before, path = path, path[:shared] + rest.sized()
        if path <= before or path[:shared] != before[:shared]:
            raise ValueError(f"{path!r} after {before!r}")
        entry = Entry(path.decode(), rest.varint())
        if kind == 1:
            entry.digest = rest.take(32).hex()
        elif kind == 2:
            entry.uri, entry.checksum = rest.sized().decode(), rest.sized().decode()
        else:
            raise ValueError(f"an entry of kind {kind}")
        content.update(rest.data[begin : rest.at])
        if kind == 1:
            rest.zigzag()
        entries.append(entry)
    rest.take(1)
    if rest.varint() != len(entries) or rest.more():
        raise ValueError("the end")
    return entries, content.hexdigest()


def _peek(rest: Bytes) -> int:
    kind = rest.uint(1)
    rest.at -= 1
    return kind


def read_artifacts(store: Path) -> dict[str, list[Version]]:
    """By "project/name", versions by number; the bytes of every file are held against their digest."""
    out = {}
    for folder in sorted(store.glob("artifacts/*/*")):
        documents = {path.name: json.loads(path.read_text()) for path in folder.glob("*.json")}
        who = documents["artifact.json"]
        out[f"{who['project']}/{who['name']}"] = read_versions(documents, lambda digest: read_blob(store, digest))
    return out


def read_blob(store: Path, digest: str) -> bytes:
    return (store / "blobs" / "sha256" / digest[:2] / digest[2:]).read_bytes()


def read_versions(documents: dict[str, dict[str, Any]], blob: Callable[[str], bytes]) -> list[Version]:
    """Of the documents of one artifact, by their names in its folder; `blob` gives the bytes of a digest."""
    for name, document in documents.items():
        kind = re.split(r"[-.0-9]", name)[0]
        assert (document["format"], document["version"]) == (FORMATS[kind], 1), name
    versions = {}
    for name in sorted(name for name in documents if name[0] == "v"):
        document = documents[name]
        number = document["number"]
        assert name == f"v{number}.json"
        entries, digest = read_manifest(_checked(blob, document["manifest"]))
        assert digest == document["digest"]
        files = [entry for entry in entries if entry.digest]
        assert (document["files"], document["references"]) == (len(files), len(entries) - len(files))
        assert document["bytes"] == sum(entry.size for entry in files)
        for entry in files:
            assert len(_checked(blob, entry.digest)) == entry.size, entry.path
        versions[number] = Version(documents["artifact.json"]["type"], document, entries)
    _mark(versions, documents)
    return [versions[number] for number in sorted(versions)]


def _checked(blob: Callable[[str], bytes], digest: str) -> bytes:
    data = blob(digest)
    assert hashlib.sha256(data).hexdigest() == digest
    return data


def _mark(versions: dict[int, Version], documents: dict[str, dict[str, Any]]) -> None:
    holders: dict[str, int] = {}
    newest, logged_again = max(versions), None
    for number in range(1, 1 + sum(name.startswith("mark-") for name in documents)):
        mark = documents[f"mark-{number}.json"]
        version = versions[mark["of"]]
        holders |= dict.fromkeys(mark.get("aliases_added", ()), mark["of"])
        for alias in mark.get("aliases_removed", ()):
            if holders.get(alias) == mark["of"]:
                del holders[alias]
        version.tags = [tag for tag in version.tags if tag not in mark.get("tags_removed", ())]
        version.tags += [tag for tag in mark.get("tags_added", ()) if tag not in version.tags]
        if "ttl_s" in mark:
            version.expires_us = mark["time_us"] + mark["ttl_s"] * 1_000_000 if mark["ttl_s"] else None
        version.document |= {key: mark[key] for key in ("description", "metadata") if key in mark}
        logged_again = mark if "logged_behind" in mark else logged_again
    holders["latest"] = (
        logged_again["of"] if logged_again is not None and logged_again["logged_behind"] >= newest else newest
    )
    for alias, number in holders.items():
        versions[number].aliases.append(alias)
