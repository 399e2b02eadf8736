# SPDX-License-Identifier: MIT
"""Three runs of one group, and the best of them. Run: python sweep.py"""

# [sample]
import tracker

for lr in (0.1, 0.01, 0.001):
    with tracker.init(project="line", id=f"lr-{lr}", group="sweep", config={"lr": lr}) as run:
        a = b = 0.0
        for step in range(500):
            x = (step % 21 - 10) / 10
            error = a * x + b - (2 * x + 1)
            a, b = a - lr * error * x, b - lr * error
            run.log({"loss": error**2}, step=step)

runs = tracker.runs(project="line", where="group = sweep", sort="metrics.loss")
print(runs[0].id, runs[0].summary["loss"])
# [/sample]
