# SPDX-License-Identifier: MIT
"""A distributed training as T9k's experiment management shows it: rank 0 records. Of tracker there is the import alone.

torchrun --standalone --nproc-per-node 2 em_torch.py
"""

from __future__ import annotations

import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from tracker.compat import em  # was: from t9k import em

hparams = {"batch_size": 32, "epochs": 3, "learning_rate": 0.05, "momentum": 0.9}


def make_images(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ten patterns of 28 x 28 pixels under noise, in place of MNIST: nothing is downloaded."""
    patterns = torch.rand(10, 784, generator=torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (count,), generator=generator)
    return patterns[labels] + 2 * torch.randn(count, 784, generator=generator), labels


def test(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> dict[str, float]:
    with torch.no_grad():
        scores = model(images)
    loss = nn.functional.cross_entropy(scores, labels).item()
    return {"loss": loss, "accuracy": (scores.argmax(dim=1) == labels).float().mean().item()}


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=hparams["learning_rate"], momentum=hparams["momentum"])
    images, labels = make_images(3200, seed=2 + rank)
    if rank == 0:
        run = em.create_run(name="mnist_torch_distributed", hparams=hparams)

    global_step = 0
    for epoch in range(1, int(hparams["epochs"]) + 1):
        for at in range(0, len(labels), int(hparams["batch_size"])):
            batch = slice(at, at + int(hparams["batch_size"]))
            loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            global_step += 1
            if rank == 0:
                run.log(type="train", metrics={"loss": loss.item()}, step=global_step, epoch=epoch)
        if rank == 0:
            for name, seed in (("val", 100), ("test", 200)):
                run.log(type=name, metrics=test(model.module, *make_images(1000, seed)), step=global_step, epoch=epoch)
            print(f"epoch {epoch}: loss {loss.item():.4f}")

    if rank == 0:
        torch.save(model.module.state_dict(), "model_state_dict.pt")
        artifact = em.create_artifact(name="mnist_torch_saved_model")
        artifact.add_file("model_state_dict.pt")
        run.mark_output(artifact)
        run.finish()
        em.login()
        run.upload(folder="em-examples", make_folder=True)
    dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.2)  # for the gloo backend of torch, with or without a tracker: examples/torchrun/README.md


if __name__ == "__main__":
    main()
