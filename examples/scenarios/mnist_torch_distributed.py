# SPDX-License-Identifier: MIT
# torchrun --nproc-per-node=2 mnist_torch_distributed.py
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler
from tracker.compat import em  # was: from t9k import em

hparams = {
    "batch_size": 32,
    "epochs": 3,
    "learning_rate": 0.001,
    "learning_rate_decay": 0.7,
    "conv_channels": [8, 16],
    "seed": 1,
}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        first, second = hparams["conv_channels"]
        self.layers = nn.Sequential(
            nn.Conv2d(1, first, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(first, second, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(second * 25, 10),
        )

    def forward(self, images):
        return self.layers(images)


def images_like_mnist(count, seed):
    """Ten blurred shapes of 28 x 28 pixels with noise: this machine may have no network."""
    generator = torch.Generator().manual_seed(0)
    shapes = nn.functional.interpolate(torch.rand(10, 1, 7, 7, generator=generator), size=28, mode="bilinear")
    generator.manual_seed(seed)
    labels = torch.randint(10, (count,), generator=generator)
    return TensorDataset(shapes[labels] + 0.6 * torch.randn(count, 1, 28, 28, generator=generator), labels)


def train(epoch):
    model.train()
    train_sampler.set_epoch(epoch)
    for step, (images, labels) in enumerate(train_loader, 1):
        loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        global_step = (epoch - 1) * len(train_loader) + step
        if dist.get_rank() == 0:
            run.log(type="train", metrics={"loss": loss.item()}, step=global_step, epoch=epoch)
    scheduler.step()
    return global_step


@torch.no_grad()
def test(loader, kind, global_step, epoch):
    model.eval()
    sums = torch.zeros(3)
    for images, labels in loader:
        output = model.module(images)
        sums += torch.tensor([criterion(output, labels) * len(labels), (output.argmax(1) == labels).sum(), len(labels)])
    dist.all_reduce(sums)
    loss, accuracy = (sums[:2] / sums[2]).tolist()
    if dist.get_rank() == 0:
        print(f"epoch {epoch}: {kind} loss {loss:.4f}, accuracy {accuracy:.4f}")
        run.log(type=kind, metrics={"loss": loss, "accuracy": accuracy}, step=global_step, epoch=epoch)


parser = argparse.ArgumentParser()
parser.add_argument("--save_path", default="model_state_dict.pt")
args = parser.parse_args()

dist.init_process_group("gloo")
torch.manual_seed(hparams["seed"])
if dist.get_rank() == 0:
    run = em.create_run(name="mnist_torch_distributed", hparams=hparams)

model = DistributedDataParallel(Net())
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=hparams["learning_rate"])
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, hparams["learning_rate_decay"])
train_data = images_like_mnist(2048, seed=1)
train_sampler = DistributedSampler(train_data)
train_loader = DataLoader(train_data, hparams["batch_size"], sampler=train_sampler)
val_loader, test_loader = (
    DataLoader(data, 256, sampler=DistributedSampler(data, shuffle=False))
    for data in (images_like_mnist(512, seed=2), images_like_mnist(512, seed=3))
)

for epoch in range(1, hparams["epochs"] + 1):
    global_step = train(epoch)
    test(val_loader, "val", global_step, epoch)
    test(test_loader, "test", global_step, epoch)

if dist.get_rank() == 0:
    torch.save(model.module.state_dict(), args.save_path)
    art = em.create_artifact(name="mnist_torch_saved_model")
    art.add_file(args.save_path)
    run.mark_output(art)
    run.finish()
    em.login()
    run.upload(folder="em-examples", make_folder=True)

dist.barrier()
dist.destroy_process_group()
time.sleep(0.2)  # for the gloo backend of torch, with or without a tracker: ../torchrun/README.md
