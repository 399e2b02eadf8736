# SPDX-License-Identifier: MIT
import tracker.compat.swanlab as swanlab  # was: import swanlab

swanlab.init("Launch-Example", experiment_name="first", config={"lr": 0.1})
for i in range(1000):
    swanlab.log({"loss": 1 / (i + 1)}, step=i)
swanlab.log({"note": "converged", "train": {"accuracy": 0.9}}, step=999)
swanlab.finish()
