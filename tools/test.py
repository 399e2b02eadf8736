# SPDX-License-Identifier: MIT
"""Runs the parts of the test suite and prints one tally: `N passed, N failed, N skipped`.

`make test` runs DEFAULT_PARTS, `make ci-full` ALL_PARTS (`all`); any parts can be named and run in that order. A part's
output is shown when something in it failed; all of it is in build/logs/. A command that fails without naming a
failed test counts as one failed test, so the tally can never be cleaner than the exit codes. No test runs twice.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "logs"
JOBS = os.environ.get("JOBS", str(min(8, os.cpu_count() or 2)))
CTEST_JOBS = str(2 * int(JOBS))  # many tests wait for a disk, a death or a second to pass
PART_TIMEOUT_S = 1500 if os.environ.get("TRACKER_SANITIZE_ALL") != "ON" else 5400  # all tests under ThreadSanitizer
TSAN_REPORTS_SHOWN = 3
SHOWN_LINES_MAX = 300
FAILURE_LINES_MAX = 60
LAST_LINES, LAST_CHARACTERS = 4, 400
PROGRESS_PERIOD_S = 5
PYTHON_UNDER_ASAN = ("arrow", "chart", "config_summary", "keys", "limits", "reading", "tail", "types", "values")
# What its threads do: the drain beside calls, readers of a live run, the queues of media, devices and artifacts.
PYTHON_UNDER_TSAN = ("artifacts", "device_values", "lifecycle", "media_queue", "tail")
PYTHON_UNDER_TSAN_ALL = ("config_summary", "daemon_threads", "values")  # two minutes more


@dataclass
class Tally:
    """Counts of tests and the names that a reader wants to see."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)
    skips: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures
        self.skips += other.skips

    def fail(self, name: str) -> None:
        self.failed += 1
        self.failures.append(name)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def read_junit(path: Path) -> Tally:
    """Counts the cases of a JUnit file as ctest and pytest write it; a missing or torn file counts nothing."""
    tally = Tally()
    try:
        cases = list(ElementTree.parse(path).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return tally
    for case in cases:
        group, name = case.get("classname", ""), case.get("name", "")
        if group and group != name:  # ctest gives the name twice
            name = f"{group}::{name}"
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            tally.fail(name)
        elif skip is not None:
            tally.skipped += 1
            tally.skips.append(f"{name}: {skip.get('message', '')}")
        else:
            tally.passed += 1
    return tally


def show_failures(report: Path) -> bool:
    """Prints what the failed cases of a JUnit file said; False where it names none."""
    try:
        cases = list(ElementTree.parse(report).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return False
    shown = False
    for case in cases:
        fault = case.find("failure") if case.find("failure") is not None else case.find("error")
        if fault is None:
            continue
        lines = "\n".join(filter(None, (fault.text, case.findtext("system-out")))).splitlines()
        print(f"---- {case.get('name')}\n" + "\n".join(lines[-FAILURE_LINES_MAX:]), flush=True)
        shown = True
    return shown


def show_tail(log: Path) -> None:
    lines = log.read_text(errors="replace").splitlines()
    if len(lines) > SHOWN_LINES_MAX:
        print(f"[... {len(lines) - SHOWN_LINES_MAX} lines more in {log.relative_to(ROOT)}]")
    print("\n".join(lines[-SHOWN_LINES_MAX:]), flush=True)


def run(name: str, command: Sequence[str], env: dict[str, str] | None = None, report: Path | None = None) -> bool:
    """Runs one command into build/logs/<name>.log; on failure shows its report's failed cases or its end."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{name}.log"
    with log.open("wb") as out:
        out.write(f"$ {' '.join(command)}\n".encode())
        out.flush()
        try:
            code = subprocess.run(
                command,
                cwd=ROOT,
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=PART_TIMEOUT_S,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            out.write(f"\nstopped after {PART_TIMEOUT_S} s\n".encode())
            code = 124
        except OSError as error:
            out.write(f"\n{error}\n".encode())
            code = 127
    if code != 0 and not (report is not None and show_failures(report)):
        show_tail(log)
    return code == 0


def show_steps(log: Path, done: threading.Event) -> None:
    """Prints ninja's count of steps, as its log has it, every few seconds until `done`."""
    shown = ""
    while not done.wait(PROGRESS_PERIOD_S):
        steps = re.findall(r"^\[\d+/\d+\]", log.read_text(errors="replace"), re.MULTILINE) if log.exists() else []
        if steps and steps[-1] != shown:
            shown = steps[-1]
            print(f"building {shown}", flush=True)


def joining() -> str:
    """TRACKER_JOIN (cmake/TrackerJoin.cmake) where nobody has set it: as build/ has it; a first build joins, for it is
    done in half the time."""
    cache = ROOT / "build" / "CMakeCache.txt"
    return "ON" if not cache.exists() or "TRACKER_JOIN:STRING=ON" in cache.read_text() else ""


def build(preset: str, *targets: str) -> Tally:
    """Configures and builds one preset, all of it or some targets. Success counts nothing: a build is no test."""
    tally = Tally()
    chosen = ["--target", *targets] if targets else []
    steps = (
        ("configure", ["cmake", "--preset", preset]),
        ("build", ["cmake", "--build", "--preset", preset, "-j", JOBS, *chosen]),
    )
    done = threading.Event()
    (LOGS / f"{preset}-build.log").unlink(missing_ok=True)
    threading.Thread(target=show_steps, args=(LOGS / f"{preset}-build.log", done), daemon=True).start()
    for step, command in steps:
        if not run(f"{preset}-{step}", command):
            tally.fail(f"{preset}: {step}")
            break
    done.set()
    return tally


def last_words(log: Path) -> str:
    """The last lines of a log in one, for a summary of which only the end may be kept."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return " | ".join(lines[-LAST_LINES:])[-LAST_CHARACTERS:]


def with_report(name: str, report: Path, command: Sequence[str], env: dict[str, str] | None = None) -> Tally:
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    ok = run(name, command, env, report)
    tally = read_junit(report)
    if not ok and tally.failed == 0:
        tally.fail(
            f"{name}: the command failed without naming a test; its log ends: {last_words(LOGS / f'{name}.log')}"
        )
    return tally


def ctest(
    folder: str, name: str, label: str = "", prefix: Sequence[str] = (), env: dict[str, str] | None = None
) -> Tally:
    report = LOGS / f"{name}.xml"
    command = [*prefix, "ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error"]
    command += ["--output-junit", str(report)]
    if label:
        command += ["-L", f"^{label}$"]
    return with_report(name, report, [*command, "-j", CTEST_JOBS], env)


def pytest(
    name: str,
    *paths: str,
    jobs: str = "0",
    build: str = "build",
    env: dict[str, str] | None = None,
    prefix: Sequence[str] = (),
) -> Tally:
    report = LOGS / f"{name}.xml"
    command = [*prefix, sys.executable, "-m", "pytest", *paths, "--dist", "loadfile", "-n", jobs]
    command += [f"--junitxml={report}"]
    return with_report(name, report, command, {"PYTHONPATH": str(ROOT / build / "python"), **(env or {})})


def console() -> Tally:
    """Types, lint, format and unit tests of console/; then its pages in Chromium."""
    report = LOGS / "console.xml"
    tally = with_report("console", report, [sys.executable, "tools/console.py", "test", "--junit", str(report)])
    tally.add(pytest("pages", "tests/console"))
    return tally


def torch() -> Tally:
    report = LOGS / "torch.xml"
    return with_report("torch", report, ["tools/test-torch.sh", f"--junitxml={report}"])


def real_tools() -> Tally:
    report = LOGS / "real_tools.xml"
    return with_report("real_tools", report, ["tools/test-import.sh", f"--junitxml={report}"])


def sanitized(preset: str) -> Tally:
    """Builds a sanitizer preset and runs its C++ tests, and those of Python that suit it: under ThreadSanitizer those
    whose calls meet our threads, under AddressSanitizer where TRACKER_SANITIZE_ALL is ON (tests/CMakeLists.txt)."""
    everything = os.environ.get("TRACKER_SANITIZE_ALL") == "ON"
    python = everything or preset == "tsan"
    tally = build(preset, "tracker_tests", *(("_core", "tracker_python_package") if python else ()))
    if tally.failed:
        return tally
    # The sanitizers of gcc 12 cannot place their shadow memory where the kernel randomises 32 bits of mmap addresses.
    fixed_layout = ["setarch", "-R"]
    allowed = (
        shutil.which("setarch")
        and subprocess.run([*fixed_layout, "true"], capture_output=True, check=False).returncode == 0
    )
    env = {
        "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "TSAN_OPTIONS": f"second_deadlock_stack=1:halt_on_error=1:suppressions={ROOT}/tests/support/tsan.supp",
    }
    tally.add(ctest(f"build-{preset}", preset, prefix=fixed_layout if allowed else (), env=env))
    if python:
        tally.add(python_under_asan() if preset == "asan" else python_under_tsan(fixed_layout if allowed else ()))
    return tally


def python_tests(names: Sequence[str]) -> list[str]:
    """The files of tests/python with these names, whatever their rooms are."""
    rooms = ROOT / "tests" / "python"
    return [str(path.relative_to(ROOT)) for name in names for path in rooms.glob(f"*/test_{name}.py")]


def python_under_asan() -> Tally:
    """The quick tests of the bindings with the module of build-asan. The interpreter is none of ours: its runtime comes
    by LD_PRELOAD, and what it leaves behind is no leak of ours."""
    runtimes = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=False).stdout.strip()
        for name in ("libasan.so", "libubsan.so", "libstdc++.so.6")
    ]
    env = {
        "LD_PRELOAD": " ".join(runtimes),
        "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=1:strict_string_checks=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
    }
    paths = python_tests(PYTHON_UNDER_ASAN)
    return pytest("python-asan", *paths, jobs=JOBS, build="build-asan", env=env)


def python_under_tsan(prefix: Sequence[str]) -> Tally:
    """Tests whose calls meet our threads, with the module of build-tsan. Python's own lock is a pthread mutex, which
    the runtime sees, so that what two threads do in turn under it is no race. A process with a report ends with 66, by
    which the tests' scripts fail, and pytest itself."""
    runtimes = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=False).stdout.strip()
        for name in ("libtsan.so", "libstdc++.so.6")
    ]
    reports = LOGS / "python-tsan-report"  # pytest would keep what a passing test wrote to stderr for itself
    for old in LOGS.glob(f"{reports.name}.*"):
        old.unlink()
    options = f"second_deadlock_stack=1:exitcode=66:suppressions={ROOT}/tests/support/tsan.supp:log_path={reports}"
    env = {"TSAN_OPTIONS": options, "PYTHONMALLOC": "malloc"}
    # Behind the prefix: setarch itself runs in a layout that is not fixed yet.
    prefix = [*prefix, "env", f"LD_PRELOAD={' '.join(runtimes)}"]
    more = PYTHON_UNDER_TSAN_ALL if os.environ.get("TRACKER_SANITIZE_ALL") == "ON" else ()
    paths = python_tests((*PYTHON_UNDER_TSAN, *more))
    tally = pytest("python-tsan", *paths, build="build-tsan", env=env, prefix=prefix)
    for report in sorted(LOGS.glob(f"{reports.name}.*"))[:TSAN_REPORTS_SHOWN]:
        show_tail(report)
    return tally


