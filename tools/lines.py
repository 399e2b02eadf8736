# SPDX-License-Identifier: MIT
"""Prints the lines and files of each room: of the tracked files, or of a commit (`tools/lines.py COMMIT`)."""

from __future__ import annotations

import collections
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = (".c", ".cc", ".cpp", ".h", ".hpp", ".py", ".pyi", ".sh")


def git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout


def room_of(path: str) -> str:
    parts = Path(path).parts[:-1]
    return "/".join(parts[:3] if parts[:2] in (("src", "storage"), ("tests", "unit")) else parts[:2])


def main(commit: str) -> None:
    lines: collections.Counter[str] = collections.Counter()
    files: collections.Counter[str] = collections.Counter()
    for path in git("ls-tree", "-r", "--name-only", commit).decode().splitlines():
        if path.endswith(SUFFIXES) and "/" in path:
            room = room_of(path)
            lines[room] += git("show", f"{commit}:{path}").count(b"\n")
            files[room] += 1
    for room in sorted(lines):
        print(f"{room:<24} {files[room]:>4} files {lines[room]:>7} lines")
    for top in ("src", "tests"):
        print(
            f"{top + ' together':<24} {'':>10} {sum(n for room, n in lines.items() if room.startswith(top)):>7} lines"
        )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "HEAD")
