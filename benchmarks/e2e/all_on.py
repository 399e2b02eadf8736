# SPDX-License-Identifier: MIT
"""Question: how much slower is a training loop with everything on than with nothing?

Workload: a network with one hidden layer learns fixed random data on one thread, 10 to 20 ms a step, prints a line
each tenth step and writes its weights to a file once a block of 500 steps. Blocks without a run and blocks of a run
take turns in one process, which holds the same arrays in both. The run records five metrics a step, what is printed,
system metrics, the environment with variables, diff and source, a live TensorBoard file, a histogram of the 400,000
weights each 100th step, and in each block the file of the weights as an artifact, four images and a table. Where torch
can be imported the same is measured with a network of torch, and watch(log="all", histograms=True) each 500th pass in
place of the histograms.

A pair is two blocks, one behind the other. CPU is that of all threads and children, and of SETTLE_S behind the block,
in which what was logged last is stored. Calls and threads are counted and not compared, so they hardly scatter: what
the calls take is what the loop is slower by where a core is free for the threads. What a run costs once is in rows of
its own.
"""

from __future__ import annotations

import importlib.util
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import harness
import numpy as np
import tracker
from harness import Row

PAIRS = int(os.environ.get("BENCH_PAIRS", "12"))
STEPS = 500
HISTOGRAM_STEPS = 100
BATCH, INPUTS, HIDDEN, CLASSES = 512, 784, 512, 10
SETTLE_S = 0.3  # a drain, a commit and the next one
ONCE_S = 2.0  # behind init: what is looked at once has been
METRICS = ("loss", "lr", "acc", "examples", "scale")
Weights = dict[str, Any]


def examples() -> tuple[Any, Any]:
    random = np.random.default_rng(7)
    return random.standard_normal((8, BATCH, INPUTS), dtype=np.float32), random.integers(0, CLASSES, (8, BATCH))


class NumpyTraining:
    """Its large arrays are made once: where memory comes from must not differ between blocks."""

    def __init__(self) -> None:
        self.inputs, self.labels = examples()
        random = np.random.default_rng(8)
        self.hidden_weights = random.standard_normal((INPUTS, HIDDEN), dtype=np.float32) * np.float32(0.03)
        self.out_weights = random.standard_normal((HIDDEN, CLASSES), dtype=np.float32) * np.float32(0.05)
        self.hidden, self.back = (np.empty((BATCH, HIDDEN), np.float32) for _ in range(2))
        self.change = np.empty((INPUTS, HIDDEN), np.float32)
        self.rows = np.arange(BATCH)

    def step(self, step: int) -> float:
        x, y = self.inputs[step % 8], self.labels[step % 8]
        np.matmul(x, self.hidden_weights, out=self.hidden)
        np.maximum(self.hidden, 0, out=self.hidden)
        scores = self.hidden @ self.out_weights
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        loss = -np.log(chances[self.rows, y] + 1e-9).mean()
        chances[self.rows, y] -= 1
        chances *= np.float32(0.01 / BATCH)
        np.matmul(chances, self.out_weights.T, out=self.back)
        np.multiply(self.back, self.hidden > 0, out=self.back)
        self.out_weights -= self.hidden.T @ chances
        np.matmul(x.T, self.back, out=self.change)
        np.subtract(self.hidden_weights, self.change, out=self.hidden_weights)
        return float(loss)

    def weights(self) -> Weights:
        return {"hidden": self.hidden_weights, "out": self.out_weights}

    def watched_by(self, run: tracker.Run) -> None:
        pass


class TorchTraining:
    def __init__(self) -> None:
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(7)
        self.torch = torch
        self.inputs, self.labels = (torch.from_numpy(part) for part in examples())
        layers = torch.nn.Linear(INPUTS, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, CLASSES)
        self.model = torch.nn.Sequential(*layers)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def step(self, step: int) -> float:
        self.optimizer.zero_grad()
        loss = self.torch.nn.functional.cross_entropy(self.model(self.inputs[step % 8]), self.labels[step % 8])
        loss.backward()
        self.optimizer.step()
        return float(loss)

    def weights(self) -> Weights:
        return {name: value.detach().numpy() for name, value in self.model.named_parameters()}

    def watched_by(self, run: tracker.Run) -> None:
        run.watch(self.model, log="all", log_freq=STEPS, histograms=True)


