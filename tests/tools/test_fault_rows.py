# SPDX-License-Identifier: MIT
"""Goal: tests/fault/README.md says of each fault program what it breaks, so that no reader searches for a missing one.

Method: the programs that CMakeLists.txt builds are held against the rows of the tables.
Bug: seventeen programs had none.
"""

from __future__ import annotations

import re
from pathlib import Path

FAULT = Path(__file__).resolve().parents[1] / "fault"


def test_every_fault_program_has_a_row() -> None:
    programs = set(re.findall(r"\b\w+_test\.cc\b", (FAULT / "CMakeLists.txt").read_text()))
    assert programs == {path.name for path in FAULT.glob("*_test.cc")}
    rows = "\n".join(line for line in (FAULT / "README.md").read_text().splitlines() if line.startswith("|"))
    assert sorted(name for name in programs if f"`{name}`" not in rows) == []
