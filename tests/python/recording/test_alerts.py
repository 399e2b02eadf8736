# SPDX-License-Identifier: MIT
"""Goal: what run.alert() reports is kept with the run, bounded and counted. Method: runs are read back,
also by the second reader and the command line."""

from __future__ import annotations

import enum
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]

# kAlertsAMinute, kAlertTitleBytesMax, kAlertTextBytesMax
A_MINUTE, TITLE_BYTES_MAX, TEXT_BYTES_MAX = 60, 256, 16 * 1024


class AlertLevel(enum.Enum):
    """As another tracker has it."""

    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


def command(*arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "tracker", *arguments], capture_output=True, text=True, check=True, timeout=120
    ).stdout


def test_an_alert_is_read_back_with_its_level_time_and_the_largest_step(run: tracker.Run) -> None:
    run.alert("begun")
    run.log({"loss": 1.0}, step=7)
    run.log({"loss": 1.0}, step=3)
    run.alert("loss is NaN", "café\nsecond line", level="ERROR")
    run.alert("slow", level=AlertLevel.WARN)  # type: ignore[arg-type]
    alerts = tracker.open_run(run.id).alerts
    assert [(a.level, a.title, a.text, a.step, a.cut_bytes) for a in alerts] == [
        ("info", "begun", "", None, 0),
        ("error", "loss is NaN", "café\nsecond line", 7, 0),
        ("warn", "slow", "", 7, 0),
    ]
    assert alerts[0].time <= alerts[1].time <= alerts[2].time
    assert (alerts[0].attempt, alerts[0].rank, alerts.total, alerts.dropped) == (1, 0, 3, 0)


def test_what_is_too_long_is_cut_between_characters_and_says_so(run: tracker.Run) -> None:
    run.alert("é" * 200, "x" * (TEXT_BYTES_MAX + 5))
    (alert,) = tracker.open_run(run.id).alerts
    assert alert.title == "é" * (TITLE_BYTES_MAX // 2)
    assert alert.text == "x" * TEXT_BYTES_MAX
    assert alert.cut_bytes == (400 - TITLE_BYTES_MAX) + 5


def test_more_than_a_minute_takes_is_counted_said_once_and_kept_with_the_run(
    script: Script, capfd: pytest.CaptureFixture[str]
) -> None:
    run = tracker.init(project="test", quiet=True)
    for i in range(A_MINUTE + 5):
        run.alert(f"number {i}")
    assert run.status().alerts_dropped == 5
    assert len(tracker.open_run(run.id).alerts) == A_MINUTE
    run.finish()
    alerts = tracker.open_run(run.id).alerts
    assert (alerts.total, alerts.dropped) == (A_MINUTE, 5)
    assert capfd.readouterr().err.count("alerts in a minute") == 1
    assert "5 alerts more than a run takes" in command("show", run.id)


# Bug: at 1, 2, 4, 8, … dropped ones the number had been stored already, and was gone with the file.
def test_how_many_were_dropped_is_recorded_again_where_the_files_are_removed(run: tracker.Run) -> None:
    for i in range(A_MINUTE + 4):
        run.alert(f"alert {i}")
    assert run.flush()
    assert tracker.open_run(run.id).alerts.dropped == 4
    shutil.rmtree(run.dir)
    run.log({"loss": 1.0}, step=0)
    wait_until_there(Path(run.dir))
    run.finish()
    assert tracker.open_run(run.id).alerts.dropped == 4


def wait_until_there(folder: Path) -> None:
    end = time.monotonic() + 20
    while not list(folder.rglob("*.db")):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_strict_raises_where_an_alert_finds_no_room(strict_run: tracker.Run) -> None:
    for i in range(A_MINUTE):
        strict_run.alert(f"number {i}")
    with pytest.raises(tracker.TrackerError, match="more than 60 alerts"):
        strict_run.alert("one more")


def test_misuse_is_an_error_at_once(run: tracker.Run) -> None:
    with pytest.raises(ValueError, match="'info', 'warn' or 'error', got 'fatal'"):
        run.alert("x", level="fatal")
    with pytest.raises(TypeError, match="title must be a str"):
        run.alert(3)  # type: ignore[arg-type]


def test_a_rank_that_records_nothing_stores_no_alert(store: Path) -> None:
    run = tracker.init(project="test", rank=1, world_size=2, quiet=True)
    run.alert("not stored", level="error")
    run.finish()
    assert not store.exists()


def test_alerts_survive_a_kill_and_hold_no_secret(script: Script) -> None:
    script(
        """
        import os, signal, tracker
        run = tracker.init(project="test", id="killed", quiet=True)
        run.alert("key AKIAIOSFODNN7EXAMPLE", "token ghp_0123456789abcdefghijABCDEFGHIJ012345")
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    (alert,) = tracker.open_run("test/killed").alerts
    assert "[redacted]" in alert.title
    assert "ghp_" not in alert.text


# Regression: after a text that waited in memory it went two ways.
def test_an_alert_beside_a_large_text_is_stored_once(run: tracker.Run) -> None:
    run.log({"note": "x" * 200_000}, step=0)
    run.alert("only once")
    run.finish()
    assert [alert.title for alert in tracker.open_run(run.uid).alerts] == ["only once"]


def test_levels_of_logging_are_understood(run: tracker.Run) -> None:
    run.alert("a", level="warning")
    run.alert("b", level="CRITICAL")
    assert [alert.level for alert in tracker.open_run(run.uid).alerts] == ["warn", "error"]


def test_the_command_line_shows_them(run: tracker.Run) -> None:
    run.log({"loss": 1.0}, step=7)
    run.alert("loss is NaN", "at batch 12", level="warn")
    run.finish()
    page = command("show", run.id)
    assert "Alerts" in page
    assert "loss is NaN: at batch 12" in page
    shown = json.loads(command("show", run.id, "--json"))
    (alert,) = shown["alerts"]
    assert (alert["level"], alert["title"], alert["text"], alert["step"]) == ("warn", "loss is NaN", "at batch 12", 7)
    assert (shown["alerts_total"], shown["alerts_dropped"], shown["stop_request"]) == (1, 0, None)
    (listed,) = json.loads(command("ls", "--where", "alerts = 1", "--json"))["runs"]
    assert (listed["id"], listed["alerts"]) == (run.id, 1)
    assert "alert  warn loss is NaN: at batch 12" in command("tail", run.id)
    lines = [json.loads(line) for line in command("tail", run.id, "--json").splitlines()]
    assert [line["alert"]["title"] for line in lines if "alert" in line] == ["loss is NaN"]


def test_a_second_reader_finds_them(run: tracker.Run) -> None:
    run.log({"loss": 1.0}, step=7)
    run.alert("a", "b", level="error")
    folder = run.dir
    run.finish()
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import run, pathlib\n"
        "print(run.read_run(pathlib.Path(sys.argv[2])).alerts())"
    )
    reader = Path(__file__).parents[2] / "second_reader"
    done = subprocess.run(
        [sys.executable, "-c", code, str(reader), folder], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[('error', 'a', 'b', 7)]"
