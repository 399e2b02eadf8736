# SPDX-License-Identifier: MIT
"""Fits a curve and records offline; `tracker sync` sends it later. Of tracker there is the import alone."""

from __future__ import annotations

import math

import tracker.compat.swanlab as swanlab  # was: import swanlab

swanlab.init("Launch-Example", experiment_name="test-remote", config={"lr": 0.02, "degree": 3}, mode="offline")
points = [(x / 50, math.sin(x / 50)) for x in range(-100, 101)]
weights = [0.0, 0.0, 0.0, 0.0]
for i in range(2000):
    errors = [(x, sum(w * x**k for k, w in enumerate(weights)) - y) for x, y in points]
    loss = sum(error * error for _, error in errors) / len(errors)
    for k in range(4):
        weights[k] -= 0.02 * 2 * sum(error * x**k for x, error in errors) / len(errors)
    if i % 5 == 0:
        swanlab.log({"loss": loss}, step=i)
for i, (_, y) in enumerate(points):  # steps that start again at 0
    swanlab.log({"GroundTruth": y}, step=i)
for i, (x, _) in enumerate(points):
    swanlab.log({"PredictFunc": sum(w * x**k for k, w in enumerate(weights))}, step=i)
print(f"loss {loss:.6f}")
swanlab.finish()
