# SPDX-License-Identifier: MIT
"""Takes the pictures of docs/pictures: records runs, opens each page of `tracker ui` in Chromium, light and dark.

`make pictures`; then look at each of them. Needs the built package, the console and Chromium.
"""

from __future__ import annotations

import io
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import tracker
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
SIZE = {"width": 1440, "height": 900}
SETTLE_MS = 1200
TABS = ("overview", "charts", "config", "system", "logs", "media", "files", "env")


def curve(step: int, lr: float, noise: random.Random) -> dict[str, float]:
    loss = 2.4 * math.exp(-step * lr / 4) + 0.1 + noise.gauss(0, 0.02)
    return {
        "train/loss": loss,
        "train/acc": 1 - loss / 3,
        "lr": lr * (1 + math.cos(step * math.pi / 400)) / 2,
        "epoch": step // 60,
    }


def train(store: str, name: str, lr: float, steps: int = 400, **options: Any) -> tracker.Run:
    noise = random.Random(name)
    config = {"lr": lr, "optim": {"name": "sgd" if lr > 0.05 else "adam"}, "model": "resnet18", "batch_size": 128}
    known: dict[str, Any] = {"project": "mnist", "name": name, "dir": store, "config": config, "quiet": True}
    run = tracker.init(**known, **options)
    for step in range(steps):
        run.log(curve(step, lr, noise), step=step)
        if step % 20 == 0:
            values = curve(step, lr, noise)
            run.log({"val/loss": values["train/loss"] * 1.1, "val/acc": values["train/acc"] * 0.98}, step=step)
            print(f"epoch {step // 60} step {step:4} loss {values['train/loss']:.4f}")
    return run


def media_of(run: tracker.Run, folder: Path) -> None:
    x, y = np.meshgrid(np.linspace(0, 6, 96), np.linspace(0, 6, 96))
    for step in (0, 200, 399):
        image = np.stack([np.sin(x + step), np.cos(y), np.sin(x * y)], -1)
        run.log({"samples": tracker.Image(((image + 1) * 127).astype(np.uint8), caption=f"step {step}")}, step=step)
    (folder / "data").mkdir()
    for part in ("train", "test"):
        (folder / "data" / f"{part}.bin").write_bytes(os.urandom(120_000))
    data = tracker.Artifact("mnist-raw", type="dataset", metadata={"rows": 60_000, "source": "synthetic"})
    data.add_dir(str(folder / "data"))
    run.log_artifact(data)


def record(store: str, folder: Path) -> dict[str, str]:
    """The uid of each run that a picture shows."""
    with train(store, "prepare", 0.02, steps=40) as run:
        media_of(run, folder)
    for number, lr in enumerate((0.1, 0.03, 0.01, 0.1, 0.03, 0.01, 0.003, 0.03)):
        train(store, f"resnet-lr{lr}-{number}", lr, tags=["sweep"], system_interval=0).finish()
    with train(store, "resnet-best", 0.03, tags=["paper"], notes="The run of table 2.", system_interval=0.2) as best:
        best.use_artifact("mnist-raw:latest")
        noise = np.random.default_rng(1).random((64, 64, 3))
        best.log({"samples": tracker.Image((noise * 255).astype(np.uint8), caption="input")}, step=1)
        model = tracker.Artifact("resnet", type="model", metadata={"val/acc": 0.96})
        (folder / "model.pt").write_bytes(os.urandom(300_000))
        model.add_file(str(folder / "model.pt"))
        best.log_artifact(model, aliases=["best"])
        time.sleep(3)  # samples of the system
    program = folder / "fails.py"
    program.write_text(
        "import sys, tracker\n"
        f"run = tracker.init(project='mnist', name='bad-batch', dir={store!r}, quiet=True)\n"
        "for step in range(300):\n"
        "    run.log({'train/loss': 1 / (step + 1)}, step=step)\n"
        "    if step % 60 == 0: print('step', step)\n"
        "raise RuntimeError('CUDA out of memory. Tried to allocate 2.50 GiB')\n"
    )
    subprocess.run([sys.executable, str(program)], stderr=subprocess.DEVNULL, check=False)
    return {str(run.name): str(run.uid) for run in tracker.runs(dir=store)}


def shoot(browser: Browser, link: str, theme: str, uids: dict[str, str], live: tracker.Run) -> None:
    root = link.split("/#")[0]
    page = browser.new_context(viewport=SIZE, color_scheme=theme).new_page()  # type: ignore[arg-type]

    def take(name: str, path: str = "") -> None:
        if path:
            page.goto(root + path)
        page.wait_for_timeout(SETTLE_MS)
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        picture.save(PICTURES / f"{name}-{theme}.webp", quality=82, method=6)

    take("login", "/login")
    page.goto(link)
    take("projects")
    take("runs", "/p/mnist?q=state+%3D+finished&sort=metrics.val%2Floss")
    best = f"/p/mnist/r/{uids['resnet-best']}"
    for tab in TABS:
        take({"env": "environment"}.get(tab, tab), f"{best}/{tab}")
    take("smoothing", f"{best}/charts?smooth=20&ylog=1")
    take("failed", f"/p/mnist/r/{uids['bad-batch']}/overview")
    take("artifacts", "/p/mnist/artifacts")
    take("artifact", "/p/mnist/a/mnist-raw/v0/files")
    take("lineage", "/p/mnist/a/mnist-raw/v0/lineage")
    take("running", f"/p/mnist/r/{live.uid}/charts")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = folder + "/store"
        uids = record(store, Path(folder))
        command = [sys.executable, "-m", "tracker", "ui", "--dir", store, "--port", "0", "--no-browser"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as ui, sync_playwright() as playwright:
            assert ui.stderr is not None
            first = ui.stderr.readline()
            live = train(store, "resnet-live", 0.03, steps=240, system_interval=0)
            live.log({"progress/step": 240, "progress/total": 400}, step=240)
            live.flush()
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            for theme in ("light", "dark"):
                code = (
                    first
                    if theme == "light"
                    else subprocess.run(
                        [*command[:4], "--link", "--dir", store], capture_output=True, text=True, check=True
                    ).stderr
                )
                shoot(browser, code.removeprefix("tracker: ").strip(), theme, uids, live)
            browser.close()
            live.finish()
            ui.terminate()


if __name__ == "__main__":
    main()
