# SPDX-License-Identifier: MIT
"""Goal: no two rooms give one name to two types. Method: all types that are defined outside functions and unnamed
namespaces, by their namespace and name.

Regression: two structs FileStamp, of 24 and 40 bytes, shared the functions of one std::optional, and the smaller was
written as if it were the larger.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TYPE = re.compile(r"(?:template.*>\s*)?(?:struct|class|enum class|union) (\w+)(?: final)?\s*(?::[^:;]*)?\{")


def types_in(path: Path) -> set[str]:
    found: set[str] = set()
    inner = ""
    hidden = False
    for line in path.read_text(encoding="utf-8").splitlines():
        if named := re.match(r"namespace ([\w:]+) \{", line):
            inner = named[1]
        hidden = (hidden or line == "namespace {") and line != "}  // namespace"
        if not hidden and (defined := TYPE.match(line)):
            found.add(f"{inner}::{defined[1]}")
    return found


def test_a_type_has_a_name_of_its_own() -> None:
    where: defaultdict[str, list[str]] = defaultdict(list)
    for folder in ("src", "bindings", "include"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".h", ".hpp", ".cc", ".cpp"}:
                for name in types_in(path):
                    where[name].append(str(path.relative_to(ROOT)))
    assert len(where) > 300
    assert {name: files for name, files in where.items() if len(files) > 1} == {}
