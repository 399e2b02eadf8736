# SPDX-License-Identifier: MIT
"""Goal: an import that cannot carry artifacts says which they are, bounded, and a name from a file cannot write on the
terminal.

Method: records of artifacts appended to a run file that W&B wrote, rows in a database that Trackio wrote."""

from __future__ import annotations

import sqlite3
import struct
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from importing import import_json, unpacked
from tracker.exchange import left_artifacts
from tracker.exchange.leveldb_log import BLOCK_BYTES, FULL, PIECE


def field(number: int, value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    assert len(data) < 1 << 14
    out = b""
    for n in (number << 3 | 2, len(data)):
        out += bytes([n]) if n < 0x80 else bytes([n & 0x7F | 0x80, n >> 7])
    return out + data


def append(path: Path, record: bytes) -> None:
    data = path.read_bytes()
    left = BLOCK_BYTES - len(data) % BLOCK_BYTES
    if left < PIECE.size + len(record):
        data += bytes(left) if left < PIECE.size else piece(bytes(left - PIECE.size))
    path.write_bytes(data + piece(record))


def piece(record: bytes) -> bytes:
    crc = zlib.crc32(bytes([FULL]) + record)
    return struct.pack("<IHB", crc, len(record), FULL) + record


def artifact(name: str, type: str, *aliases: str) -> bytes:
    return field(8, field(4, type) + field(5, name) + b"".join(field(11, alias) for alias in aliases))


@pytest.fixture
def wandb(tmp_path: Path) -> Path:
    (path,) = unpacked(tmp_path, "wandb_media").rglob("*.wandb")
    return path


def left_out(report: dict) -> dict[str, int]:  # type: ignore[type-arg]
    return {kind: count for kind, count in report["left_out"].items() if "artifacts" in kind}


def test_artifacts_of_wandb_are_named_with_type_and_aliases(tmp_path: Path, wandb: Path) -> None:
    append(wandb, artifact("mnist-model", "model", "latest", "best"))
    append(wandb, artifact("mnist-model", "model", "latest"))
    append(wandb, artifact("mnist-model", "model", "latest"))
    append(wandb, artifact("data\x1b[2J\n", "dataset"))
    append(wandb, artifact("", "dataset"))
    append(wandb, field(25, field(1, "QXJ0aWZhY3Q6MQ==") + field(2, "dataset") + field(3, "team/mnist/data:v3")))
    assert left_out(import_json(tmp_path / "s", wandb)) == {
        "artifacts: mnist-model (model, latest, best)": 1,
        "artifacts: mnist-model (model, latest)": 2,
        "artifacts: data?[2J? (dataset)": 1,
        "artifacts": 1,
        "uses of artifacts: team/mnist/data:v3 (dataset)": 1,
        "artifacts: run-o956rxer-table (run_table, latest)": 1,  # W&B's own
    }


def test_of_very_many_artifacts_the_first_are_named_and_all_are_counted(tmp_path: Path, wandb: Path) -> None:
    many = left_artifacts.ARTIFACTS_NAMED_MAX + 4  # beside W&B's own
    for number in range(many):
        append(wandb, artifact(f"a{number}", "model"))
    found = left_out(import_json(tmp_path / "s", wandb))
    assert len(found) == left_artifacts.ARTIFACTS_NAMED_MAX + 1
    assert found["artifacts"] == 5
    assert sum(found.values()) == many + 1


def test_versions_of_trackio_are_named_with_type_and_aliases(tmp_path: Path) -> None:
    path = unpacked(tmp_path, "trackio_media") / "mnist.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO artifacts VALUES (1, 'net', 'model', NULL, '2026-01-01')")
        for n in (1, 2):
            db.execute(
                "INSERT INTO artifact_versions VALUES (?, 1, ?, ?, '{}', NULL, 9, NULL, NULL, '')", (n, n - 1, str(n))
            )
        db.execute("INSERT INTO artifact_aliases VALUES (1, 'latest', 2)")
        db.execute("INSERT INTO artifact_versions VALUES (3, 77, 0, 'x', '{}', NULL, 9, NULL, NULL, '')")
    assert left_out(import_json(tmp_path / "s", path, "--format", "trackio")) == {
        "versions of artifacts: net:v0 (model)": 1,
        "versions of artifacts: net:v1 (model, latest)": 1,
        "versions of artifacts": 1,
    }
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP TABLE artifact_aliases")
    assert left_out(import_json(tmp_path / "t", path, "--format", "trackio")) == {"versions of artifacts": 3}
