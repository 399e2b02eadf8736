# SPDX-License-Identifier: MIT
"""What a person sees of scenarios U1 to U3: scripts of our own API log what those of the scenarios log, one of them
still runs, and the pages are read in Chromium."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser_tab import Tab
from commands import command, environment
from http_server import Server
from playwright.sync_api import Browser, expect

U1 = """
import tracker
run = tracker.init(project="em/examples", name="mnist_torch_distributed", config={"batch_size": 64, "lr": 0.1})
for step in range(400):
    run.log({"train/loss": 2.0 / (step + 1)}, step=step)
for epoch in range(3):
    run.log({"val/loss": 1.0 / (epoch + 1), "val/acc": 0.9 + epoch / 100}, step=epoch * 100)
open("model_state_dict.pt", "wb").write(b"weights")
model = tracker.Artifact("mnist_torch_saved_model", type="model")
model.add_file("model_state_dict.pt")
run.log_artifact(model)
run.finish()
again = tracker.init(project="em/examples", name="evaluate")
again.use_artifact("mnist_torch_saved_model:latest")
again.finish()
"""

U2 = """
import math, tracker
run = tracker.init(project="Launch-Example", name="test-remote", system_interval=0.2)
for step in range(0, 8000, 5):
    run.log({"loss": math.exp(-step / 2000)}, step=step)
for step in range(100):
    run.log({"GroundTruth": math.sin(step)}, step=step)
for step in range(100):
    run.log({"PredictFunc": math.cos(step)}, step=step)
print("training has ended")
import time; time.sleep(1)
run.finish()
"""

U3 = """
import sys, time, tracker
run = tracker.init(project="pilot", name="resumable", config={"learning_rate": 0.01, "epochs": 20})
for iteration in range(100_000):
    run.log({"iteration": iteration, "trained_samples": iteration * 64, "total_samples": 6_400_000})
    if iteration % 10 == 0:
        print(f"iteration {iteration}", flush=True)
    time.sleep(0.02)
