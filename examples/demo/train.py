# SPDX-License-Identifier: MIT
"""Trains a small network on the 1,797 handwritten digits, recording every step, and can be killed at any moment.

Started again with the same arguments it goes on from its checkpoint, in the same run. What it has logged it also
notes in a file of its own, `acknowledged-<attempt>.bin`: demo.py compares that with what tracker gives back.
"""

from __future__ import annotations

import argparse
import os
import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt
import tracker
from sklearn.datasets import load_digits

Array = npt.NDArray[np.float64]
ROW = struct.Struct("<qddd")  # step, loss, accuracy, learning rate
CHECKPOINT_EVERY = 500
VALIDATE_EVERY = 100


class Network:
    """64 pixels, 32 hidden units, 10 digits; softmax, momentum."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        sizes = [(64, 32), (32,), (32, 10), (10,)]
        self.weights: list[Array] = [random.normal(0, 0.1, size) for size in sizes]
        self.momentum: list[Array] = [np.zeros(size) for size in sizes]

    def forward(self, x: Array) -> tuple[Array, Array]:
        w1, b1, w2, b2 = self.weights
        hidden = np.tanh(x @ w1 + b1)
        scores = hidden @ w2 + b2
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return hidden, scores / scores.sum(axis=1, keepdims=True)

    def step(self, x: Array, y: npt.NDArray[np.int64], rate: float) -> tuple[float, float]:
        hidden, p = self.forward(x)
        rows = np.arange(len(y))
        loss = float(-np.log(p[rows, y] + 1e-12).mean())
        accuracy = float((p.argmax(axis=1) == y).mean())
        error = p.copy()
        error[rows, y] -= 1
        error /= len(y)
        back = (error @ self.weights[2].T) * (1 - hidden**2)
        gradients = [x.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(axis=0)]
        for weight, momentum, gradient in zip(self.weights, self.momentum, gradients, strict=True):
            momentum *= 0.9
            momentum -= rate * gradient
            weight += momentum
        return loss, accuracy

    def save(self, path: Path, step: int) -> None:
        part = path.with_suffix(".part.npz")
        np.savez(part, np.array(step), *self.weights, *self.momentum)
        part.replace(path)

    def load(self, path: Path) -> int:
        """The first step that is not in the checkpoint."""
        with np.load(path) as stored:
            arrays = [stored[name] for name in stored.files]
        self.weights, self.momentum = arrays[1:5], arrays[5:9]
        return int(arrays[0]) + 1


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--id", required=True, help="the run to record, or to go on with")
    arguments.add_argument(
        "--work", type=Path, required=True, help="folder of the checkpoint and the acknowledged points"
    )
    arguments.add_argument("--steps", type=int, default=6000)
    options = arguments.parse_args()

    digits = load_digits()
    data = options.work / "digits.npz"
    if not data.exists():
        np.savez(data, images=digits.data, target=digits.target)
    x, y = digits.data / 16.0, digits.target.astype(np.int64)
    order = np.random.default_rng(0).permutation(len(y))
    train, held_out = order[:1500], order[1500:]

    config = {"model": {"hidden": 32}, "batch": 64, "lr": 0.1, "steps": options.steps, "data": "sklearn digits"}
    run = tracker.init(
        project="digits", id=options.id, resume="allow", config=config, tags=["demo"], system_interval=0.2
    )  # a sample of machine and process each 15 s is the default; this training takes seconds
    run.use_artifact(data)  # a file that is no artifact yet: it is stored, and this run used it
    network, checkpoint = Network(seed=1), options.work / "checkpoint.npz"
    first = network.load(checkpoint) if checkpoint.exists() else 0
    # One write(2) a step that is not buffered: the kernel keeps it when this process is killed.
    acknowledged = os.open(
        options.work / f"acknowledged-{run.attempt}.bin", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644
    )

    for step in range(first, options.steps):
        batch = np.random.default_rng(step).choice(train, 64, replace=False)
        rate = config["lr"] * 0.5 * (1 + np.cos(np.pi * step / options.steps))
        loss, accuracy = network.step(x[batch], y[batch], rate)
        run.log({"train/loss": loss, "train/acc": accuracy, "lr": rate}, step=step)
        os.write(acknowledged, ROW.pack(step, loss, accuracy, rate))
        if step % VALIDATE_EVERY == 0:
            run.log(
                {"val/acc": float((network.forward(x[held_out])[1].argmax(axis=1) == y[held_out]).mean())}, step=step
            )
        if step % CHECKPOINT_EVERY == CHECKPOINT_EVERY - 1:
            network.save(checkpoint, step)
            print(f"step {step + 1} of {options.steps}: loss {loss:.4f}")

    final = float((network.forward(x[held_out])[1].argmax(axis=1) == y[held_out]).mean())
    run.summary["val/acc"] = final
    network.save(checkpoint, options.steps - 1)
    run.log_artifact(checkpoint, name="digits-model", type="model", aliases=["newest"])
    print(f"accuracy on held-out digits: {final:.3f}")
    run.finish()


if __name__ == "__main__":
    main()
