# SPDX-License-Identifier: MIT
"""A job of a platform that reads its progress: a checkpoint each epoch, and started again after a kill it goes on in
the same run. Of tracker there is the import alone; the platform gives key, address and id by variables.
"""

from __future__ import annotations

import json
import math
import os
import random
import time
from pathlib import Path

import tracker.compat.wandb as wandb  # was: import wandb

EPOCHS, ITERATIONS, BATCH = 10, 100, 64
checkpoints = Path("checkpoints")
checkpoints.mkdir(exist_ok=True)

wandb.login(key=os.environ["WANDB_API_KEY"], host=os.environ["WANDB_BASE_URL"])
config = {"learning_rate": 0.1, "epochs": EPOCHS, "batch_size": BATCH, "network": "lenet"}
run = wandb.init(project="jobs", entity="platform", id=os.environ["JOB_ID"], resume="allow", config=config)

ended = [int(path.stem) for path in checkpoints.glob("*.json")]
for epoch in range(max(ended, default=0) + 1, EPOCHS + 1):
    for i in range(ITERATIONS):
        n = (epoch - 1) * ITERATIONS + i + 1
        loss = math.exp(-n / 400) + random.gauss(0, 0.02)
        wandb.log(
            {
                "iteration": n,
                "trained_samples": n * BATCH,
                "total_samples": EPOCHS * ITERATIONS * BATCH,
                "loss": loss,
            }
        )
        time.sleep(0.005)
    (checkpoints / f"{epoch}.json").write_text(json.dumps({"loss": loss}))
    print(f"epoch {epoch} of {EPOCHS}: loss {loss:.4f}")
wandb.finish()
