# SPDX-License-Identifier: MIT
"""A cell of a notebook; run again it ends this run and makes another one."""

# [sample]
import tracker

run = tracker.init(project="mnist", config={"lr": 0.1})
for step in range(1000):
    run.log({"loss": 1 / (1 + step), "acc": step / 1000}, step=step)
run  # at the end of a cell: state, config, and a line with a drawing for each metric
# [/sample]
