# SPDX-License-Identifier: MIT
"""A loop that tells people of what it sees, and that stops when it is asked to: `tracker stop` in another shell."""

import math
import subprocess
import sys
import time

import tracker


def train_step(step: int) -> float:
    """A loss. At step 10 somebody types in another shell: tracker stop RUN --reason "good enough"."""
    time.sleep(0.01)
    if step == 10 and tracker.run is not None:
        command = [sys.executable, "-m", "tracker", "stop", tracker.run.id, "--reason", "good enough"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return math.nan if step == 5 else 1 / (1 + step)


# [sample]
run = tracker.init(project="mnist")
for step in range(100_000):
    loss = train_step(step)
    run.log({"loss": loss}, step=step)
    if math.isnan(loss):
        run.alert("loss is NaN", f"at step {step}", level="warn")  # info, warn or error
    if run.should_stop():  # somebody has typed: tracker stop RUN --reason "good enough"
        print(run.stop_reason)  # good enough (anna on node1, 2026-11-22 08:40:12 UTC)
        break
run.finish()
# [/sample]
