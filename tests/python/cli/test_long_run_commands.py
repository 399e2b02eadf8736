# SPDX-License-Identifier: MIT
"""Goal: a page and the last lines of a long run take little memory. Method: one run of one metric that is longer than
what readers hold at once, and one of one row; the largest memory of the command's process for each."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import tracker

ROWS = 5_000_000  # above kVisitPointsMax, which show reads whole
MORE_MIB_MAX = 40


@pytest.fixture(scope="module")
def long_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "store"
    run = tracker.init(project="p", id="long", dir=str(path), quiet=True, on_full="block", system_interval=0)
    log = run.metric("x").log
    for step in range(ROWS):
        log(100.0 if step == 3_000_001 else 0.5, step)
        if step % 250_000 == 0:
            run.flush()  # what waits is compacted meanwhile
    run.finish()
    with tracker.init(project="p", id="short", dir=str(path), quiet=True, system_interval=0) as run:
        run.log({"x": 0.5}, step=0)
    return path


def peak_mib(store: Path, out: Path, *arguments: str) -> float:
    """Of the process of the command, whose output is `out` then."""
    code = f"import os, sys; os.dup2(os.open({str(out)!r}, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)\n"
    code += "from tracker.__main__ import main\nsys.argv[1:] = " + repr([*arguments, "--dir", str(store)]) + "\nmain()"
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", code], os.environ)
    _, status, usage = os.wait4(pid, 0)
    assert status == 0
    return usage.ru_maxrss / 1024


def test_a_page_of_a_long_run_does_not_hold_its_rows(long_store: Path, tmp_path: Path) -> None:
    out = tmp_path / "page"
    short = peak_mib(long_store, out, "show", "short")
    long = peak_mib(long_store, out, "show", "long", "--plot", "1")
    assert long - short < MORE_MIB_MAX
    page = out.read_text()
    assert "step 0" in page
    assert f"{ROWS - 1}" in page
    assert "100 ┤" in page, "the only spike is seen"


def test_the_last_lines_of_a_long_run_do_not_cost_all_its_rows(long_store: Path, tmp_path: Path) -> None:
    out = tmp_path / "lines"
    short = peak_mib(long_store, out, "tail", "short")
    long = peak_mib(long_store, out, "tail", "long", "-n", "3")
    assert long - short < MORE_MIB_MAX
    assert [line.split("step ")[1].split()[0] for line in out.read_text().splitlines()] == [
        str(ROWS - 3), str(ROWS - 2), str(ROWS - 1),
    ]  # fmt: skip
