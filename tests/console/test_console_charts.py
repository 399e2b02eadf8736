# SPDX-License-Identifier: MIT
"""Charts that can be read: ranks apart, noise that is no news, names that are too long.

Method: runs are recorded, `tracker ui` shows them, and the page and the pixels of its canvases are checked.
"""

from __future__ import annotations

import time
from pathlib import Path

import tracker
from browser_tab import Tab, open_ui
from http_server import Server
from playwright.sync_api import Browser, Locator, expect

# Of the plot of a canvas: the rows that hold coloured pixels, from the first to the last, as a part of its height; and
# how many hues there are.
LOOK = """(canvas) => {
  const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const hues = new Map();
  let [first, last] = [height, 0];
  for (let i = 0; i < data.length; i += 4) {
    const [r, g, b] = data.slice(i, i + 3);
    if (data[i + 3] < 250 || Math.max(r, g, b) - Math.min(r, g, b) < 60) continue;
    const row = Math.floor(i / 4 / width);
    [first, last] = [Math.min(first, row), Math.max(last, row)];
    const hue = [r, g, b].map((each) => each >> 4).join();
    hues.set(hue, (hues.get(hue) ?? 0) + 1);
  }
  return [(last - first) / height, [...hues.values()].filter((pixels) => pixels > 50).length];
}"""


def look(figure: Locator) -> tuple[float, int]:
    canvas = figure.locator("canvas")
    expect(canvas).to_be_visible()
    figure.page.wait_for_timeout(300)  # the frame after the one that made the canvas draws it
    height, hues = canvas.evaluate(LOOK)
    return float(height), int(hues)


def test_each_rank_is_a_line_of_its_own_with_its_name(browser: Browser, tabs: list[Tab], tmp_path: Path) -> None:
    store = tmp_path / "store"
    ranks = [
        tracker.init("job", id="ddp", dir=store, rank=rank, world_size=3, ranks="all", quiet=True, system_interval=0.1)
        for rank in range(3)
    ]
    held = bytearray(30_000_000)
    time.sleep(0.5)
    ranks[0].finish()
    held.extend(bytes(200_000_000))  # what rank 1 and 2 sample from now on differs from rank 0
    time.sleep(0.5)
    ranks[1].finish()
    time.sleep(0.5)
    ranks[2].finish()
    with Server(store, ("--no-browser",), program="ui") as server:
        page = open_ui(browser, server.line, tabs).open(f"/p/job/r/{ranks[0].uid}/system?keys=proc.rss")
        figure = page.locator('figure[data-metric="system/proc.rss.bytes"]')
        expect(figure.locator(".tk-chart-legend")).to_contain_text("rank 0")
        names = [text.split(" ")[:2] for text in figure.locator(".tk-chart-legend li").all_inner_texts()]
        assert [name[0] for name in names] == ["rank"] * 3
        values = figure.locator(".tk-chart-legend li > :last-child").all_inner_texts()
        assert values[0] != values[1], "rank 0 had ended before"
        assert look(figure)[1] >= 2, "lines have colours of their own"
        assert tabs[0].requests.count(f"{tabs[0].root}/api/v1/series") <= 3, "not one a rank and metric"


def test_a_line_that_moves_by_less_than_one_percent_is_flat(browser: Browser, tabs: list[Tab], tmp_path: Path) -> None:
    store = tmp_path / "store"
    with tracker.init("flat", dir=store, quiet=True, system_interval=0) as run:
        for step in range(200):
            run.log({"total": 64e9 + (step % 2) * 5e8, "moves": 64e9 + (step % 2) * 10e8}, step=step)
    with Server(store, ("--no-browser",), program="ui") as server:
        tab = open_ui(browser, server.line, tabs)
        charts = f"/p/flat/r/{run.uid}/charts"
        page = tab.open(charts)
        assert look(page.locator('figure[data-metric="total"]'))[0] < 0.06
        assert look(page.locator('figure[data-metric="moves"]'))[0] > 0.6
        page = tab.open(f"{charts}?lo=50&hi=60")
        assert look(page.locator('figure[data-metric="total"]'))[0] > 0.6, "who looks closer sees it"


def test_a_long_name_is_cut_in_its_middle(browser: Browser, tabs: list[Tab], tmp_path: Path) -> None:
    store = tmp_path / "store"
    name = "validation_accuracy_top_5_of_the_holdout_set_with_augmentation_and_ema_weights.at_resolution_224"
    with tracker.init("names", dir=store, quiet=True, system_interval=0) as run:
        run.log({name: 1.0, "loss": 0.5, "acc": 0.25}, step=1)
    with Server(store, ("--no-browser",), program="ui") as server:
        page = open_ui(browser, server.line, tabs).open(f"/p/names/r/{run.uid}/charts")
        title = page.locator(f'figure[data-metric="{name}"] .tk-name')
        expect(title).to_have_attribute("title", name)
        head, end = title.locator("span").all()
        assert head.text_content() == name.removesuffix(".at_resolution_224")
        assert head.evaluate("(part) => part.scrollWidth > part.clientWidth"), "the middle is left out"
        box, figure = end.bounding_box(), page.locator(f'figure[data-metric="{name}"]').bounding_box()
        assert box is not None
        assert figure is not None
        assert box["x"] + box["width"] < figure["x"] + figure["width"], "the end is seen"
