# SPDX-License-Identifier: MIT
"""Goal: the bounds of reading files of other trackers hold at their edge.

Method: records are written in the pieces of LevelDB's log; a folder of 100,000 files is a walk that is made up;
stores of MLflow and Trackio are written by hand.
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from importing import import_json, opened
from tracker.exchange import leveldb_log, mlflow_store, plain_files
from tracker.exchange.leveldb_log import RUN_FILE_RECORD_BYTES_MAX, SWANLAB, WANDB, LogKind
from tracker.exchange.mlflow_store import MLFLOW_TEXT_BYTES_MAX
from tracker.exchange.plain_files import RUN_FILES_MAX
from tracker.exchange.swanlab_files import COLUMN, FINISH, SCALAR, START, SWANLAB_COLUMNS_MAX, SYSTEM_COLUMN
from tracker.exchange.trackio_store import TRACKIO_JSON_BYTES_MAX


def file_of_records(tool: LogKind, records: Iterable[bytes]) -> io.BytesIO:
    out = io.BytesIO()
    out.write(leveldb_log.HEAD.pack(*tool[1:]))
    for record in records:
        write_record(out, record)
    out.seek(0)
    return out


def write_record(out: io.BytesIO, record: bytes) -> None:
    at, first = 0, True
    while at < len(record):
        room = leveldb_log.BLOCK_BYTES - out.tell() % leveldb_log.BLOCK_BYTES
        if room <= leveldb_log.PIECE.size:
            out.write(bytes(room))
            continue
        data = record[at : at + room - leveldb_log.PIECE.size]
        at += len(data)
        left = at < len(record)
        if first:
            kind = leveldb_log.FIRST if left else leveldb_log.FULL
        else:
            kind = leveldb_log.MIDDLE if left else leveldb_log.LAST
        first = False
        out.write(leveldb_log.PIECE.pack(zlib.crc32(data, zlib.crc32(bytes([kind]))), len(data), kind) + data)


def message(number: int, data: bytes) -> bytes:
    """A field of fewer than 128 bytes, of a number below 16."""
    assert len(data) < 128
    return bytes([number << 3 | 2, len(data)]) + data


def test_a_record_of_the_limit_is_read_and_one_byte_more_is_said() -> None:
    last = file_of_records(WANDB, [bytes(RUN_FILE_RECORD_BYTES_MAX)])
    assert [len(data) for _, data in leveldb_log.records(last, "x", WANDB)] == [RUN_FILE_RECORD_BYTES_MAX]
    beyond = file_of_records(WANDB, [bytes(RUN_FILE_RECORD_BYTES_MAX + 1)])
    with pytest.raises(leveldb_log.DamagedError, match="has more than 64 MiB"):
        list(leveldb_log.records(beyond, "x", WANDB))


def test_as_many_run_files_as_the_limit_are_found_and_one_more_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{number}.wandb" for number in range(RUN_FILES_MAX)]

    def walk(source: str) -> Iterator[tuple[str, list[str], list[str]]]:
        yield source, [], names

    monkeypatch.setattr(os, "walk", walk)
    monkeypatch.setattr(plain_files, "is_plain", lambda path: True)
    assert len(plain_files.run_files(str(tmp_path), ".wandb")) == RUN_FILES_MAX
    names.append("one-more.wandb")
    with pytest.raises(ValueError, match="more than 100,000 run files"):
        plain_files.run_files(str(tmp_path), ".wandb")


def test_a_text_of_mlflow_is_whole_up_to_the_limit_and_cut_after_it(tmp_path: Path) -> None:
    path = tmp_path / "param"
    path.write_bytes(b"a" * MLFLOW_TEXT_BYTES_MAX)
    assert mlflow_store._read_text(path) == "a" * MLFLOW_TEXT_BYTES_MAX
    path.write_bytes(b"a" * MLFLOW_TEXT_BYTES_MAX + b"b")
    assert mlflow_store._read_text(path) == "a" * MLFLOW_TEXT_BYTES_MAX


def test_a_metric_of_mlflow_has_lines_up_to_the_limit_and_a_longer_one_is_one_problem(tmp_path: Path) -> None:
    # Bug: a longer line went on as the next ones: its start was a value of a step that was never logged.
    run = tmp_path / "mlruns" / "1" / "a"
    (run / "metrics").mkdir(parents=True)
    (run.parent / "meta.yaml").write_text("name: mnist\n")
    (run / "meta.yaml").write_text("run_id: a\nstatus: 3\n")
    longest = f"1000 2.5{'2':>{MLFLOW_TEXT_BYTES_MAX - 8}}"
    assert len(longest) == MLFLOW_TEXT_BYTES_MAX
    longer = [f"1000 3.5 3{' ' * count}" for count in (MLFLOW_TEXT_BYTES_MAX - 9, 3 * MLFLOW_TEXT_BYTES_MAX)]
    lines = ["1000 1.5 1", longest, *longer, "1000 4.5 4", f"1000 5.5{'5':>{MLFLOW_TEXT_BYTES_MAX - 8}}"]
    (run / "metrics" / "loss").write_text("\n".join(lines))
    report = import_json(tmp_path / "s", tmp_path / "mlruns", "--project", "p", code=3)
    loss = opened(tmp_path / "s", report).history("loss")
    assert list(zip(loss.steps, loss.values, strict=True)) == [(1, 1.5), (2, 2.5), (4, 4.5), (5, 5.5)]
    path = run / "metrics" / "loss"
    assert report["problems"] == [f"{path}: line {number} is no value; it was left out" for number in (3, 4)]


def test_a_row_of_trackio_is_read_up_to_the_limit_of_bytes_and_one_byte_more_is_counted(tmp_path: Path) -> None:
    # Bug: characters were counted, of which each may have four bytes.
    def document(value: float, fill: str, size: int) -> str:
        out = json.dumps({"loss": value, "note": ""})[:-2]
        count, rest = divmod(size - len(out) - 2, len(fill.encode()))
        return out + fill * count + "x" * rest + '"}'

    with closing(sqlite3.connect(tmp_path / "p.db")) as db, db:
        db.execute("CREATE TABLE metrics(timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT)")
        for step in range(4):
            row = document(step / 2, "xé"[step // 2], TRACKIO_JSON_BYTES_MAX + step % 2)
            assert len(row.encode()) == TRACKIO_JSON_BYTES_MAX + step % 2
            db.execute("INSERT INTO metrics VALUES ('2026-01-01T00:00:00', 'a', ?, ?)", (step, row))
    report = import_json(tmp_path / "s", tmp_path / "p.db", "--format", "trackio")
    loss = opened(tmp_path / "s", report).history("loss")
    assert list(zip(loss.steps, loss.values, strict=True)) == [(0, 0.0), (2, 1.0)]
    assert report["left_out"]["rows that are no JSON objects"] == 2


def test_as_many_metrics_of_swanlabs_samples_as_the_limit_are_kept_apart_from_the_programs(tmp_path: Path) -> None:
    def scalar(key: str, value: float) -> bytes:
        return message(SCALAR, message(1, key.encode()) + message(5, b"\x09" + struct.pack("<d", value)))

    kind = bytes([1 << 3, SYSTEM_COLUMN])
    columns = [message(COLUMN, kind + message(3, b"s%d" % i)) for i in range(SWANLAB_COLUMNS_MAX + 1)]
    rows = [scalar("loss", 0.5), *(scalar(f"s{SWANLAB_COLUMNS_MAX + i}", 1.5) for i in (-1, 0))]
    records = [message(START, message(1, b"p") + message(10, b"run")), *columns, *rows, message(FINISH, b"\x08\x01")]
    (tmp_path / "run-a.swanlab").write_bytes(file_of_records(SWANLAB, records).getvalue())
    report = import_json(tmp_path / "s", tmp_path / "run-a.swanlab")
    assert opened(tmp_path / "s", report).series() == ["loss", f"s{SWANLAB_COLUMNS_MAX}"]
    assert report["left_out"] == {"system samples": 1}
