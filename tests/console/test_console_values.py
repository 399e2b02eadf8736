# SPDX-License-Identifier: MIT
"""Charts of values that ordinary runs have: truth values, gaps, values that a log axis has no place for.

Method: a run is recorded, `tracker ui` shows it, and coloured pixels of its canvases are counted. Bugs: a truth value
made the page of charts fail; a log axis left its chart empty; points with a NaN on each side were not drawn.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import tracker
from browser_tab import Tab, open_ui
from http_server import Server
from playwright.sync_api import Browser, Page, expect

COLOURED = """(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let coloured = 0;
  for (let i = 0; i < data.length; i += 4) {
    const rgb = data.slice(i, i + 3);
    if (data[i + 3] > 200 && Math.max(...rgb) - Math.min(...rgb) > 60) coloured += 1;
  }
  return coloured;
}"""


def record(store: Path) -> str:
    with tracker.init(project="values", dir=str(store), quiet=True, system_interval=0) as run:
        for step in range(400):
            values = {
                "loss": 1 / (step + 1),
                "gaps": math.nan if step % 2 else float(step),
                "converged": step > 200,
                "sign": float(step - 200),
            }
            run.log(values, step=step)
        return str(run.uid)


def drawn(page: Page, metric: str) -> int:
    canvas = page.locator(f'figure[data-metric="{metric}"] canvas')
    expect(canvas).to_be_visible()
    page.wait_for_timeout(300)  # the frame after the one that made the canvas draws it
    return int(canvas.evaluate(COLOURED))


@pytest.mark.parametrize("axes", ["", "?ylog=1", "?xlog=1&ylog=1"])
def test_every_metric_has_a_line_on_every_axis(browser: Browser, tabs: list[Tab], tmp_path: Path, axes: str) -> None:
    store = tmp_path / "store"
    uid = record(store)
    with Server(store, ("--no-browser",), program="ui") as server:
        page = open_ui(browser, server.line, tabs).open(f"/p/values/r/{uid}/charts{axes}")
        for metric in ("loss", "gaps", "converged", "sign"):
            assert drawn(page, metric) > 100, metric
        page.get_by_role("link", name="Overview", exact=True).click()
        expect(page.locator('tr[data-metric="converged"]')).to_contain_text("true")
