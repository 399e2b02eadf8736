# SPDX-License-Identifier: MIT
import tracker.compat.wandb as wandb  # was: import wandb

wandb.login()
run = wandb.init(project="mnist", entity="vision", config={"learning_rate": 0.1, "epochs": 2})
wandb.define_metric("val/*", summary="max")
for epoch in range(wandb.config.epochs):
    for iteration in range(100):
        wandb.log({"iteration": epoch * 100 + iteration, "train": {"loss": 1 / (iteration + 1)}})
    wandb.log({"val/accuracy": 0.8 + 0.05 * epoch})
table = wandb.Table(columns=["true", "taken", "score"], data=[["7", "1", 0.61], ["9", "4", 0.52]])
wandb.log({"errors": table})
wandb.summary["note"] = "converged"
wandb.finish()
