# SPDX-License-Identifier: MIT
# What a job platform starts, and starts again after it was killed, in the same folder:
#   python resumable_job.py --job job-17 --host http://127.0.0.1:8420 --key trk_…
import argparse
import os
import time

import numpy as np
import tracker.compat.wandb as wandb  # was: import wandb

parser = argparse.ArgumentParser()
parser.add_argument("--job", default="job-1")
parser.add_argument("--host")
parser.add_argument("--key")
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--batch_time", type=float, default=0.01, help="seconds until the next batch has come")
args = parser.parse_args()

wandb.login(key=args.key, host=args.host)
run = wandb.init(
    project="serverless-pilot",
    entity="pilot",
    id=args.job,
    resume="allow",
    config={"learning_rate": 0.1, "epochs": args.epochs, "batch_size": 64, "network": "softmax"},
)
config = wandb.config

rng = np.random.default_rng(1)
images = rng.normal(size=(3200, 64)).astype("float32")
labels = (images @ rng.normal(size=(64, 10))).argmax(1)
weights = np.zeros((64, 10))
iterations = len(images) // config.batch_size
total_samples = config.epochs * len(images)

os.makedirs("checkpoints", exist_ok=True)
first_epoch = 1
for epoch in range(config.epochs, 0, -1):
    path = f"checkpoints/epoch-{epoch}.npz"
    if os.path.exists(path):
        weights, first_epoch = np.load(path)["weights"], epoch + 1
        print(f"goes on after {path}", flush=True)
        break

for epoch in range(first_epoch, config.epochs + 1):
    for i in range(iterations):
        time.sleep(args.batch_time)
        rows = slice(i * config.batch_size, (i + 1) * config.batch_size)
        scores = images[rows] @ weights
        chances = np.exp(scores - scores.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        loss = -np.log(chances[np.arange(config.batch_size), labels[rows]]).mean()
        chances[np.arange(config.batch_size), labels[rows]] -= 1
        weights -= config.learning_rate * images[rows].T @ chances / config.batch_size
        n_iter = (epoch - 1) * iterations + i + 1
        wandb.log(
            {
                "iteration": n_iter,
                "trained_samples": n_iter * config.batch_size,
                "total_samples": total_samples,
                "loss": loss,
            }
        )
    np.savez(f"checkpoints/epoch-{epoch}.partial.npz", weights=weights)
    os.replace(f"checkpoints/epoch-{epoch}.partial.npz", f"checkpoints/epoch-{epoch}.npz")
    wandb.save(f"checkpoints/epoch-{epoch}.npz")
    print(f"epoch {epoch}: loss {loss:.4f}", flush=True)

wandb.finish()