"""


def script(store: Path, text: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", text],
        cwd=store.parent,
        env=environment(TRACKER_DIR=str(store)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("scenarios") / "store"
    for text in (U1, U2):
        assert script(path, text).wait(120) == 0
    live = script(path, U3)
    yield path
    live.kill()
    live.wait()


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[Callable[[], str]]:
    """Gives an address with a new one-use code."""
    with Server(store, ("--no-browser",), program="ui"):

        def fresh() -> str:
            done = command("ui", "--link", "--dir", str(store))
            return next(word for word in (done.stdout + done.stderr).split() if "#code=" in word)

        yield fresh


@pytest.fixture
def tab(browser: Browser, address: Callable[[], str], tabs: list[Tab]) -> Tab:
    link = address()
    opened = Tab(browser, link)
    tabs.append(opened)
    opened.page.goto(link)
    expect(opened.page.get_by_role("heading", name="Projects")).to_be_visible()
    assert "code=" not in opened.page.url
    return opened


def test_u1_shows_the_run_its_artifact_and_the_links_between_them(tab: Tab) -> None:
    page = tab.page
    page.get_by_role("link", name="em/examples").click()
    expect(page).to_have_url(f"{tab.root}/p/em~2Fexamples")
    page.get_by_role("link", name="mnist_torch_distributed").click()
    expect(page.get_by_role("row", name="train/loss")).to_contain_text("0.005")
    expect(page.get_by_text("Nothing lost: 406 points stored.")).to_be_visible()
    page.get_by_role("link", name="Config", exact=True).click()
    expect(page.get_by_role("region", name="Config")).to_contain_text("batch_size")
    page.get_by_role("link", name="Environment", exact=True).click()
    expect(page.get_by_role("region", name="Host")).to_contain_text("cpu model")
    page.get_by_role("link", name="Files", exact=True).click()
    expect(page.get_by_role("row", name="model_state_dict.pt")).to_contain_text("7 B")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert Path(download.value.path()).read_bytes() == b"weights"
    page.get_by_role("link", name="mnist_torch_saved_model:v0").click()
    expect(page.get_by_role("row", name="model_state_dict.pt")).to_be_visible()
    page.get_by_role("link", name="Lineage").click()
    expect(page.get_by_role("region", name="Made by")).to_contain_text("mnist_torch_distributed")
    page.get_by_role("region", name="Used by").get_by_role("link", name="evaluate").click()
    expect(page.get_by_role("heading", name="evaluate")).to_be_visible()
    expect(page.get_by_role("link", name="mnist_torch_saved_model:v0")).to_be_visible()


def test_u2_shows_three_whole_curves_the_output_and_the_machine(tab: Tab) -> None:
    page = tab.open("/p/Launch-Example")
    page.get_by_role("link", name="test-remote").click()
    page.get_by_role("link", name="Charts", exact=True).click()
    for metric, points in (
        ("loss", "1,600 points"),
        ("GroundTruth", "all 100 points"),
        ("PredictFunc", "all 100 points"),
    ):
        figure = page.locator(f'figure[data-metric="{metric}"]')
        expect(figure.locator("canvas")).to_be_visible()
        expect(figure).to_contain_text(points)
    page.get_by_role("link", name="Logs", exact=True).click()
    expect(page.get_by_role("log")).to_contain_text("training has ended")
    page.get_by_role("link", name="System", exact=True).click()
    expect(page.locator('figure[data-metric="system/cpu.percent"] canvas')).to_be_visible()
    expect(page.locator('figure[data-metric="system/memory.used.bytes"] canvas')).to_be_visible()


def test_u3_shows_progress_time_left_and_new_lines_while_it_runs(tab: Tab) -> None:
    page = tab.open("/p/pilot?q=state+%3D+running")
    page.get_by_role("link", name="resumable").click()
    expect(page.locator('[data-state="running"]')).to_be_visible()
    expect(page.locator("[data-progress]")).to_contain_text("of 6,400,000")
    expect(page.locator("[data-time-left]")).to_contain_text("left")
    page.get_by_role("link", name="Logs", exact=True).click()
    total = page.locator(".tk-toolbar [data-total]")
    expect(total).to_be_visible()
    before = int(total.get_attribute("data-total") or 0)
    page.wait_for_function("n => Number(document.querySelector('[data-total]').dataset.total) > n", arg=before)
    page.wait_for_function(
        "n => document.querySelector('[role=log]').textContent.includes(n)", arg=f"iteration {before * 10}"
    )


def test_a_filter_and_an_order_are_in_the_address_and_a_mistake_is_named(tab: Tab) -> None:
    page = tab.open("/p/em~2Fexamples")
    page.get_by_role("searchbox").fill("metrics.train/loss < 1")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 run", exact=True)).to_be_visible()
    assert "q=metrics.train" in page.url
    page.get_by_role("columnheader", name="Created").get_by_role("button").click()
    expect(page.get_by_role("columnheader", name="Created")).to_have_attribute("aria-sort", "ascending")
    page.get_by_role("searchbox").fill("state = =")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("column 9")


def test_a_drag_zooms_all_charts_and_asks_for_finer_data(tab: Tab) -> None:
    page = tab.open("/p/Launch-Example")
    page.get_by_role("link", name="test-remote").click()
    page.get_by_role("link", name="Charts", exact=True).click()
    figure = page.locator('figure[data-metric="loss"]')
    expect(figure).to_contain_text("1,600 points")
    box = figure.locator(".u-over").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 60, steps=5)
    page.mouse.up()
    expect(figure).to_contain_text("all")  # fewer than two points a pixel are left
    assert "lo=" in page.url
    page.get_by_role("button", name="Reset zoom").click()
    expect(figure).to_contain_text("1,600 points")


def test_without_a_login_there_is_the_login_page_alone(
    browser: Browser, address: Callable[[], str], tabs: list[Tab]
) -> None:
    stranger = Tab(browser, address())
    tabs.append(stranger)
    page = stranger.open("/p/pilot")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    page.get_by_label("Token").fill("trk_wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("not known")
    page.goto(f"{stranger.root}/#code=used")
    expect(page.get_by_role("alert")).to_contain_text("tracker ui --link")
