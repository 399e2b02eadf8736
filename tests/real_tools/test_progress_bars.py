# SPDX-License-Identifier: MIT
"""Goal: the bars of tqdm and rich reach a terminal and a pipe byte for byte as without capture, and what is recorded is
what a terminal shows.

Method: one program, its clock fixed so that its bytes are the same each time, on a pseudo terminal and on a pipe,
without and with both kinds of capture. pyte is the terminal that says what is shown.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pyte
import pytest
import tracker

WIDTH, HEIGHT = 100, 50
CAPTURES = ("stream", "fd")

PROGRAM = r"""
import itertools, logging, subprocess, sys
import tqdm.std
import rich.console, rich.progress, rich.table

run = None
if len(sys.argv) > 1:
    import tracker
    run = tracker.init(id="bars", quiet=True, console="fd" if sys.argv[1] == "fd" else None)
clock = itertools.count()
tqdm.std.time = lambda: next(clock)
bar = {"file": sys.stdout, "mininterval": 0, "ncols": 60}
for _ in tqdm.std.tqdm(range(20), desc="one", colour="green", **bar): pass
for _ in tqdm.std.tqdm(range(3), desc="outer", **bar):
    for _ in tqdm.std.tqdm(range(5), desc="a longer inner bar", position=1, leave=False, **bar): pass
print("after nested bars", flush=True)
with tqdm.std.tqdm(total=2, desc="left", **bar) as a:
    with tqdm.std.tqdm(total=2, desc="\u5de6 left", position=1, **bar) as b:
        for step in range(2): a.update(); b.update()
print()
# One bar: of several tqdm.write erases now this one first, now that one.
for step in tqdm.std.tqdm(range(2), desc="pushed down", **bar):
    tqdm.std.tqdm.write(f"between {step}", file=sys.stdout)
console = rich.console.Console(width=80)
columns = (rich.progress.TextColumn("{task.description}"), rich.progress.BarColumn())
with rich.progress.Progress(*columns, auto_refresh=False, console=console) as progress:
    tasks = [progress.add_task(name, total=4) for name in ("first", "second", "third")]
    for step in range(4):
        for task in tasks: progress.update(task, advance=1)
        progress.refresh()
        console.print("printed at", step)
table = rich.table.Table("a", "b")
table.add_row("1", "[red]2[/red]")
console.print(table)
sys.stdout.flush()
logging.basicConfig(stream=sys.stdout)
logging.warning("warned")
subprocess.run([sys.executable, "-c", "print('of a child')"])
if run: run.finish()
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACKER_DIR", str(tmp_path / "s"))
    monkeypatch.setenv("TRACKER_SYSTEM_INTERVAL", "0")
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("PYTHONUNBUFFERED", "COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def on_a_terminal(command: list[str]) -> bytes:
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its)
    os.close(its)
    out = b""
    with contextlib.suppress(OSError):  # EIO: no process has the other end open
        while piece := os.read(ours, 1 << 16):
            out += piece
    os.close(ours)
    assert process.wait(timeout=60) == 0, out.decode()
    return out


def on_a_pipe(command: list[str]) -> bytes:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
    assert done.returncode == 0, done.stdout.decode()
    return done.stdout


def shown(output: bytes) -> list[str]:
    """The rows of a terminal that is high enough for all of it."""
    screen = pyte.Screen(WIDTH, 200)
    pyte.ByteStream(screen).feed(output)
    return "\n".join(row.rstrip() for row in screen.display).rstrip().split("\n")


def recorded() -> list[str]:
    (run,) = tracker.runs()
    texts = [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line.text).rstrip() for line in run.console()]
    return "\n".join(texts).rstrip().split("\n")


@pytest.mark.parametrize("capture", CAPTURES)
@pytest.mark.parametrize("where", [on_a_terminal, on_a_pipe])
def test_bars_of_tqdm_and_rich_pass_unchanged(program: Path, where: object, capture: str) -> None:
    command = [sys.executable, str(program)]
    assert where([*command, capture]) == where(command)  # type: ignore[operator]


@pytest.mark.parametrize("capture", CAPTURES)
def test_what_is_recorded_of_bars_is_what_a_terminal_shows(program: Path, capture: str) -> None:
    rows = shown(on_a_terminal([sys.executable, str(program), capture]))
    if capture == "stream":  # what Python prints itself
        rows = [row for row in rows if row != "of a child"]
    assert "after nested bars" in rows
    assert recorded() == rows