class Recorded:
    """One run with everything on, and what its script logs."""

    def __init__(self, training: NumpyTraining | TorchTraining, folder: Path) -> None:
        self.training, self.folder = training, folder
        begin, thread = cpu_s(), time.thread_time()
        self.run = tracker.init(
            project="bench",
            dir=str(folder / "store"),
            config={"lr": 0.01},
            quiet=True,
            capture=["command", "environment", "diff", "source"],
            tensorboard=str(folder / "board"),
            on_full="block",
        )
        self.init_s = time.thread_time() - thread
        time.sleep(ONCE_S)
        self.behind_s = cpu_s() - begin - self.init_s
        training.watched_by(self.run)
        self.histograms = isinstance(training, NumpyTraining)
        self.images = np.random.default_rng(9).integers(0, 255, (4, 128, 128, 3), dtype=np.uint8)
        self.rows = [[str(i), i / 7, i] for i in range(100)]

    def step(self, step: int, loss: float) -> None:
        self.run.log({"loss": loss, "lr": 0.01, "acc": loss / 3, "examples": step * BATCH, "scale": 2.0}, step=step)
        if self.histograms and step % HISTOGRAM_STEPS == 0:
            self.run.log({"weights": tracker.Histogram(self.training.weights()["hidden"])}, step=step)

    def epoch(self, step: int, weights: Path) -> None:
        self.run.log({f"sample/{i}": tracker.Image(image) for i, image in enumerate(self.images)}, step=step)
        self.run.log({"errors": tracker.Table(self.rows, columns=["name", "score", "n"])}, step=step)
        model = tracker.Artifact("model", type="model")
        model.add_file(str(weights), "weights.npz")
        self.run.log_artifact(model)

    def end(self) -> float:
        """CPU seconds of finish(). Ends the program where something is not stored."""
        begin = cpu_s()
        self.run.finish()
        took = cpu_s() - begin
        stored = tracker.open_run(self.run.uid, dir=str(self.folder / "store"))
        harness.require(all(stored.history(name).steps.size == STEPS for name in METRICS), "all points are stored")
        account = stored.media_account
        harness.require(account["stored"] == account["logged"] >= 5, f"all media are stored: {account}")
        kinds = sorted(use.type for use in stored.outputs)
        harness.require(kinds == ["code", "model"], f"all artifacts are stored: {kinds}")
        harness.require(len(stored.console()) >= STEPS // 10, "what was printed is stored")
        harness.require(bool(stored.environment), "the environment is stored")
        board = sum(path.stat().st_size for path in (self.folder / "board").rglob("*tfevents*"))
        harness.require(board > 0, "the TensorBoard file is written")
        return took


def cpu_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def block(training: NumpyTraining | TorchTraining, folder: Path, recorded: Recorded | None) -> dict[str, float]:
    calls = 0.0
    cpu, wall, loop = cpu_s(), time.perf_counter(), time.thread_time()
    for step in range(STEPS):
        loss = training.step(step)
        begin = time.thread_time()
        if recorded is not None:
            recorded.step(step, loss)
        if step % 10 == 0:
            print(f"step {step}: loss {loss:.4f}", flush=True)
        calls += time.thread_time() - begin
        if step == STEPS // 2:
            np.savez(folder / "weights.npz", **training.weights())
            begin = time.thread_time()
            if recorded is not None:
                recorded.epoch(step, folder / "weights.npz")
            calls += time.thread_time() - begin
    took = {"wall": time.perf_counter() - wall, "loop": time.thread_time() - loop, "calls": calls}
    time.sleep(SETTLE_S)
    return {**took, "cpu": cpu_s() - cpu}


def compare(kind: str, training: NumpyTraining | TorchTraining, folder: Path) -> list[Row]:
    names = ("step", "counted", "calls", "threads", "more CPU", "more loop", "more wall", "init", "behind", "finish")
    samples: dict[str, list[float]] = {name: [] for name in names}
    for pair in range(-1, PAIRS):  # the first one imports and fills caches
        blocks: dict[bool, dict[str, float]] = {}
        for tracked in (False, True) if pair % 2 else (True, False):
            (own := folder / f"{pair}-{tracked}").mkdir()
            recorded = Recorded(training, own) if tracked else None
            blocks[tracked] = block(training, own, recorded)
            finish = recorded.end() if recorded else 0.0
            if recorded and pair >= 0:
                once = {"init": recorded.init_s, "behind": recorded.behind_s, "finish": finish}
                for name, seconds in once.items():
                    samples[name].append(1000 * seconds)
        if pair < 0:
            continue
        off, on = blocks[False], blocks[True]
        samples["step"].append(1000 * off["wall"] / STEPS)
        samples["more CPU"].append(100 * (on["cpu"] / off["cpu"] - 1))
        samples["more wall"].append(100 * (on["wall"] / off["wall"] - 1))
        samples["more loop"].append(100 * (on["loop"] / off["loop"] - 1))
        samples["calls"].append(100 * (on["calls"] - off["calls"]) / off["cpu"])
        samples["threads"].append(100 * ((on["cpu"] - on["loop"]) - (off["cpu"] - off["loop"])) / off["cpu"])
        samples["counted"].append(samples["calls"][-1] + samples["threads"][-1])
    return [
        Row(f"{kind}: a step without", "ms", samples["step"]),
        Row(f"{kind}: calls of the loop, CPU", "%", samples["calls"], 0.5),
        Row(f"{kind}: our threads, CPU", "%", samples["threads"]),
        Row(f"{kind}: both, CPU", "%", samples["counted"]),
        Row(f"{kind}: with all on, CPU of the loop's thread", "% more", samples["more loop"], 0.5),
        Row(f"{kind}: with all on, CPU of all threads", "% more", samples["more CPU"]),
        Row(f"{kind}: with all on, wall", "% more", samples["more wall"], 0.5),
        Row(f"{kind}: once, init", "ms CPU", samples["init"]),
        Row(f"{kind}: once, what is looked at behind it", "ms CPU", samples["behind"]),
        Row(f"{kind}: once, finish", "ms CPU", samples["finish"]),
    ]


def main() -> None:
    rows: list[Row] = []
    kinds: dict[str, Callable[[], NumpyTraining | TorchTraining]] = {"numpy": NumpyTraining}
    if importlib.util.find_spec("torch"):
        kinds["torch"] = TorchTraining
    output = sys.stdout
    for kind, make in kinds.items():
        with tempfile.TemporaryDirectory(prefix="bench-", dir=os.environ.get("BENCH_DIR")) as folder:
            with open(Path(folder) / "output", "w") as sys.stdout:
                rows += compare(kind, make(), Path(folder))
            sys.stdout = output
    harness.report("all on", rows)
    for row in (row for row in rows if row.unit.startswith("%")):
        low, high = (harness.percentile(row.samples, p) for p in (25, 75))
        error = 1.25 * statistics.stdev(row.samples) / len(row.samples) ** 0.5 if len(row.samples) > 1 else 0.0
        print(f"{row.name}: the middle half of the pairs {low:.2f} to {high:.2f}, the median ± {error:.2f}")


if __name__ == "__main__":
    main()
