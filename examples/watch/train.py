# SPDX-License-Identifier: MIT
"""Gradients and parameters of a small network beside its loss. Needs PyTorch. Run: python train.py"""

import torch
import tracker
from torch import nn

model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)


def batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Points of the plane, and whether they lie in the unit circle."""
    x = torch.rand(64, 2, generator=torch.Generator().manual_seed(step)) * 3 - 1.5
    return x, (x.square().sum(dim=1) < 1).float()


# [sample]
run = tracker.init(project="mnist")
run.watch(model, log="all", log_freq=100, histograms=True)
for step in range(500):
    x, inside = batch(step)
    loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), inside)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    run.log({"loss": loss}, step=step)
run.finish()
print(tracker.open_run(f"mnist/{run.id}").history("gradients/0.weight/norm").values)
# [/sample]
