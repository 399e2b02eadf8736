# SPDX-License-Identifier: MIT
"""Goal: docs/cli.md says of every kind of finding that `tracker verify` reports what it means.

Method: the kinds in the code against the table and the list of notes. Bug: `levels` and `artifact` were nowhere.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORD = r'"([a-z]+(?:-[a-z]+)*)"'


def reported() -> set[str]:
    paths = [
        *ROOT.glob("src/storage/verify/*.cc"),
        *ROOT.glob("src/cli/commands/verify*.cc"),
        ROOT / "src/cli/commands/artifact_lineage.cc",
    ]
    found: set[str] = set()
    for path in paths:
        text = path.read_text()
        found |= set(re.findall(rf"\b(?:damage|note|add|failed)\(\s*{WORD}", text))
        found |= set(re.findall(rf"FindingLevel::k\w+,\s*{WORD}", text))
    return found


def test_every_kind_that_is_reported_is_documented_and_no_other() -> None:
    section = (ROOT / "docs/cli.md").read_text().split("## tracker verify")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[a-z`, -]+`) \|", section, re.MULTILINE)
    notes = section.split("Notes change no exit code:")[1].split("\n\n")[0]
    documented = set(re.findall(r"`([a-z-]+)`", " ".join(rows)))
    documented |= set(re.findall(r"`([a-z]+(?:-[a-z]+)*)`", notes)) - {"gc"}
    assert len(reported()) > 20
    assert reported() == documented
