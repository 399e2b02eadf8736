# SPDX-License-Identifier: MIT
"""A person's script against a `tracker server`, and a browser's tab that has logged in to that server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from browser_tab import Tab
from commands import environment
from http_server import Server, create_token
from playwright.sync_api import Browser, expect

SCRIPTS = Path(__file__).resolve().parents[2] / "examples" / "scenarios"
SECONDS_MAX = 240


@dataclass
class Scenario:
    """Scripts run in `folder`, whose store is the server's only by what is sent to it."""

    server: Server
    folder: Path
    token: str = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.token = create_token(self.server.store, "ingest", "read")

    @property
    def host(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    def environment(self, **more: str) -> dict[str, str]:
        """What a person's shell has: the server and the token, nothing else of tracker, no rank."""
        ours = ("TRACKER_", "WANDB_", "SWANLAB_", "EM_", "SLURM_", "OMPI_", "PMI")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return {
            **kept,
            "PYTHONPATH": environment()["PYTHONPATH"],
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "TRACKER_HOST": self.host,
            "TRACKER_TOKEN": self.token,
            **more,
        }

    def start(self, *words: str, launcher: Sequence[str] = (), **more: str) -> subprocess.Popen[str]:
        """`words`: a script of examples/scenarios/ and its arguments."""
        return subprocess.Popen(
            [sys.executable, *launcher, str(SCRIPTS / words[0]), *words[1:]],
            cwd=self.folder,
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: str, launcher: Sequence[str] = (), **more: str) -> str:
        """Returns what the script printed."""
        process = self.start(*words, launcher=launcher, **more)
        printed, _ = process.communicate(timeout=SECONDS_MAX)
        assert process.returncode == 0, printed
        return printed

    def tracker(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "tracker", *words],
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def log_in(self, browser: Browser, tabs: list[Tab]) -> Tab:
        """As a person with a token: the page of projects."""
        tab = Tab(browser, self.host)
        tabs.append(tab)
        page = tab.open("/")
        page.get_by_label("Token").fill(self.token)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Projects")).to_be_visible()
        return tab
