# SPDX-License-Identifier: MIT
"""Goal: console="fd" flushes what C code has printed when a run begins and ends, and waits for no thread that keeps a
FILE. Method: programs in processes of their own, on pseudo terminals and pipes, in which another thread has the lock of
stdin or stdout."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker
from tracker._console import fd_capture

Script = Callable[..., "subprocess.CompletedProcess[str]"]

PACKAGE_ROOT = str(Path(tracker.__file__).parent.parent)
PATIENCE_S = 20
READS = """
import threading, time
threading.Thread(target=lambda: input("press Enter to stop: "), daemon=True).start()
time.sleep(0.3)
"""
BEGIN = 'import os, tracker\nrun = tracker.init(console="fd", quiet=True)\n'


def on_terminal(tmp_path: Path, source: str) -> tuple[bool, str]:
    """Whether the program came to its end by itself, and what it showed."""
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(source))
    master, slave = pty.openpty()
    out, end = b"", time.monotonic() + PATIENCE_S
    with subprocess.Popen(
        [sys.executable, str(path)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "PYTHONPATH": PACKAGE_ROOT},
    ) as process:
        os.close(slave)
        while process.poll() is None and time.monotonic() < end:
            if select.select([master], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):  # no process has the other end open
                    out += os.read(master, 4096)
        ended = process.poll() is not None
        process.send_signal(signal.SIGKILL)
    os.close(master)
    return ended, out.decode(errors="replace")


# Bug: fflush(NULL) waited for the lock of stdin, which a thread in input() has until somebody presses Enter.
@pytest.mark.parametrize(("before", "after"), [(READS, ""), ("", READS)], ids=["begin", "end"])
def test_a_thread_that_reads_from_the_terminal_holds_no_run_up(tmp_path: Path, before: str, after: str) -> None:
    ended, out = on_terminal(tmp_path, f"{before}{BEGIN}{after}\nrun.finish()\nos._exit(0)\n")
    assert ended, out


def test_a_thread_within_stdout_is_waited_for_a_little_and_what_is_held_back_is_printed(script: Script) -> None:
    done = script(
        f"""{BEGIN}
import ctypes, threading, time
libc = ctypes.CDLL(None)
stdout = ctypes.c_void_p.in_dll(libc, "stdout")
libc.printf(b"held back\\n")
taken, done = threading.Event(), threading.Event()
def take():
    libc.flockfile(stdout)
    taken.set()
    done.wait()
    libc.funlockfile(stdout)
thread = threading.Thread(target=take)
thread.start()
taken.wait()
begin = time.monotonic()
run.finish()
open("took", "w").write(str(time.monotonic() - begin))
done.set()
thread.join()
"""
    )
    assert done.stdout == "held back\n", done.stderr
    took = float(Path("took").read_text())
    assert fd_capture.FLUSH_MS_MAX / 1000 <= took < PATIENCE_S


def test_what_c_code_has_printed_and_not_flushed_is_recorded_in_its_place(script: Script) -> None:
    done = script(
        f"""
import ctypes
libc = ctypes.CDLL(None)
libc.printf(b"before the run\\n")
{BEGIN}
libc.printf(b"of the run\\n")
run.finish()
libc.printf(b"after the run\\n")
"""
    )
    assert done.stdout == "before the run\nof the run\nafter the run\n", done.stderr
    (run,) = tracker.runs()
    assert [line.text for line in tracker.open_run(run.id).console()] == ["of the run"]
