# SPDX-License-Identifier: MIT
"""The page says when it is not live, and recovers by itself; what a hostile run logs is text.

Method: `tracker ui` is killed and started again below an open page."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import tracker
from browser_tab import Tab, open_ui
from commands import command
from http_server import Server
from playwright.sync_api import Browser, Route, expect

HOSTILE = '<img src=x onerror="document.title=1">\u202egnp.exe'


def record(store: Path, name: str) -> str:
    run = tracker.init(project="../a?b#c%2F", name=name, dir=str(store), config={HOSTILE: HOSTILE}, quiet=True)
    run.log({HOSTILE: 1.0, "loss": 0.5}, step=2**62 + 1)
    run.finish()
    return run.id


def test_a_killed_server_is_said_and_its_return_too(browser: Browser, tabs: list[Tab], tmp_path: Path) -> None:
    store = tmp_path / "store"
    record(store, "first")
    server = Server(store, ("--no-browser",), program="ui").start()
    tab = open_ui(browser, server.line, tabs)
    project = tab.page.get_by_role("link", name="../a?b#c%2F")
    expect(project).to_be_visible()  # not only the first event: a page may be live before its table is loaded
    expect(tab.page.locator('[data-live="ok"]')).to_be_visible()
    server.end(signal.SIGKILL)
    expect(tab.page.get_by_text("Not live")).to_be_visible()
    expect(project).to_be_visible()  # what was shown remains
    record(store, "second")
    with server:
        expect(tab.page.locator('[data-live="ok"]')).to_be_visible()
        expect(tab.page.get_by_role("row", name="../a?b#c%2F")).to_contain_text("2")


def test_names_and_values_of_a_hostile_run_are_text(browser: Browser, tabs: list[Tab], tmp_path: Path) -> None:
    store = tmp_path / "store"
    record(store, HOSTILE)
    with Server(store, ("--no-browser",), program="ui") as server:
        tab = open_ui(browser, server.line, tabs)
        page = tab.page
        page.get_by_role("link", name="../a?b#c%2F").click()
        page.get_by_role("link", name="onerror").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("<img src=x")
        expect(page.get_by_role("heading", level=1)).to_contain_text("⟨U+202E⟩gnp.exe")
        page.get_by_role("link", name="Config", exact=True).click()
        expect(page.get_by_role("region", name="Config")).to_contain_text("<img src=x")
        page.get_by_role("link", name="Charts", exact=True).click()
        expect(page.locator('figure[data-metric="loss"]')).to_contain_text("all 1 point")
        assert page.locator("img").count() == 0
        address = page.url
        page.reload()  # every address can be opened by itself
        expect(page.locator('figure[data-metric="loss"] canvas')).to_be_visible()
        assert page.url == address


def test_the_rows_remain_and_can_be_clicked_until_those_of_a_new_order_arrive(
    browser: Browser, tabs: list[Tab], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    record(store, "first")
    with Server(store, ("--no-browser",), program="ui") as server:
        page = open_ui(browser, server.line, tabs).page
        page.get_by_role("link", name="../a?b#c%2F").click()
        expect(page.get_by_role("columnheader", name="loss")).to_be_visible()
        held: list[Route] = []
        page.route(re.compile(r"/api/v1/runs\?.*sort=name"), lambda route: held.append(route))
        with page.expect_request(re.compile("sort=name")):
            page.get_by_role("columnheader", name="Name").get_by_role("button").click()
        expect(page.get_by_role("table", name="Runs")).to_have_attribute("aria-busy", "true")
        page.get_by_role("row").get_by_role("link", name="first", exact=True).click(timeout=5000)
        expect(page.get_by_role("link", name="Charts", exact=True)).to_be_visible()
        assert held != []
        page.unroute_all(behavior="ignoreErrors")


def test_ui_opens_with_a_code_that_works_once(built_console: Path, tmp_path: Path) -> None:
    record(tmp_path / "store", "otter")
    with Server(tmp_path / "store", ("--no-browser",), "ui") as ui:
        one = ui.line.split("/#code=")[1]
        done = command("ui", "--link", "--dir", str(ui.store))
        assert done.stderr.startswith(f"tracker: http://127.0.0.1:{ui.port}/#code=")
        other = done.stderr.strip().split("/#code=")[1]
        marked = {"X-Tracker": "1"}
        for secret in (one, other):
            answer = ui.request("POST", "login", {"code": secret}, headers=marked)
            assert answer.ok() == {"scopes": ["read"], "project": None}
            held = {"Cookie": answer.headers["set-cookie"].split(";")[0]}
            assert ui.request("GET", "projects", headers=held).ok()["projects"][0]["project"] == "../a?b#c%2F"
            assert ui.request("POST", "login", {"code": secret}, headers=marked).status == 401
        assert ui.end() == (0, "")
