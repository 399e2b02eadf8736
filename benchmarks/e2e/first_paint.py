# SPDX-License-Identifier: MIT
"""First paint of a run with many long charts, beside that of the same bundle on a page without any.

20 metrics of 1,000,000 points each (BENCH_CHARTS, BENCH_POINTS); `tracker ui` on its store and Chromium (chromium, or
BENCH_CHROMIUM) with a new profile each turn. The clock is the page's own: from the navigation to the moment when every
chart in view has been drawn, or the empty page says that it is empty. Trap: a browser that has just been started reads
itself from the disk; the first turn of each page is not counted.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import harness
import numpy as np
import tracker
from harness import Row
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
CHARTS = int(os.environ.get("BENCH_CHARTS", "20"))
POINTS = int(os.environ.get("BENCH_POINTS", "1000000"))
TURNS = 7
CHROMIUM = os.environ.get("BENCH_CHROMIUM") or shutil.which("chromium")
IS_EMPTY = "() => document.body.innerText.includes('No numbers logged yet.') && performance.now()"
ARE_DRAWN = """() => {
  const seen = [...document.querySelectorAll("figure[data-metric]")].filter((figure) => {
    const { top, bottom } = figure.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  });
  const isDrawn = (figure) => figure.querySelector("canvas") && figure.innerText.includes(" cells");
  return seen.length > 0 && seen.every(isDrawn) && performance.now();
}"""


def make_runs(store: str) -> dict[str, str]:
    """The uid of each run."""
    empty = tracker.init(project="bench", id="empty", dir=store, quiet=True, system_interval=0)
    empty.finish()
    long = tracker.init(project="bench", id="long", dir=store, quiet=True, system_interval=0, on_full="block")
    rng = np.random.default_rng(0)
    names = [f"metric{i:02}" for i in range(CHARTS)]
    for start in range(0, POINTS, 10_000):
        rows = rng.normal(size=(10_000, CHARTS)).astype("float32").tolist()
        for i, row in enumerate(rows, start):
            long.log(dict(zip(names, row, strict=True)), step=i)
    long.finish()
    found = {run.id: run for run in tracker.runs(dir=store)}
    harness.require(found["long"].points == CHARTS * POINTS, "all points are stored")
    return {run.id: run.uid for run in found.values()}


@contextmanager
def console(store: str) -> Iterator[str]:
    """The address with its one-use code."""
    words = [sys.executable, "-m", "tracker", "ui", "--dir", store, "--port", "0", "--no-browser"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    yield process.stderr.readline().removeprefix("tracker: ").strip()
    process.terminate()
    process.communicate()


def paint_ms(browser: Browser, login: object, address: str, condition: str) -> tuple[float, list[str]]:
    """When it was painted, and what it asked for."""
    size = {"width": 1440, "height": 900}
    context = browser.new_context(viewport=size, storage_state=login)  # type: ignore[arg-type]
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address, wait_until="commit")
    took = page.wait_for_function(condition, polling="raf").json_value()
    context.close()
    return took, asked


def measure(store: str) -> list[Row]:
    uids = make_runs(store)
    empty: list[float] = []
    drawn: list[float] = []
    with console(store) as link, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context()
        page = context.new_page()
        page.goto(link)
        page.get_by_role("heading", name="Projects").wait_for()
        login = context.storage_state()
        root = link.split("/#")[0]
        for turn in range(TURNS + 1):
            nothing, _ = paint_ms(browser, login, f"{root}/p/bench/r/{uids['empty']}/charts", IS_EMPTY)
            charts, asked = paint_ms(browser, login, f"{root}/p/bench/r/{uids['long']}/charts", ARE_DRAWN)
            harness.require(not any("/rows" in url for url in asked), "only cells are asked for")
            if turn > 0:
                empty.append(nothing)
                drawn.append(charts)
        browser.close()
    return [
        Row("empty page", "ms", empty),
        Row(f"{CHARTS} charts x {POINTS:,} points", "ms", drawn, 1000),
        Row("as a multiple of the empty page", "x", [statistics.median(drawn) / statistics.median(empty)], 3),
    ]


def main() -> None:
    subprocess.run([sys.executable, str(ROOT / "tools" / "console.py")], check=True, stdout=subprocess.DEVNULL)
    with harness.temporary_store() as folder:
        harness.report("first_paint", measure(folder + "/store"))


if __name__ == "__main__":
    main()
