# SPDX-License-Identifier: MIT
"""Goal: the list of variables that `tracker doctor` goes by has all that the code reads, and each is documented.

Method: src/model/variables.h against the names in the code and in docs/environment.md. Bug: the list was written by
hand in the command, had eight of thirteen, and doctor said of documented variables that no code reads them.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (("src", "*.cc"), ("src", "*.h"), ("bindings", "*.cpp"), ("bindings", "*.h"), ("python", "*.py"))


def listed() -> set[str]:
    text = (ROOT / "src/model/variables.h").read_text()
    names = text.split("kVariables[] =")[1].split(";")[0]
    return {"TRACKER_" + name for name in re.findall(r'"([A-Z_]+)"', names)}


def test_every_variable_that_the_code_names_is_in_the_list_and_no_other() -> None:
    found: set[str] = set()
    for folder, pattern in SOURCES:
        for path in (ROOT / folder).rglob(pattern):
            found |= set(re.findall(r"""["'](TRACKER_[A-Z0-9_]*[A-Z0-9])["']""", path.read_text()))
    assert found == listed()


def test_every_variable_of_the_list_is_documented_and_every_documented_one_is_read() -> None:
    text = (ROOT / "docs/environment.md").read_text()
    assert set(re.findall(r"`(TRACKER_[A-Z_]*[A-Z])", text)) == listed()
    table = set(re.findall(r"^\| `(TRACKER_[A-Z_]+)`", text, re.MULTILINE))
    assert table == listed() - {"TRACKER_PARENT_RUN"}, "which is no setting"
