# SPDX-License-Identifier: MIT
"""Started again and again, it goes on in the same run."""

import tracker

# [sample]
run = tracker.init(project="mnist", id="baseline", resume="allow")
start = run.step + 1  # -1 before the first step; or what your checkpoint says
for step in range(start, start + 100):
    run.log({"loss": 1 / (1 + step)}, step=step)
run.finish()
# [/sample]
print(start, run.attempt)
