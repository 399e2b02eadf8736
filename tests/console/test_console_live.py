# SPDX-License-Identifier: MIT
"""A live run in the browser: when its points show, and what an open page asks for meanwhile; and the console below a
path of a reverse proxy.

Method: this process records into a real server; Chromium's requests and answers are counted.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import tracker
from browser_tab import Tab
from http_server import Server
from playwright.sync_api import Browser, Page, Response, Route, expect
from prefix_proxy import PrefixProxy
from scenario import Scenario

SHOWN_SECONDS_MAX = 25  # five times the promised time
TICK_BYTES_MAX = 2048
TICKS_MS = 7000
TAIL_BYTES_MAX = 8192  # a whole chart of 20,000 points is some 60 KB


@pytest.fixture
def scenario(tmp_path: Path) -> Iterator[Scenario]:
    with Server(tmp_path / "server") as server:
        yield Scenario(server, tmp_path / "work")


def begin(scenario: Scenario) -> tracker.Run:
    return tracker.init(
        project="live",
        name="first",
        dir=str(scenario.folder / ".tracker"),
        mode="online",
        host=scenario.host,
        token=scenario.token,
        quiet=True,
        system_interval=0,
    )


def begin_with_a_point(scenario: Scenario) -> tracker.Run:
    run = begin(scenario)
    run.log({"loss": 1.0}, step=0)
    assert run.flush()
    return run


def charts_of(scenario: Scenario, browser: Browser, tabs: list[Tab], uid: str) -> Page:
    page = scenario.log_in(browser, tabs).page
    page.goto(f"{scenario.host}/p/live/r/{uid}/charts")
    return page


def listen(page: Page) -> list[Response]:
    answers: list[Response] = []
    page.on("response", lambda answer: answers.append(answer))
    return answers


def test_a_point_reaches_the_browser(browser: Browser, tabs: list[Tab], scenario: Scenario) -> None:
    run = begin_with_a_point(scenario)
    page = charts_of(scenario, browser, tabs, run.uid)
    readout = page.locator('figure[data-metric="loss"] .tk-chart-readout')
    expect(readout).to_have_text("1")
    took = []
    for step in range(1, 4):
        logged = time.monotonic()
        run.log({"loss": float(step * 111)}, step=step)
        expect(readout).to_have_text(str(step * 111), timeout=60_000)
        took.append(time.monotonic() - logged)
    run.finish()
    print(f"points reached the browser after {', '.join(f'{seconds:.1f} s' for seconds in took)}")
    assert max(took) <= SHOWN_SECONDS_MAX


def test_an_unchanged_view_asks_only_whether_something_changed(
    browser: Browser, tabs: list[Tab], scenario: Scenario
) -> None:
    run = begin(scenario)
    run.log({"loss": 1.0}, step=0)
    run.finish()
    page = charts_of(scenario, browser, tabs, run.uid)
    expect(page.locator('figure[data-metric="loss"] canvas')).to_be_visible()
    page.wait_for_timeout(3000)  # the end of the run has arrived
    answers = listen(page)
    page.wait_for_timeout(TICKS_MS)
    assert len(answers) >= 2
    assert {answer.url.split("?")[0] for answer in answers} == {f"{scenario.host}/api/v1/changes"}
    assert max(len(answer.body()) for answer in answers) < TICK_BYTES_MAX


def test_a_tab_that_was_opened_hidden_shows_what_has_changed_since(
    browser: Browser, tabs: list[Tab], scenario: Scenario
) -> None:
    run = begin_with_a_point(scenario)
    page = scenario.log_in(browser, tabs).page
    page.add_init_script("Object.defineProperty(document, 'hidden', { get: () => !window.isShown });")
    page.goto(f"{scenario.host}/p/live/r/{run.uid}/charts")
    expect(page.locator('[data-state="running"]')).to_be_visible()
    run.finish()
    other = page.context.new_page()
    other.goto(f"{scenario.host}/p/live/r/{run.uid}/charts")
    expect(other.locator('[data-state="finished"]')).to_be_visible()
    page.evaluate("window.isShown = true; document.dispatchEvent(new Event('visibilitychange'));")
    expect(page.locator('[data-state="finished"]')).to_be_visible()


def test_what_changes_while_one_page_replaces_another_is_shown(
    browser: Browser, tabs: list[Tab], scenario: Scenario
) -> None:
    run = begin_with_a_point(scenario)
    page = charts_of(scenario, browser, tabs, run.uid)
    expect(page.locator('[data-live="ok"]')).to_be_visible()
    page.route(re.compile("/api/v1/changes"), lambda route: route.abort())
    expect(page.locator('[data-live="stale"]')).to_be_visible()
    run.finish()
    page.get_by_label("Breadcrumb").get_by_role("link", name="live", exact=True).click()
    expect(page.get_by_role("row").get_by_text("finished")).to_be_visible()
    page.unroute_all()
    page.get_by_role("row").get_by_role("link", name="first", exact=True).click()
    expect(page.locator('.tk-run-head [data-state="finished"]')).to_be_visible()


def test_a_page_of_charts_asks_for_the_run_and_its_metrics_at_once(
    browser: Browser, tabs: list[Tab], scenario: Scenario
) -> None:
    run = begin(scenario)
    run.log({"loss": 1.0}, step=0)
    run.finish()
    page = scenario.log_in(browser, tabs).page
    held: list[Route] = []
    page.route(re.compile(f"/api/v1/runs/{run.uid}$"), lambda route: held.append(route))
    with page.expect_request(re.compile(f"/api/v1/runs/{run.uid}/series")):
        page.goto(f"{scenario.host}/p/live/r/{run.uid}/charts")
    assert len(held) == 1
    held[0].continue_()
    expect(page.locator('figure[data-metric="loss"]')).to_contain_text("all 1 point")


def test_a_chart_remains_when_a_later_request_fails_and_is_loaded_again(
    browser: Browser, tabs: list[Tab], scenario: Scenario
) -> None:
    run = begin_with_a_point(scenario)
    page = charts_of(scenario, browser, tabs, run.uid)
    figure = page.locator('figure[data-metric="loss"]')
    expect(figure).to_contain_text("all 1 point")
    page.route(re.compile("/api/v1/series"), lambda route: route.fulfill(status=502))
    run.log({"loss": 2.0}, step=1)
    run.finish()
    expect(page.locator('.tk-run-head [data-state="finished"]')).to_be_visible()
    expect(figure).to_contain_text("all 1 point · the newest points could not be loaded")
    expect(figure).to_have_attribute("aria-busy", "false")  # no retry is on its way
    expect(figure.locator("canvas")).to_be_visible()
    page.unroute_all()
    expect(figure).to_contain_text("all 2 points")
    expect(figure).not_to_contain_text("could not be loaded")


def test_of_a_long_live_chart_only_the_tail_is_asked_for(browser: Browser, tabs: list[Tab], scenario: Scenario) -> None:
    run = begin(scenario)
    for step in range(20_000):
        run.log({"loss": (step * 7) % 1009}, step=step)
    assert run.flush()
    page = charts_of(scenario, browser, tabs, run.uid)
    figure = page.locator('figure[data-metric="loss"]')
    expect(figure).to_contain_text("20,000 points as", timeout=60_000)
    answers = listen(page)
    for step in range(20_000, 20_020):
        run.log({"loss": -1.0}, step=step)
    expect(figure).to_contain_text("20,020 points as", timeout=60_000)
    expect(figure.locator(".tk-chart-readout")).to_have_text("−1")
    series = [answer for answer in answers if answer.url.endswith("/api/v1/series")]
    assert series
    assert max(len(answer.body()) for answer in series) < TAIL_BYTES_MAX
    joined = figure.locator(".tk-chart-foot").inner_text()
    run.finish()
    page.reload()
    expect(figure.locator(".tk-chart-foot")).to_have_text(joined)


def test_lines_of_a_live_log_remain_until_new_ones_arrive(
    browser: Browser, tabs: list[Tab], scenario: Scenario
) -> None:
    run = begin(scenario)
    print("the first line")
    assert run.flush()
    page = scenario.log_in(browser, tabs).page
    page.goto(f"{scenario.host}/p/live/r/{run.uid}/logs")
    expect(page.get_by_role("log")).to_contain_text("the first line")
    held: list[Route] = []
    page.route(re.compile(r"/console\?.*after=0"), lambda route: held.append(route))
    print("the second line")
    expect(page.locator(".tk-toolbar [data-total]")).to_have_attribute("data-total", "2")
    assert "the first line" in page.get_by_role("log").inner_text()
    for route in held:
        route.continue_()
    page.unroute_all()
    expect(page.get_by_role("log")).to_contain_text("the second line")
    run.finish()


def test_the_console_works_below_a_path(browser: Browser, tabs: list[Tab], scenario: Scenario) -> None:
    run = begin(scenario)
    run.log({"loss": 1.0, "other": 2.0}, step=0)
    run.finish()
    with PrefixProxy("/lab/user/trk/", scenario.server.port) as proxy:
        tab = Tab(browser, proxy.address)
        tabs.append(tab)
        page = tab.open("/p/live")  # leads to the login page, and back
        page.get_by_label("Token").fill(scenario.token)
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("row").get_by_role("link", name="first", exact=True).click()
        page.get_by_role("link", name="Charts", exact=True).click()
        expect(page.locator('figure[data-metric="loss"] canvas')).to_be_visible()
        assert page.url == f"{proxy.address}/p/live/r/{run.uid}/charts"
        page.reload()
        expect(page.locator('figure[data-metric="loss"] canvas')).to_be_visible()
        page.locator(".tk-toolbar select").select_option(label="other")
        expect(page.locator('figure[data-metric="loss"]')).to_contain_text("all 1 point")
        assert "x=metric" in page.url
        page.close()  # before the server ends, which would otherwise ask
