# SPDX-License-Identifier: MIT
"""Distributed data-parallel training on CPUs; every process runs the same lines, one run is recorded.

    torchrun --standalone --nproc-per-node 2 train.py

There is no `if rank == 0` around tracker: rank 0 records, the others say once that they do not, and every call works.
"""

from __future__ import annotations

import time

import torch
import torch.distributed as dist
import tracker
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS = 200
GLOO_IDLE_S = 0.2


def batch(step: int, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Points of the plane, and whether they lie in the unit circle; a different part of them on each rank."""
    generator = torch.Generator().manual_seed(step * 1000 + rank)
    x = torch.rand(64, 2, generator=generator) * 3 - 1.5
    return x, (x.square().sum(dim=1) < 1).float()


def main() -> None:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    loss_of = nn.BCEWithLogitsLoss()

    run = tracker.init(project="torchrun", config={"lr": 0.02, "world_size": world})
    for step in range(STEPS):
        x, inside = batch(step, rank)
        scores = model(x).squeeze(1)
        loss = loss_of(scores, inside)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        accuracy = ((scores > 0) == (inside > 0.5)).float().mean()
        run.log({"loss": loss, "acc": accuracy}, step=step)
    run.summary["parameters"] = sum(p.numel() for p in model.parameters())
    run.finish()
    dist.destroy_process_group()
    # For torch 2.15, with or without a tracker: see README.md beside this file.
    time.sleep(GLOO_IDLE_S)


if __name__ == "__main__":
    main()
