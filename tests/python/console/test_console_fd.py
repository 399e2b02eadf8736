# SPDX-License-Identifier: MIT
"""Goal: console="fd" records what native code and child processes write, and the program, its terminal and a
reader of its output see the same as without it. Method: programs in processes of their own, on pipes, files and pseudo
terminals; what came out with and without capture is compared byte by byte."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tracker
from tracker._console import console_relay, fd_capture

Script = Callable[..., "subprocess.CompletedProcess[str]"]

PACKAGE_ROOT = str(Path(tracker.__file__).parent.parent)
PATIENCE_S = 20
BYTES = int(os.environ.get("CONSOLE_BYTES", "20_000_000"))  # 1 GB in tests/fault/soak.sh

BEGIN = 'import os, subprocess, sys, time, tracker\nrun = tracker.init(console="fd", quiet=True)\n'

PRINTS = r"""
import ctypes, os, subprocess, sys
print("of Python")
sys.stdout.flush()
os.write(1, b"of a descriptor\n")
libc = ctypes.CDLL(None)
libc.printf(b"of the C library\n")
libc.fflush(None)
subprocess.run([sys.executable, "-c", "import sys; print('of a child'); print('its stderr', file=sys.stderr)"])
for i in range(50): os.write(1, f"\r{i}%".encode())
os.write(1, b"\ncaf\xc3")
os.write(1, b"\xa9\nno end")
"""
LINES = ["of Python", "of a descriptor", "of the C library", "of a child", "49%", "café", "no end"]


def lines_of(stream: str | None = None) -> list[str]:
    (run,) = tracker.runs()
    return [line.text for line in tracker.open_run(run.id).console(stream=stream)]


def command(tmp_path: Path, source: str) -> list[str]:
    path = tmp_path / f"program{len(list(tmp_path.glob('program*')))}.py"
    path.write_text(textwrap.dedent(source))
    return [sys.executable, str(path)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": PACKAGE_ROOT}


def relays() -> set[int]:
    """Of this test's program: those whose copy of the environment names its store."""
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            mine = os.environ["TRACKER_DIR"].encode() in (entry / "environ").read_bytes()
            if mine and any(word.endswith(b"console_relay.py") for word in words):
                found.add(int(entry.name))
    return found


@pytest.fixture(autouse=True)
def no_relay_is_left(store: Path) -> Iterator[None]:
    yield
    end = time.monotonic() + PATIENCE_S
    while relays() and time.monotonic() < end:
        time.sleep(0.05)
    assert not relays()


# Promise P4: `console="fd"` changes no byte of the output, is undone at the end, survives a kill with all output, and
# blocks no process.
def test_native_code_and_children_are_recorded_and_the_output_is_unchanged(script: Script) -> None:
    plain = script(PRINTS)
    recorded = script(f"{BEGIN}{PRINTS}\nrun.finish()")
    assert (recorded.stdout, recorded.stderr) == (plain.stdout, plain.stderr)
    assert lines_of("stdout") == LINES
    assert lines_of("stderr") == ["its stderr"]


def test_without_finish_the_end_of_the_process_records_the_last_words(script: Script) -> None:
    done = script(f"{BEGIN}{PRINTS}")
    assert done.returncode == 0, done.stderr
    assert lines_of("stdout") == LINES


WRITES = """
import hashlib, os
block = b"".join(hashlib.sha256(bytes([i])).digest() for i in range(256)) * 8
left = int(os.environ["CONSOLE_BYTES"])
while left > 0:
    left -= os.write(1, block[:left])
"""


def hash_of(path_of: list[str], **environment: str) -> tuple[str, int]:
    total, digest = 0, hashlib.sha256()
    with subprocess.Popen(path_of, stdout=subprocess.PIPE, env={**os.environ, **environment}) as process:
        assert process.stdout is not None
        while chunk := process.stdout.read(1 << 20):
            digest.update(chunk)
            total += len(chunk)
    assert process.returncode == 0
    return digest.hexdigest(), total


