# SPDX-License-Identifier: MIT
"""The built console in real Chromium, before a real `tracker ui` on a store that real scripts have written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_tab import Tab, chromium
from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def built_console() -> Path:
    subprocess.run([sys.executable, str(ROOT / "tools" / "console.py")], check=True)
    return ROOT / "python" / "tracker" / "server" / "console"


@pytest.fixture(scope="session")
def browser(built_console: Path) -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A failed test says what its tabs show."""
    report = yield
    tabs = getattr(item, "funcargs", {}).get("tabs", [])
    if call.when == "call" and report.failed:
        report.sections += [(f"tab at {tab.page.url}", tab.text()) for tab in tabs]
    return report


@pytest.fixture
def tabs(browser: Browser) -> Iterator[list[Tab]]:
    """Tabs that the test has opened; each is closed and checked at its end."""
    opened: list[Tab] = []
    yield opened
    for tab in opened:
        tab.close()
