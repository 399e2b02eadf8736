# SPDX-License-Identifier: MIT
"""Goal: without an optional package what needs it says so in one line, with the command that installs it, and the run
goes on. Method: scripts in which the package cannot be imported."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]

TRIES = """
import sys
for name in {missing!r}: sys.modules[name] = None
import tracker
from tracker.exchange.parquet import write_parquet

class Arrow:
    def __arrow_c_stream__(self): pass

open("x.png", "wb").write(b"")
run = tracker.init(quiet=True)
run.log({{"loss": 1.0}}, step=0)
run.flush(30)
stored = lambda: tracker.open_run(run.id)
try:
    {call}
except ImportError as error:
    print(error)
run.log({{"loss": 2.0}}, step=1)
run.finish()
"""

MEDIA = "pip install 'tracker-run[media]'"
PARQUET = "Parquet needs pyarrow: pip install pyarrow (CSV needs nothing)"


@pytest.mark.parametrize(
    ("missing", "call", "text"),
    [
        ("PIL", "tracker.Image([[0, 255]])", f"Pillow is needed for images of pixels: {MEDIA}"),
        ("PIL", "tracker.Image('x.png', masks={'m': [[0]]})", f"Pillow is needed for masks: {MEDIA}"),
        ("PIL", "tracker.Video([[[[0, 1, 2]]]], fps=1)", f"Pillow is needed for videos of frames: {MEDIA}"),
        ("numpy", "tracker.Image([[0, 255]])", "NumPy is needed for an image: pip install numpy"),
        ("numpy", "tracker.Audio([0.0], sample_rate=9)", "NumPy is needed for audio of an array: pip install numpy"),
        ("numpy", "tracker.Histogram([1.0])", "NumPy is needed for a histogram of values: pip install numpy"),
        ("numpy", "tracker.pr_curve([0, 1], [0.1, 0.2])", "NumPy is needed for curves: pip install numpy"),
        ("numpy", "stored().history('loss').values", "NumPy is needed to read a history: pip install numpy"),
        ("pandas", "stored().history('loss').to_pandas()", "pandas is needed for to_pandas(): pip install pandas"),
        ("pyarrow", "tracker.Table(Arrow())", "pyarrow is needed for a table from Arrow: pip install pyarrow"),
        ("pyarrow", "write_parquet('', [], False, '')", PARQUET),
    ],
)
def test_what_needs_a_package_that_is_absent_says_so_in_one_line(
    script: Script, missing: str, call: str, text: str
) -> None:
    done = script(TRIES.format(missing=[missing], call=call))
    assert (done.stdout, done.stderr, done.returncode) == (text + "\n", "", 0)
    (run,) = tracker.runs()
    assert (run.state, run.summary) == ("finished", {"loss": 2.0})