def test_much_output_is_the_same_byte_for_byte_and_what_is_not_recorded_is_counted(tmp_path: Path) -> None:
    given = {"CONSOLE_BYTES": str(BYTES), "PYTHONPATH": PACKAGE_ROOT}
    plain = hash_of(command(tmp_path, WRITES), **given)
    end = "run.finish()\nprint(run.status().console_cut_bytes, file=open('cut', 'w'))\n"
    recorded = hash_of(command(tmp_path, BEGIN + WRITES + end), **given)
    assert recorded == plain
    assert plain[1] == BYTES
    assert int(Path("cut").read_text()) >= BYTES - 10_000_000 * (1 + BYTES // 50_000_000)


def read_until_closed(master: int) -> bytes:
    out = b""
    with contextlib.suppress(OSError):  # no process has the other end open
        while chunk := os.read(master, 65536):
            out += chunk
    os.close(master)
    return out


def on_terminal(arguments: list[str], rows: int = 40) -> bytes:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 100, 0, 0))
    with subprocess.Popen(arguments, stdin=slave, stdout=slave, stderr=slave, env=environment()) as process:
        os.close(slave)
        out = read_until_closed(master)
    assert process.returncode == 0, out
    return out


def test_a_terminal_stays_one_and_shows_the_same_bytes(tmp_path: Path) -> None:
    facts = """
        print(sys.stdout.isatty(), os.isatty(2), os.get_terminal_size(1), sys.stdout.fileno())
        print(sys.stdout.line_buffering)
    """
    source = f"import os, sys\n{textwrap.dedent(facts)}\n{PRINTS}"
    plain = on_terminal(command(tmp_path, source))
    recorded = on_terminal(command(tmp_path, f"{BEGIN}{source}\nrun.finish()"))
    assert recorded == plain
    assert b"True True os.terminal_size(columns=100, lines=40) 1" in plain
    # One terminal: lines keep their order, and are those of stdout.
    assert lines_of("stdout")[5:7] == ["of a child", "its stderr"]


def test_the_window_keeps_its_size(tmp_path: Path) -> None:
    source = f"""{BEGIN}
print("ready", flush=True)
end = time.monotonic() + {PATIENCE_S}
while os.get_terminal_size(1).lines != 50 and time.monotonic() < end:
    time.sleep(0.01)
print(os.get_terminal_size(1).lines, flush=True)
"""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    with subprocess.Popen(command(tmp_path, source), stdout=slave, env=environment()):
        os.close(slave)
        out = b""
        while b"ready" not in out:
            out += os.read(master, 100)
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
        out += read_until_closed(master)
    assert out.replace(b"\r", b"").endswith(b"\n50\n")


def test_a_file_stays_a_file_and_needs_no_relay(tmp_path: Path) -> None:
    check = f"{BEGIN}import stat\nis_file = stat.S_ISREG(os.fstat(1).st_mode)\n"
    source = f"{check}print(is_file, len(open(f'/proc/self/task/{{os.getpid()}}/children').read()))\n{PRINTS}"
    for number, arguments in enumerate((command(tmp_path, PRINTS), command(tmp_path, source))):
        with (tmp_path / f"out{number}").open("w") as out:
            out.write("from before\n")
            out.flush()
            subprocess.run(arguments, stdout=out, stderr=subprocess.DEVNULL, check=True, env=environment())
    first, second = ((tmp_path / f"out{number}").read_bytes() for number in range(2))
    assert second == first.replace(b"from before\n", b"from before\nTrue 0\n")
    assert lines_of("stdout") == ["True 0", *LINES]
    assert not relays()


def test_a_kill_loses_no_output_and_hangs_no_child(tmp_path: Path) -> None:
    child = "import time; time.sleep(1); print('the child goes on', flush=True); time.sleep(0.2); print('to its end')"
    source = f"""{BEGIN}
import signal
subprocess.Popen([sys.executable, "-c", {child!r}])
for i in range(20_000):
    os.write(1, b"line %d\\n" % i)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run(
        command(tmp_path, source), capture_output=True, text=True, env=environment(), timeout=120, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert done.stdout.splitlines() == [*(f"line {i}" for i in range(20_000)), "the child goes on", "to its end"]


def test_the_descriptors_are_what_they_were_and_no_child_is_left(script: Script) -> None:
    done = script(
        """
