# SPDX-License-Identifier: MIT
# [sample]
import tracker

run = tracker.init(project="mnist", config={"lr": 0.1})
for step in range(1000):
    run.log({"loss": 1 / (1 + step), "acc": step / 1000}, step=step)
run.finish()
print(tracker.open_run(f"mnist/{run.id}").history("loss").values[-1])
# [/sample]