def fuzz() -> Tally:
    """Runs each fuzzer for FUZZ_SECONDS from the kept inputs; what crashes is left in build-fuzz/crashes/."""
    corpora = sorted((ROOT / "tests" / "fuzz" / "corpus").iterdir())
    tally = build("fuzz", *(f"fuzz_{kept.name}" for kept in corpora))
    if tally.failed:
        return tally
    seconds = os.environ.get("FUZZ_SECONDS", "60")
    (ROOT / "build-fuzz" / "crashes").mkdir(exist_ok=True)

    def found_nothing(kept: Path) -> bool:
        grown = ROOT / "build-fuzz" / "corpus" / kept.name
        grown.mkdir(parents=True, exist_ok=True)
        limits = [f"-max_total_time={seconds}", "-max_len=65536", "-rss_limit_mb=2048", "-timeout=10"]
        crashes = f"-artifact_prefix={ROOT}/build-fuzz/crashes/{kept.name}-"
        program = str(ROOT / "build-fuzz" / "fuzz" / f"fuzz_{kept.name}")
        return run(f"fuzz-{kept.name}", [program, *limits, crashes, str(grown), str(kept)])

    with ThreadPoolExecutor(int(JOBS)) as pool:
        for kept, passed in zip(corpora, pool.map(found_nothing, corpora), strict=True):
            if passed:
                tally.passed += 1
            else:
                tally.fail(f"fuzz: {kept.name}")
    return tally


