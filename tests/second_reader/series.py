# SPDX-License-Identifier: MIT
"""The binary form of series as docs/formats/http.md describes it."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

_FORMS = {"f64": "d", "u32": "I", "i64": "q", "u8": "B"}


@dataclass
class Series:
    head: dict[str, Any]
    columns: dict[str, list[Any]]


def read_series(data: bytes) -> list[Series]:
    magic, version, size = struct.unpack_from("<4sII", data)
    if magic != b"TSER" or version != 1:
        raise ValueError("not series of version 1")
    if (12 + size) % 8:
        raise ValueError("the columns do not begin at a multiple of 8")
    out = []
    end = 12 + size
    for head in json.loads(data[12:end])["series"]:
        columns = {}
        for column in head["columns"]:
            if column["offset"] % 8 or column["offset"] < end:
                raise ValueError(f"the column {column['name']} begins at {column['offset']}")
            columns[column["name"]] = list(
                struct.unpack_from(f"<{head['n']}{_FORMS[column['type']]}", data, column["offset"])
            )
        out.append(Series(head, columns))
    return out
