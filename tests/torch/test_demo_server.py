# SPDX-License-Identifier: MIT
"""Goal: `make demo-server` shows what it says: scripts with only their import line changed, one of them killed and
resumed, one offline, are on the server as they are in the local store. Method: run as make runs it, without a terminal.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_the_demo_of_a_server_finds_the_same_points_there_and_here(store: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "demo" / "demo_server.py")],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"^   (\S+), finished +(\d+) +([\d,]+) +([\d,]+) +(\d+)  same$", done.stdout, re.MULTILINE)
    assert [row[0].partition("/")[0] for row in rows] == ["em-examples", "serverless-pilot", "Launch-Example"]
    assert all(here == server and differ == "0" for _, _, here, server, differ in rows)
    assert re.search(r"killed with SIGKILL.* on the server: iteration [2-4]\d\d of 500", done.stdout)
    assert re.search(r"in the browser .*: http://127\.0\.0\.1:\d+/#code=\S+$", done.stdout, re.MULTILINE)


def test_of_tracker_the_scripts_have_their_import_line_alone() -> None:
    scripts = sorted((EXAMPLES / "scenarios").glob("*.py"))
    assert len(scripts) == 3
    for script in scripts:
        lines = [line for line in script.read_text().splitlines() if "tracker" in line.partition("#")[0]]
        assert [bool(re.search(r"  # was: (from t9k )?import ", line)) for line in lines] == [True], script
