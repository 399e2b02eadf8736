# SPDX-License-Identifier: MIT
"""The tally of tools/test.py counts what ctest and pytest reported and is never cleaner than their exit codes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import tidy


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    # By path: a module of the standard library is called `test` too.
    spec = importlib.util.spec_from_file_location("tracker_test_driver", tidy.ROOT / "tools" / "test.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "LOGS", tmp_path / "logs")
    return module


REPORT = """<testsuite tests="5">
  <testcase name="a" classname="s" status="run"/>
  <testcase name="b" classname="s" status="run"/>
  <testcase name="c" classname="s" status="fail"><failure message="no"/></testcase>
  <testcase name="d" classname="s" status="notrun"><skipped message="not here"/></testcase>
  <testcase name="e" classname="s"><error message="crashed"/></testcase>
</testsuite>"""


def test_junit_cases_are_counted(driver: ModuleType, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    tally = driver.read_junit(report)
    assert str(tally) == "2 passed, 2 failed, 1 skipped"
    assert tally.failures == ["s::c", "s::e"]
    assert tally.skips == ["s::d: not here"]


def test_a_torn_report_counts_nothing(driver: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "torn.xml").write_text(REPORT[:100])
    assert str(driver.read_junit(tmp_path / "torn.xml")) == "0 passed, 0 failed, 0 skipped"


def test_a_command_that_fails_without_a_report_is_one_failure(driver: ModuleType, tmp_path: Path) -> None:
    tally = driver.with_report("part", tmp_path / "none.xml", ["false"])
    assert str(tally) == "0 passed, 1 failed, 0 skipped"
    assert str(driver.with_report("part", tmp_path / "none.xml", ["no-such-program"])) == str(tally)


def test_an_old_report_is_not_read_again(driver: ModuleType, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert str(driver.with_report("part", report, ["true"])) == "0 passed, 0 failed, 0 skipped"


def test_the_last_line_is_the_tally_and_failures_decide_the_exit_code(
    driver: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = {"good": lambda: driver.Tally(passed=3, skipped=1), "bad": lambda: driver.Tally(failed=1, failures=["x"])}
    monkeypatch.setattr(driver, "PARTS", parts)
    monkeypatch.setattr(driver, "reference_s", lambda: 1.0)
    assert driver.main(["good"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "3 passed, 0 failed, 1 skipped"
    assert driver.main(["good", "bad"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "3 passed, 1 failed, 1 skipped"
    assert driver.main(["typo"]) == 2


def test_every_part_of_the_default_run_exists(driver: ModuleType) -> None:
    assert set(driver.DEFAULT_PARTS) <= set(driver.ALL_PARTS) <= set(driver.PARTS)