def preset_builds(preset: str) -> Tally:
    """A build whose warnings are the test: clang's thread-safety analysis, clang-tidy."""
    tally = build(preset)
    if not tally.failed:
        tally.passed += 1
    return tally


PACKAGE = ("_core", "tracker_python_package", "tracker_program")
EXAMPLES = ("quickstart", "cpp_trainer", "c_program", "upload_c", "upload_cpp")
TESTED = ("tracker_tests", "tracker_shared", "gate_calls", *EXAMPLES)
PARTS: dict[str, Callable[[], Tally]] = {
    "build": lambda: build("dev", *PACKAGE, *TESTED),
    "package": lambda: build("dev", *PACKAGE),
    "everything": lambda: build("dev"),
    "cpp": lambda: ctest("build", "cpp"),
    "unit": lambda: ctest("build", "unit", "unit"),
    "integration": lambda: ctest("build", "integration", "integration"),
    "fault": lambda: ctest("build", "fault", "fault"),
    "python": lambda: pytest("python", "tests/python", jobs=JOBS),
    "console": console,
    "tools": lambda: pytest("tools", "tests/tools"),
    "install": lambda: pytest("install", "tests/install"),
    "examples": lambda: pytest("examples", "tests/examples"),
    "gates": lambda: pytest("gates", "tests/gates", jobs=JOBS),
    "asan": lambda: sanitized("asan"),
    "tsan": lambda: sanitized("tsan"),
    "torch": torch,
    "real_tools": real_tools,
    "clang": lambda: preset_builds("clang"),
    "clang-tidy": lambda: preset_builds("tidy"),
    "fuzz": fuzz,
}
DEFAULT_PARTS = ("build", "cpp", "python", "console", "tools", "examples", "gates", "install", "asan", "tsan")
# What no other run covers comes first: its failure shows in minutes, not after two hours.
FULL_PARTS = ("clang", "clang-tidy", "real_tools", "everything", "fuzz", "torch")
ALL_PARTS = (DEFAULT_PARTS[0], *FULL_PARTS, *DEFAULT_PARTS[1:])


