# SPDX-License-Identifier: MIT
"""Scenario U3: a job with the wandb API that a platform kills, starts again in the same run, and reads meanwhile.

Method: SIGKILL after the checkpoint of epoch 5; tracker.connect() reads as the platform does, Chromium as a person.
"""

from __future__ import annotations

import signal
from pathlib import Path

import tracker
from browser_tab import Tab
from http_server import Server, wait_until
from playwright.sync_api import Browser, expect
from scenario import SECONDS_MAX, Scenario

EPOCHS, ITERATIONS, BATCH = 10, 50, 64  # of the script: 10 epochs of 3,200 samples
PROGRESS = ("iteration", "trained_samples", "total_samples")


def test_a_killed_job_goes_on_in_its_run_and_is_seen_by_platform_and_person(
    browser: Browser, tabs: list[Tab], tmp_path: Path
) -> None:
    with Server(tmp_path / "store") as server:
        scenario = Scenario(server, tmp_path / "work")
        words = ("resumable_job.py", "--job=job-17", f"--host={scenario.host}", f"--key={scenario.token}")
        # The host is an argument of the script: no variable names it.
        alone = {"TRACKER_HOST": "", "TRACKER_TOKEN": ""}
        checkpoints = scenario.folder / "checkpoints"

        job = scenario.start(*words, "--batch_time=0.01", **alone)
        wait_until((checkpoints / "epoch-5.npz").exists, SECONDS_MAX)
        job.send_signal(signal.SIGKILL)
        assert job.wait() == -signal.SIGKILL
        assert job.stdout is not None
        job.stdout.close()

        remote = tracker.connect(scenario.host, scenario.token)
        job = scenario.start(*words, "--batch_time=0.05", **alone)
        wait_until((checkpoints / "epoch-6.npz").exists, SECONDS_MAX)

        # The job platform, while the job runs: time per iteration, progress, time to finish.
        def logged() -> dict[str, list[float]]:
            run = remote.open_run("serverless-pilot/job-17")
            return {key: run.history(key).values.tolist() for key in PROGRESS}

        wait_until(lambda: logged()["iteration"][-1:] > [6 * ITERATIONS], SECONDS_MAX)
        found = logged()
        assert job.poll() is None
        assert set(found["iteration"]) == set(range(1, int(found["iteration"][-1]) + 1))
        assert found["trained_samples"][-1] >= 6 * ITERATIONS * BATCH
        assert set(found["total_samples"]) == {EPOCHS * ITERATIONS * BATCH}
        times = remote.open_run("serverless-pilot/job-17").history("iteration").times
        assert 0 < (times[-1] - times[-ITERATIONS]).item() / ITERATIONS < 60e6  # µs an iteration

        # The user, while the job runs.
        tab = scenario.log_in(browser, tabs)
        page = tab.page
        page.get_by_role("link", name="serverless-pilot").click()
        page.get_by_role("link", name="job-17").click()
        expect(page.locator('[data-state="running"]')).to_be_visible()
        expect(page.locator("[data-progress]")).to_contain_text("of 32,000")
        expect(page.locator("[data-time-left]")).to_contain_text("left")
        expect(page.get_by_text("2 attempts")).to_be_visible()
        page.get_by_role("link", name="Logs", exact=True).click()
        log = page.get_by_role("log")
        for line in ("epoch 1: loss", "epoch 4: loss", "goes on after checkpoints/epoch-5.npz", "epoch 6: loss"):
            expect(log).to_contain_text(line)

        printed, _ = job.communicate(timeout=SECONDS_MAX)
        assert job.returncode == 0, printed
        expect(log).to_contain_text("epoch 10: loss")  # by itself, the page was not loaded again
        expect(page.locator('[data-state="finished"]')).to_be_visible()
        assert set(logged()["iteration"]) == set(range(1, EPOCHS * ITERATIONS + 1))
        page.get_by_role("link", name="Files", exact=True).click()
        for epoch in range(1, EPOCHS + 1):
            expect(page.get_by_role("row", name=f"epoch-{epoch}.npz", exact=False).first).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("row", name="epoch-10.npz").get_by_role("link", name="Download").click()
        assert Path(download.value.path()).read_bytes() == (checkpoints / "epoch-10.npz").read_bytes()
        page.get_by_role("link", name="Config", exact=True).click()
        expect(page.get_by_role("region", name="Config")).to_contain_text("softmax")
