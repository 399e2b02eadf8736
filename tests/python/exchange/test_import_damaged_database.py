# SPDX-License-Identifier: MIT
"""Goal: a damaged database of another tool is damage wherever it is damaged, not a wrong command line. Method: what the
tools wrote, cut off at each part of its length."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from importing import DATA, import_json, unpacked

PARTS = 8


@pytest.mark.parametrize("tool", ["mlflow", "trackio"])
def test_a_database_that_is_cut_off_is_named_and_ends_with_3(tmp_path: Path, tool: str) -> None:
    # Bug: exit code 2 where the cut met what SQLite reads when it opens a file
    if tool == "mlflow":
        whole = gzip.decompress((DATA / "mlflow.db.gz").read_bytes())
    else:
        whole = (unpacked(tmp_path, "trackio_media") / "mnist.db").read_bytes()
    for part in range(1, PARTS):
        folder = tmp_path / f"{part}"
        folder.mkdir()
        source = folder / "mlflow.db"
        source.write_bytes(whole[: len(whole) * part // PARTS])
        report = import_json(tmp_path / f"s{part}", source, "--format", tool, code=3)
        assert str(source) in report["problems"][0], report


def test_what_is_no_database_is_a_wrong_argument(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_bytes(b"no database" * 1000)
    import_json(tmp_path / "s", tmp_path / "mlflow.db", code=2)
