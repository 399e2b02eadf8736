# SPDX-License-Identifier: MIT
"""Goal: the bounds of reading files of other trackers hold at their edge.

Method: records are written in the pieces of LevelDB's log; a folder of 100,000 files is a walk that is made up.
"""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tracker.exchange import leveldb_log, mlflow_store, plain_files
from tracker.exchange.leveldb_log import RUN_FILE_RECORD_BYTES_MAX
from tracker.exchange.mlflow_store import MLFLOW_TEXT_BYTES_MAX
from tracker.exchange.plain_files import RUN_FILES_MAX


def file_of_one_record(size: int) -> io.BytesIO:
    out = io.BytesIO()
    out.write(leveldb_log.HEAD.pack(b":W&B", 0xBEE1, 0))
    left, first = size, True
    while left:
        room = leveldb_log.BLOCK_BYTES - out.tell() % leveldb_log.BLOCK_BYTES
        if room <= leveldb_log.PIECE.size:
            out.write(bytes(room))
            continue
        data = bytes(min(left, room - leveldb_log.PIECE.size))
        left -= len(data)
        if first:
            kind = leveldb_log.FIRST if left else leveldb_log.FULL
        else:
            kind = leveldb_log.MIDDLE if left else leveldb_log.LAST
        first = False
        out.write(leveldb_log.PIECE.pack(zlib.crc32(data, zlib.crc32(bytes([kind]))), len(data), kind) + data)
    out.seek(0)
    return out


def test_a_record_of_the_limit_is_read_and_one_byte_more_is_said() -> None:
    last = file_of_one_record(RUN_FILE_RECORD_BYTES_MAX)
    assert [len(data) for _, data in leveldb_log.records(last, "x", leveldb_log.WANDB)] == [RUN_FILE_RECORD_BYTES_MAX]
    beyond = file_of_one_record(RUN_FILE_RECORD_BYTES_MAX + 1)
    with pytest.raises(leveldb_log.DamagedError, match="has more than 64 MiB"):
        list(leveldb_log.records(beyond, "x", leveldb_log.WANDB))


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


def test_a_text_of_mlflow_is_whole_up_to_the_limit_and_cut_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "param"
    path.write_bytes(b"a" * MLFLOW_TEXT_BYTES_MAX)
    assert mlflow_store._read_text(path) == "a" * MLFLOW_TEXT_BYTES_MAX
    path.write_bytes(b"a" * MLFLOW_TEXT_BYTES_MAX + b"b")
    assert mlflow_store._read_text(path) == "a" * MLFLOW_TEXT_BYTES_MAX
