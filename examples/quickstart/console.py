# SPDX-License-Identifier: MIT
"""What a program prints, and what its children do, is kept with the run. Run: python console.py"""

# [sample]
import subprocess

import tracker

run = tracker.init(project="mnist", console="fd")  # without console="fd": what Python prints
print("epoch 1: loss 0.5", flush=True)
subprocess.run(["echo", "a line of a child process"], check=True)
run.finish()
for line in tracker.open_run(f"mnist/{run.id}").console():
    print(line.time, line.stream, line.text)
# [/sample]
