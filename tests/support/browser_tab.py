# SPDX-License-Identifier: MIT
"""A tab of a real browser that notes what must never happen on a page of the console."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright
from playwright.sync_api import Error as PlaywrightError

WAIT_MS_MAX = 25_000
expect.set_options(timeout=WAIT_MS_MAX)
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Tab:
    """A page of a new profile; close() fails where the page broke its policy or raised an error."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.root = address.split("/#")[0]
        self.context = browser.new_context(viewport={"width": 1440, "height": 900})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(WAIT_MS_MAX)
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", self._on_console)
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _on_console(self, message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text or "TrustedHTML" in message.text:
            self.problems.append(message.text)

    def open(self, path: str) -> Page:
        self.page.goto(self.root + path)
        return self.page

    def text(self) -> str:
        """What the page shows to a person, shortened; after that its errors."""
        try:
            shown = self.page.locator("body").aria_snapshot(timeout=2000)
        except PlaywrightError as error:
            shown = str(error)
        return "\n".join([shown[:4000], *self.problems])

    def close(self) -> None:
        self.context.close()
        assert self.problems == []
        assert [url for url in self.requests if not url.startswith((self.root + "/", "data:", "blob:"))] == []


def open_ui(browser: Browser, line: str, tabs: list[Tab]) -> Tab:
    """The page of projects, through the one-use address in the line that `tracker ui` printed."""
    address = line.removeprefix("tracker: ")
    tab = Tab(browser, address)
    tabs.append(tab)
    tab.page.goto(address)
    expect(tab.page.get_by_role("heading", name="Projects")).to_be_visible()
    return tab
