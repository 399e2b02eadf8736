# SPDX-License-Identifier: MIT
"""Goal: whatever lies where media wait is stored, dropped and counted, or left for a newer version; it stands in the
way of no other, takes no memory beyond its size and leaves the run readable.
Method: files of every kind, changed at random from a seed: bits, cuts, insertions, and values of their JSON with the
checksums made right (tests/support/spool_fuzz.py). TRACKER_TEST_SEED replays; TRACKER_TEST_SECONDS makes it longer."""

from __future__ import annotations

import os
import random
from pathlib import Path

from spooled import EVERY_KIND, STUCK, Script, killed

FUZZ = Path(__file__).parent.parent / "support" / "spool_fuzz.py"
FILES = 240
SEED = int(os.environ.get("TRACKER_TEST_SEED", random.randrange(1 << 32)))
SECONDS = float(os.environ.get("TRACKER_TEST_SECONDS", "0"))  # of CPU


def test_files_that_are_changed_at_random_are_stored_or_counted_or_left_for_a_newer_version(script: Script) -> None:
    print(f"TRACKER_TEST_SEED={SEED}")
    logs = "_media_queue.HELD_BYTES_MAX = 0\nrun.log({**every_kind(), 'loss': 1.0}, step=3)\n"
    killed(script, EVERY_KIND + STUCK + logs)
    source = f"import runpy, sys\nsys.argv = ['fuzz', '{SEED}', '{FILES}', '{SECONDS}']\n"
    done = script(source + f"runpy.run_path({str(FUZZ)!r}, run_name='__main__')\n", timeout=SECONDS * 20 + 300)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-3000:]
