# SPDX-License-Identifier: MIT
"""Reading runs back; run quickstart.py first."""

import tracker

# [sample]
for run in tracker.runs(project="mnist"):
    print(run.id, run.state, run.config, run.summary)

run = tracker.open_run(f"mnist/{run.id}")
loss = run.history("loss")  # NumPy, complete and exact: loss.steps, loss.values, loss.times
table = run.history(["loss", "acc"]).to_pandas()  # aligned by step
# [/sample]
print(len(loss), *table.columns)
