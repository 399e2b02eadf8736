# SPDX-License-Identifier: MIT
"""Bytes a value, and values decoded a second, of other codecs for the raw columns in a folder; JSON on stdout.

    python columns.py FOLDER      files NAME.TYPE, as bench_codec writes them with TRACKER_BENCH_COLUMNS

zstd 1 after a byte shuffle (zstandard), Pcodec at its default level (pcodec), ALP as DuckDB stores it (duckdb, the file
of 20 copies of the column), and Gorilla's XOR (Pelkonen et al., VLDB 2015), whose size alone is counted here.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import zstandard
from pcodec import ChunkConfig, standalone

TYPES = {"float64": np.float64, "float32": np.float32, "int64": np.int64}
COPIES = 20
ROUNDS = 15
Column = np.ndarray[tuple[int], np.dtype[Any]]


def speed(decode: Callable[[], object], rows: int) -> float:
    """Million values a second of CPU, the median of the rounds."""
    times = []
    for _ in range(ROUNDS):
        begin = time.thread_time_ns()
        decode()
        times.append(time.thread_time_ns() - begin)
    return rows / sorted(times)[ROUNDS // 2] * 1e3


def zstd_shuffle(values: Column) -> dict[str, float]:
    planes = values.view(np.uint8).reshape(len(values), -1).T.copy()
    packed = zstandard.ZstdCompressor(level=1).compress(planes.tobytes())

    def decode() -> Column:
        raw = np.frombuffer(zstandard.ZstdDecompressor().decompress(packed), np.uint8)
        return np.ascontiguousarray(raw.reshape(planes.shape).T).view(values.dtype)[:, 0]

    assert decode().tobytes() == values.tobytes()
    return {"bytes": len(packed) / len(values), "decode": speed(decode, len(values))}


def pcodec(values: Column) -> dict[str, float]:
    packed = standalone.simple_compress(values, ChunkConfig())
    out = np.empty_like(values)
    standalone.simple_decompress_into(packed, out)
    assert out.tobytes() == values.tobytes()
    rate = speed(lambda: standalone.simple_decompress_into(packed, out), len(values))
    return {"bytes": len(packed) / len(values), "decode": rate}


def alp(values: Column) -> dict[str, float]:
    """Of floats alone: the smaller of ALP and of its variant for values that are no decimals (ALP-RD)."""
    sizes = [duckdb_bytes(values, name) for name in ("ALP", "ALPRD")] if values.dtype.kind == "f" else []
    found = [size for size in sizes if size is not None]
    return {"bytes": min(found)} if found else {}


def duckdb_bytes(values: Column, compression: str) -> float | None:
    """None: DuckDB takes something else, as for a constant."""
    frame = {"v": np.tile(values, COPIES)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "columns.duckdb")
        with duckdb.connect(str(path)) as db:
            db.execute("SET threads = 1")
            db.execute(f"PRAGMA force_compression = '{compression}'")
            db.execute("CREATE TABLE t AS SELECT v FROM frame")
            db.execute("CHECKPOINT")
            info = "SELECT DISTINCT compression FROM pragma_storage_info('t') WHERE segment_type <> 'VALIDITY'"
            if db.execute(info).fetchall() != [(compression,)]:
                return None
        return path.stat().st_size / len(frame["v"])


def gorilla(values: Column) -> dict[str, float]:
    width = 8 * values.dtype.itemsize
    words = values.view(np.uint64 if width == 64 else np.uint32).astype(np.uint64)
    bits = width
    leading = trailing = -1
    for xor in (words[1:] ^ words[:-1]).tolist():
        if xor == 0:
            bits += 1
            continue
        zeros = min(31, width - xor.bit_length())
        low = (xor & -xor).bit_length() - 1
        if leading >= 0 and zeros >= leading and low >= trailing:
            bits += 2 + width - leading - trailing
        else:
            leading, trailing = zeros, low
            bits += 2 + 5 + 6 + width - leading - trailing
    return {"bytes": bits / 8 / len(values)}


def main() -> None:
    out: dict[str, dict[str, dict[str, float]]] = {}
    for path in sorted(Path(sys.argv[1]).iterdir()):
        if path.suffix[1:] in TYPES:
            values = np.fromfile(path, TYPES[path.suffix[1:]])
            codecs = (zstd_shuffle, gorilla, alp, pcodec)
            out[path.stem] = {codec.__name__: codec(values) for codec in codecs}
    print(json.dumps(out))


if __name__ == "__main__":
    main()
