# SPDX-License-Identifier: MIT
"""From a version to the runs that made and used it, and from a run to the versions that it made and used."""

from pathlib import Path

import tracker

Path("digits.csv").write_text("7,2,1\n")
with tracker.init(project="mnist", id="prepare", quiet=True) as prepare:
    prepare.log_artifact("digits.csv", name="mnist-data", type="dataset").wait()
with tracker.init(project="mnist", id="train", quiet=True) as train:
    train.use_artifact("mnist-data:latest")

# [sample]
data = tracker.artifact("mnist/mnist-data:latest")
print([run.id for run in data.logged_by()], [run.id for run in data.used_by()])  # ['prepare'] ['train']

run = tracker.open_run("mnist/train")
print([use.name for use in run.inputs], [use.name for use in run.outputs])  # ['mnist/mnist-data:v0'] []
# [/sample]
