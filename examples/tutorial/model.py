# SPDX-License-Identifier: MIT
"""A run that stores the model of fit.py, and one that uses it. Run fit.py first, then: python model.py"""

# [sample]
import json
from pathlib import Path

import tracker

with tracker.init(project="line", id="store") as run:
    run.log_artifact("line.json", name="line-model", type="model", aliases=["best"]).wait()

with tracker.init(project="line", id="evaluate") as run:
    folder = run.use_artifact("line-model:best").download()
    _, a, b = json.loads((Path(folder) / "line.json").read_text())
    rows = [(x / 10, a * x / 10 + b, 2 * x / 10 + 1) for x in range(-10, 11)]
    run.log({"points": tracker.Table(rows, columns=["x", "predicted", "true"])}, step=0)
# [/sample]
