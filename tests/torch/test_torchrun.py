# SPDX-License-Identifier: MIT
"""Goal: under a real torchrun exactly one run exists and rank 0 writes it, with no `if rank == 0` in user code
(P7, F11).

Method: scripts under torch.distributed.run on this machine, gloo, stdin closed; the store is read back afterwards.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import tracker

# Every rank calls the whole API, as a script without any rank logic does.
TRAIN = """
import time, torch, torch.distributed as dist, tracker
dist.init_process_group("gloo")
run = tracker.init(project="ddp", config={"lr": 0.1}, tags=["t"])
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(dist.get_rank())
for step in range(50):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    run.log({"loss": loss, "rank": dist.get_rank()}, step=step)
run.summary["done"] = True
run.config["late"] = 1
assert run.flush() and run.dir and run.status() is not None
run.finish()
dist.destroy_process_group()
time.sleep(0.2)  # examples/torchrun/README.md says why
"""


def test_two_ranks_make_one_run_that_rank_0_wrote(store: Path, launch) -> None:
    done = launch(TRAIN, torchrun=["--standalone", "--nproc-per-node=2"])
    assert done.returncode == 0, done.stderr
    runs = list(tracker.runs(dir=str(store)))
    assert [r.state for r in runs] == ["finished"]
    history = runs[0].history("rank")
    assert history.steps.tolist() == list(range(50))
    assert set(history.values.tolist()) == {0}
    assert runs[0].history("loss").values.dtype == "float32"
    assert runs[0].summary["done"] is True


def test_a_gated_rank_says_so_once(store: Path, launch) -> None:
    done = launch(TRAIN, torchrun=["--standalone", "--nproc-per-node=2"])
    lines = [line for line in done.stderr.splitlines() if "records nothing" in line]
    assert len(lines) == 1, done.stderr
    assert "rank 1 of 2" in lines[0]


def test_two_plain_torchruns_in_a_row_make_two_runs(store: Path, launch) -> None:
    for _ in range(2):
        done = launch(TRAIN, torchrun=["--nproc-per-node=2", "--master-port=29531"])
        assert done.returncode == 0, done.stderr
    runs = list(tracker.runs(dir=str(store)))
    assert len({r.uid for r in runs}) == 2
    assert all(r.history("loss").steps.size == 50 for r in runs)


RESTARTED = """
import os, time, tracker
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
run = tracker.init(project="elastic")
for step in range(attempt * 10, attempt * 10 + 20):
    run.log({"loss": float(attempt)}, step=step)
if attempt == 0:
    if os.environ["RANK"] == "1":
        time.sleep(60)   # until torchrun ends the group
    os._exit(1)
run.finish()
"""


def test_an_elastic_restart_is_a_new_attempt_of_the_same_run(store: Path, launch) -> None:
    done = launch(RESTARTED, torchrun=["--standalone", "--nproc-per-node=2", "--max-restarts=1"])
    assert done.returncode == 0, done.stderr
    runs = list(tracker.runs(dir=str(store)))
    assert len(runs) == 1, done.stderr
    resolved = runs[0].history("loss")
    assert resolved.steps.tolist() == list(range(30))
    assert resolved.values.tolist() == [0.0] * 10 + [1.0] * 20
    assert runs[0].history("loss", all=True).steps.size == 40
    assert runs[0].state == "finished"


def test_a_script_that_opens_two_runs_gets_two_under_torchrun(store: Path, launch) -> None:
    text = """
import tracker
for i in range(2):
    run = tracker.init(project="two")
    run.log({"i": i}, step=0)
    run.finish()
"""
    done = launch(text, torchrun=["--standalone", "--nproc-per-node=2"])
    assert done.returncode == 0, done.stderr
    runs = list(tracker.runs(dir=str(store)))
    assert sorted(r.history("i").values[0] for r in runs) == [0, 1]


# A script for t9k's em (docs/compat.md), in which all ranks or rank 0 alone make the calls.
EM = """
import os, time, torch, torch.distributed as dist
from tracker.compat import em
dist.init_process_group("gloo")
records = GATED and dist.get_rank() == 0 or not GATED
if records:
    run = em.create_run(name="mnist_torch_distributed", hparams={"epochs": 2})
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
for step in range(20):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    if records:
        run.log(type="train", metrics={"loss": loss.detach()}, step=step, epoch=1)
if dist.get_rank() == 0:
    torch.save(model.module.state_dict(), "model_state_dict.pt")
dist.barrier()
if records:
    artifact = em.create_artifact(name="mnist_torch_saved_model")
    artifact.add_file("model_state_dict.pt")
    run.mark_output(artifact)
    run.finish()
    em.login()
    run.upload(folder="em-examples", make_folder=True)
dist.barrier()
dist.destroy_process_group()
time.sleep(0.2)  # examples/torchrun/README.md says why
"""


@pytest.mark.parametrize("gated", [True, False])
def test_a_script_of_em_makes_one_run_with_its_artifact(store: Path, launch, gated: bool) -> None:
    done = launch(f"GATED = {gated}\n{EM}", torchrun=["--standalone", "--nproc-per-node=2"])
    assert done.returncode == 0, done.stderr
    (run,) = tracker.runs(dir=str(store))
    assert run.history("train/loss").steps.tolist() == list(range(20))
    (output,) = run.outputs
    assert [file.name for file in output.artifact().files()] == ["model_state_dict.pt"]
    assert done.stderr.count("no server is known: the run is in") == 1
