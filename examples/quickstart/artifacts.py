# SPDX-License-Identifier: MIT
"""A run stores a model as an artifact and reads a data set that another run has stored."""

from pathlib import Path

import tracker

Path("model.pt").write_bytes(bytes(1000))
with tracker.init(project="mnist", id="prepare") as prepare, open("digits.csv", "w") as digits:
    digits.write("7,2,1\n")
    digits.flush()
    prepare.log_artifact("digits.csv", name="mnist-data", type="dataset").wait()

run = tracker.init(project="mnist", id="train")
# [sample]
model = tracker.Artifact("mnist-model", type="model", metadata={"layers": 3})
model.add_file("model.pt")
run.log_artifact(model, aliases=["best"])  # returns at once; a thread of the run stores it

data = run.use_artifact("mnist-data:latest")  # recorded as an input of the run
print(data.download())  # the folder with its files
# [/sample]
model.wait()
run.finish()
print(*(use.name for use in run.inputs + run.outputs), [maker.id for maker in data.logged_by()])
