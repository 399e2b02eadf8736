# SPDX-License-Identifier: MIT
"""Scenario U1: a distributed training for t9k's em with another import line, under torchrun with 2 processes; a person
sees the run and its artifact, linked to each other.

Method: a real server gets it by em.login() and run.upload(); the pages are read in Chromium.
"""

from __future__ import annotations

from pathlib import Path

from browser_tab import Tab, chromium
from http_server import Server
from playwright.sync_api import expect
from scenario import Scenario

TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
STEPS, EPOCHS = 96, 3  # of the script: 2,048 images in batches of 32 on 2 processes, three times


def test_a_person_sees_the_run_and_its_artifact_linked_to_each_other(store: Path, tmp_path: Path) -> None:
    with Server(tmp_path / "server") as server, chromium() as browser:
        scenario = Scenario(server, tmp_path / "work")
        script = ("mnist_torch_distributed.py", "--save_path=model_state_dict.pt")
        scenario.run(*script, launcher=TORCHRUN, OMP_NUM_THREADS="1")
        tabs: list[Tab] = []
        page = scenario.log_in(browser, tabs).page
        page.get_by_role("link", name="em-examples").click()
        page.get_by_role("link", name="mnist_torch_distributed").click()
        expect(page.locator('[data-state="finished"]')).to_be_visible()

        # Metrics: of each type, with the epoch of each point; nothing twice although two processes ran.
        for key, points in (("train/loss", STEPS), ("val/loss", EPOCHS), ("test/accuracy", EPOCHS)):
            expect(page.locator(f'tr[data-metric="{key}"] td').last).to_have_text(str(points))
        page.get_by_role("link", name="Charts", exact=True).click()
        for key, points in (("train/loss", STEPS), ("val/accuracy", EPOCHS), ("test/loss", EPOCHS)):
            figure = page.locator(f'figure[data-metric="{key}"]')
            figure.scroll_into_view_if_needed()
            expect(figure.locator("canvas")).to_be_visible()
            expect(figure).to_contain_text(f"all {points} points")

        # Hyperparameters, platform information.
        page.get_by_role("link", name="Config", exact=True).click()
        for text in ("batch_size", "32", "learning_rate_decay", "0.7", "conv_channels"):
            expect(page.get_by_role("region", name="Config")).to_contain_text(text)
        page.get_by_role("link", name="Environment", exact=True).click()
        expect(page.get_by_role("region", name="Host")).to_contain_text("cpu model")
        expect(page.get_by_role("region", name="Python")).to_contain_text("3.")
        expect(page.get_by_role("region", name="Launcher")).to_contain_text("WORLD SIZE")

        # Data flow: from the run to the artifact, its file, and back.
        page.get_by_role("link", name="Overview", exact=True).click()
        flow = page.get_by_role("region", name="Data flow")
        expect(flow).to_contain_text("Outputs")
        flow.get_by_role("link", name="mnist_torch_saved_model:v0").click()
        row = page.get_by_role("row", name="model_state_dict.pt")
        expect(row).to_be_visible()
        with page.expect_download() as download:
            row.get_by_role("link", name="Download").click()
        saved = (scenario.folder / "model_state_dict.pt").read_bytes()
        assert Path(download.value.path()).read_bytes() == saved
        page.get_by_role("link", name="Lineage", exact=True).click()
        page.get_by_role("region", name="Made by").get_by_role("link", name="mnist_torch_distributed").click()
        expect(page.get_by_role("heading", name="mnist_torch_distributed", level=1)).to_be_visible()
        for tab in tabs:
            tab.close()
