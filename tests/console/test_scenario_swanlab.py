# SPDX-License-Identifier: MIT
"""Scenario U2: a script for SwanLab with another import line; a person sees its curves, output and machine.

Method: the script sends while it runs, or records offline and `tracker sync` sends; the pages are read in Chromium.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from browser_tab import Tab
from http_server import Server
from playwright.sync_api import Browser, Locator, Page, expect
from scenario import Scenario

SCRIPT = "launch_example.py"
SAMPLES = {"TRACKER_SYSTEM_INTERVAL": "0.1"}  # the script takes half a second, a user's takes minutes
# Key, points, the texts of the chart, and of its left and its right end.
CURVES = (
    ("loss", "1,600", "1,600 points as", "step 0 – 5: ", " 7,995: 0.00"),
    ("GroundTruth", "200", "all 200 points", "step 0: ", "step 199: "),
    ("PredictFunc", "200", "all 200 points", "step 0: ", "step 199: "),
)


def readout_at(page: Page, figure: Locator, part: float) -> Locator:
    """What a chart says of the place at `part` of its width."""
    box = figure.locator(".u-over").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + (box["width"] - 1) * part, box["y"] + box["height"] / 2)
    return figure.locator(".tk-chart-readout")


@pytest.mark.parametrize("mode", ["online", "offline"])
def test_a_person_sees_three_whole_curves_the_output_and_the_machine(
    browser: Browser, tabs: list[Tab], tmp_path: Path, mode: str
) -> None:
    with Server(tmp_path / "store") as server:
        scenario = Scenario(server, tmp_path / "work")
        if mode == "online":
            scenario.run(SCRIPT, **SAMPLES)
        else:
            scenario.run(SCRIPT, SWANLAB_MODE="offline", **SAMPLES)
            assert server.get("projects") == {"projects": []}
            scenario.tracker("sync")
        tab = scenario.log_in(browser, tabs)
        page = tab.page
        page.get_by_role("link", name="Launch-Example").click()
        page.get_by_role("link", name="test-remote").click()
        expect(page.locator('[data-state="finished"]')).to_be_visible()
        for key, points, *_ in CURVES:
            expect(page.locator(f'tr[data-metric="{key}"] td').last).to_have_text(points)

        page.get_by_role("link", name="Charts", exact=True).click()
        for key, _, count, first, last in CURVES:
            figure = page.locator(f'figure[data-metric="{key}"]')
            expect(figure.locator("canvas")).to_be_visible()
            expect(figure).to_contain_text(count)
            expect(readout_at(page, figure, 0)).to_contain_text(first)
            expect(readout_at(page, figure, 1)).to_contain_text(last)
        expect(page.get_by_role("figure")).to_have_count(3)

        page.get_by_role("link", name="Logs", exact=True).click()
        expect(page.get_by_role("log")).to_contain_text("iteration 7000: loss 0.00")
        expect(page.get_by_role("log")).to_contain_text("training has ended, the largest error is")
        page.get_by_role("link", name="Environment", exact=True).click()
        expect(page.get_by_role("region", name="Host")).to_contain_text("cpu model")
        page.get_by_role("link", name="System", exact=True).click()
        for key in ("system/cpu.percent", "system/memory.used.bytes"):
            figure = page.locator(f'figure[data-metric="{key}"]')
            expect(figure.locator("canvas")).to_be_visible()
            expect(figure).to_contain_text("points")