import os, signal, tracker
def descriptors():
    return [(os.fstat(i).st_ino, os.get_inheritable(i)) for i in (1, 2)], sorted(os.listdir("/proc/self/fd"))
before = descriptors()
run = tracker.init(console="fd", quiet=True)
during = descriptors()
try:
    os.wait()
except ChildProcessError:
    print("no child")
run.finish()
after = descriptors()
print(before[0] == after[0], before[0] != during[0])
time_left = 100
import time
while len(descriptors()[1]) > len(before[1]) and time_left:  # the thread closes its pipe
    time.sleep(0.05)
    time_left -= 1
print(len(descriptors()[1]) - len(before[1]))
"""
    )
    assert done.stdout == "no child\nTrue True\n0\n", done.stderr


def test_what_the_program_puts_in_their_place_stays(script: Script, tmp_path: Path) -> None:
    done = script(
        f"""{BEGIN}
other = os.open("other", os.O_CREAT | os.O_WRONLY)
os.dup2(other, 1)
run.finish()
os.write(1, b"to the file")
"""
    )
    assert (done.stdout, (tmp_path / "other").read_text()) == ("", "to the file")


def test_a_relay_that_is_killed_costs_no_byte(tmp_path: Path) -> None:
    source = f"""{BEGIN}
for i in range(100):
    os.write(1, b"line %d\\n" % i)
    if i == 50:
        open("half", "w").close()
        while os.path.exists("half"):
            time.sleep(0.01)
print("ended", flush=True)
"""
    with subprocess.Popen(
        command(tmp_path, source), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as process:
        while not Path("half").exists():
            assert process.poll() is None
            time.sleep(0.01)
        (relay,) = relays()
        os.kill(relay, signal.SIGKILL)
        Path("half").unlink()
        out, err = process.communicate(timeout=PATIENCE_S)
    assert out.splitlines() == [*(f"line {i}" for i in range(100)), "ended"]
    assert err.count("the relay of console") == 1
    assert process.returncode == 0


# Regression: what was written between its death and the end was in a pipe that the end closed.
@pytest.mark.parametrize("both", [False, True], ids=["stdout", "stdout_and_stderr"])
def test_a_relay_that_dies_as_the_program_ends_costs_no_byte(tmp_path: Path, both: bool) -> None:
    source = f"""{BEGIN}
import signal
print("begun", flush=True)
relay = int(sys.stdin.readline())
os.kill(relay, signal.SIGSTOP)
while open(f"/proc/{{relay}}/stat").read().rpartition(") ")[2][0] != "T":  # else it may hold a line when it dies
    pass
for i in range(1000):
    os.write(1, b"line %d\\n" % i)
    if {both}: os.write(2, b"line %d\\n" % i)
os.kill(relay, signal.SIGKILL)
"""
    with subprocess.Popen(
        command(tmp_path, source),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        (relay,) = relays()
        process.stdin.write(f"{relay}\n")
        process.stdin.flush()
        out, err = process.communicate(timeout=PATIENCE_S)
    assert out.splitlines() == [f"line {i}" for i in range(1000)], err
    assert [line for line in err.splitlines() if line.startswith("line ")] == (out.splitlines() if both else [])
    assert process.returncode == 0


def test_a_forked_child_is_recorded_and_ends_nothing(script: Script) -> None:
    done = script(
        f"""{BEGIN}
