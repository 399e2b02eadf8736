# SPDX-License-Identifier: MIT
"""Goal: the title of each document of a format says the version that the code writes.

Method: the number at the end of the title is held against the constant in the sources.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONSTANTS = {
    "bundle": ("src/exchange/bundle.h", "kBundleVersion"),
    "catalog": ("src/storage/catalog/catalog_rows.h", "kCatalogVersion"),
    "database": ("src/storage/database/schema.h", "kDatabaseVersion"),
    "frame": ("src/codec/frame.h", "kFrameVersion"),
    "level": ("src/codec/level.h", "kLevelVersion"),
    "segment": ("src/codec/segment.h", "kSegmentVersion"),
    "store": ("src/storage/store/store.h", "kStoreVersion"),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_the_title_says_the_version_that_is_written(name: str) -> None:
    """Bug: the document of the catalog said 5 when it was 6."""
    header, constant = CONSTANTS[name]
    written = re.search(rf"\b{constant} = (\d+);", (ROOT / header).read_text())
    title = (ROOT / "docs" / "formats" / f"{name}.md").read_text().splitlines()[0]
    assert written
    assert title.endswith(f" {written[1]}")
