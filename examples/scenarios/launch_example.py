# SPDX-License-Identifier: MIT
# python launch_example.py; SWANLAB_MODE=offline records without a server, `tracker sync` sends it later
import numpy as np
import tracker.compat.swanlab as swanlab  # was: import swanlab

swanlab.init("Launch-Example", experiment_name="test-remote")

iterations = 8000
rng = np.random.default_rng(0)
x = np.linspace(-np.pi, np.pi, 200)[:, None]
truth = np.sin(x)
w1, b1 = rng.normal(size=(1, 32)), np.zeros(32)
w2, b2 = rng.normal(size=(32, 1)) / 32, np.zeros(1)

for i in range(iterations):
    hidden = np.tanh(x @ w1 + b1)
    error = hidden @ w2 + b2 - truth
    loss = np.mean(error**2)
    grad = 2 * error / len(x)
    inner = grad @ w2.T * (1 - hidden**2)
    w2 -= 0.05 * hidden.T @ grad
    b2 -= 0.05 * grad.sum(0)
    w1 -= 0.05 * x.T @ inner
    b1 -= 0.05 * inner.sum(0)
    if i % 5 == 0:
        swanlab.log({"loss": loss.item()}, step=i)
    if i % 1000 == 0:
        print(f"iteration {i}: loss {loss.item():.6f}")

predicted = np.tanh(x @ w1 + b1) @ w2 + b2
for i in range(len(x)):
    swanlab.log({"GroundTruth": truth[i].item()}, step=i)
for i in range(len(x)):
    swanlab.log({"PredictFunc": predicted[i].item()}, step=i)
print(f"training has ended, the largest error is {np.abs(predicted - truth).max():.4f}")

swanlab.finish()
