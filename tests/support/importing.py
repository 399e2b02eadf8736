# SPDX-License-Identifier: MIT
"""What the tests of importers share: the command, and files that the tools themselves wrote (tests/data/import)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import tracker
from unpack import unpack_tar

DATA = Path(__file__).resolve().parents[1] / "data" / "import"


def import_json(store: Path, *arguments: object, code: int = 0) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tracker", "import", *map(str, arguments), "--json", "--dir", str(store)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    out: dict[str, Any] = json.loads(done.stdout) if done.stdout else {"stderr": done.stderr}
    return out


def unpacked(folder: Path, name: str) -> Path:
    """Files of a tool, as it left them. Some are packed: there are many of them."""
    if not (DATA / f"{name}.tar.gz").exists():
        return DATA / name
    unpack_tar(DATA / f"{name}.tar.gz", folder / "unpacked")
    return folder / "unpacked" / name


def opened(store: Path, report: dict[str, Any], index: int = 0) -> Any:
    return tracker.open_run(report["runs"][index]["uid"], dir=str(store))