def cpu_s() -> float:
    """CPU time of all commands that have ended, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def reference_s() -> float:
    """CPU of a reference compile, the unit in which figures of two machines can be compared."""
    return float(subprocess.check_output([sys.executable, ROOT / "benchmarks" / "reference_compile.py"]))


def main(names: Sequence[str]) -> int:
    if list(names) == ["all"]:
        names = ALL_PARTS
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"unknown: {' '.join(unknown)}; the parts are {' '.join(PARTS)}", file=sys.stderr)
        return 2
    os.environ.setdefault("TRACKER_JOIN", joining())
    for each in (signal.SIGINT, signal.SIGQUIT):  # a shell without job control ignores them for what it starts with "&"
        if signal.getsignal(each) == signal.SIG_IGN:
            signal.signal(each, signal.SIG_DFL)  # the tests send them
    # Thousands of short processes import the package: 30 ms each from its sources, 7 from bytecode.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(ROOT / "build" / "pycache"))
    started = time.monotonic()
    reference = reference_s()
    total = Tally()
    for name in names or DEFAULT_PARTS:
        part_started, cpu_before = time.monotonic(), cpu_s()
        tally = PARTS[name]()
        wall = time.monotonic() - part_started
        cpu = cpu_s() - cpu_before
        print(f"{name:<12} {tally}  ({wall:.0f} s, {cpu:.0f} s of CPU = {cpu / reference:.0f} ×)", flush=True)
        total.add(tally)
        if name == "build" and tally.failed:
            break  # nothing after it would say more
    for skip in total.skips:
        print(f"skipped: {skip}")
    for failure in total.failures:
        print(f"FAILED: {failure}")
    cpu = cpu_s()
    print(f"total {time.monotonic() - started:.0f} s, {cpu:.0f} s of CPU = {cpu / reference:.0f} ×")
    print(f"1 × is a reference compile (benchmarks/reference_compile.py), {reference:.1f} s here")
    print(total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