child = os.fork()
if child == 0:
    os.write(1, b"of a fork\\n")
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print("of the parent")
run.finish()
"""
    )
    assert done.stdout == "of a fork\nof the parent\n", done.stderr
    assert lines_of() == ["of a fork", "of the parent"]


def test_one_place_for_both_keeps_the_order(tmp_path: Path) -> None:
    source = f"{BEGIN}\nfor i in range(1000): os.write(1 + i % 2, b'%d\\n' % i)\n"
    done = subprocess.run(
        command(tmp_path, source), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(), check=True
    )
    # Of a finish() that did not come to its end in its time on a slow machine our line is there, too.
    printed = [line for line in done.stdout.splitlines() if not line.startswith(b"tracker: ")]
    assert printed == [b"%d" % i for i in range(1000)]


def test_what_is_no_terminal_pipe_or_file_is_said_and_python_is_recorded(tmp_path: Path) -> None:
    source = f"{BEGIN}print('of Python', flush=True)\nos.write(1, b'of a descriptor')\n"
    done = subprocess.run(
        command(tmp_path, source),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        check=True,
    )
    assert "of stdout only what Python prints is recorded" in done.stderr
    assert lines_of("stdout") == ["of Python"]


def test_a_stopped_process_blocks_no_writer_and_what_finds_no_room_is_counted(script: Script) -> None:
    size = 3 * console_relay.OUTBOX_BYTES_MAX
    done = script(
        f"""{BEGIN}
import ctypes
program = "import os\\nfor i in range({size // 65536}): os.write(1, b'x' * 65536)"
child = subprocess.Popen([sys.executable, "-c", program])
ctypes.PyDLL(None).usleep(3_000_000)  # with the interpreter's lock
assert child.wait() == 0
end = time.monotonic() + {PATIENCE_S}
written = {size}
while run.status().console_cut_bytes < {size - 11_000_000} and time.monotonic() < end:
    written += os.write(1, b"x")  # what was cut is reported with the next bytes that find room
    time.sleep(0.1)
run.finish()
print(written, run.status().console_cut_bytes, file=sys.stderr)
"""
    )
    written, cut = map(int, done.stderr.split())
    assert len(done.stdout) == written
    assert size - 11_000_000 <= cut <= written


def test_output_that_is_not_read_before_the_run_ends_is_marked_as_missing(tmp_path: Path) -> None:
    with subprocess.Popen(
        command(tmp_path, f"{BEGIN}os.write(1, b'x' * 150_000)\nrun.finish()\nprint('ended', file=sys.stderr)\n"),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        assert b"ended" in program.stderr.readline()
        assert len(program.stdout.read()) == 150_000
    assert any("output after this line may be missing here" in line for line in lines_of())


def test_two_runs_are_both_recorded_and_the_last_one_puts_the_descriptors_back(script: Script) -> None:
    done = script(
        f"""{BEGIN}
second = tracker.init(id="second", console="fd", quiet=True)
os.write(1, b"for both\\n")
run.finish()
os.write(1, b"for one\\n")
second.finish()
os.write(1, b"for none\\n")
"""
    )
    assert done.stdout == "for both\nfor one\nfor none\n", done.stderr
    found = {run.id: [line.text for line in tracker.open_run(run.id).console()] for run in tracker.runs()}
    assert found.pop("second") == ["for both", "for one"]
    assert list(found.values()) == [["for both"]]


def test_the_bounds_are_those_that_the_documentation_names() -> None:
    # More than is recorded of a minute waits, so that what is left out would have been cut there too.
    assert min(console_relay.OUTBOX_BYTES_MAX, fd_capture.TAIL_BYTES_MAX) > 10_000_000
    assert fd_capture.DRAIN_MS_MAX <= 2_000


TWO_RUNS = """
import sys, tracker
first = tracker.init(id="first", console="fd", quiet=True)
print("before the second run")
second = tracker.init(id="second", console="fd", quiet=True)
print("of both runs")
second.finish()
print("after the second run")
first.finish()
"""


# Bug: where stdout is a file, what was printed before the second run was its own, too.
@pytest.mark.parametrize("target", ["file", "pipe"])
def test_a_second_run_gets_what_is_printed_while_it_lasts(script: Script, tmp_path: Path, target: str) -> None:
    if target == "pipe":
        script(TWO_RUNS)
    else:
        with (tmp_path / "out").open("w") as out:
            subprocess.run(
                command(tmp_path, TWO_RUNS), stdout=out, env=environment(), check=True, timeout=PATIENCE_S * 6
            )
    lines = {run: [line.text for line in tracker.open_run(run).console()] for run in ("first", "second")}
    assert lines["second"] == ["of both runs"]
    assert lines["first"] == ["before the second run", "of both runs", "after the second run"]
