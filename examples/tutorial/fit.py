# SPDX-License-Identifier: MIT
"""A training of a few seconds that can be killed: it fits y = 2 x + 1. Run: python fit.py [SECONDS A STEP]"""

# [sample]
import json
import sys
import time
from pathlib import Path

import tracker

pause = float(sys.argv[1]) if len(sys.argv) > 1 else 0.002
run = tracker.init(project="line", id="first", resume="allow", config={"lr": 0.05})
checkpoint = Path("line.json")
done, a, b = json.loads(checkpoint.read_text()) if checkpoint.exists() else (0, 0.0, 0.0)
for step in range(done, 1500):
    x = (step % 21 - 10) / 10
    error = a * x + b - (2 * x + 1)
    a, b = a - run.config["lr"] * error * x, b - run.config["lr"] * error
    run.log({"loss": error**2, "a": a, "b": b}, step=step)
    Path("line.new").write_text(json.dumps([step + 1, a, b]))
    Path("line.new").replace(checkpoint)  # a kill leaves the old file or the new one
    time.sleep(pause)  # stands for the rest of a training step
    if run.should_stop():  # somebody has typed: tracker stop line/first
        break
run.summary["line"] = f"y = {a:.3f} x + {b:.3f}"
run.finish()
# [/sample]
