# SPDX-License-Identifier: MIT
"""Counts words and phrases that make comments and documents hard to read; their counts may only fall.

tools/tidy-words.toml has the allowed count of each habit. tools/tidy.py fails if a count differs from the file: a
higher one is a new use, a lower one must be written into the file. `python tools/tidy_words.py` does that (it never
raises a count), and `python tools/tidy_words.py HABIT` prints each use.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

ALLOWED = "tools/tidy-words.toml"
FOLDERS = ("src/", "include/", "bindings/", "python/tracker/", "console/src/", "docs/", "tests/")
NOT_COUNTED = (
    "python/tracker/server/console/",  # built from console/src
    "tests/compat/",
    "tests/fuzz/corpus/",
    "tests/tools/test_tidy_words.py",
)
SUFFIXES = (".c", ".cc", ".cpp", ".h", ".hpp", ".py", ".pyi", ".ts", ".css", ".html", ".md", ".sh", ".txt")
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")


def words(pattern: str) -> re.Pattern[str]:
    """Whole words; a word within an identifier counts too: told_once, but not toldX."""
    return re.compile(rf"(?<![A-Za-z])(?:{pattern})(?![A-Za-z])", re.I)


# True uses of "behind": a place, progress, and the key logged_behind of a format.
BEHIND = (
    r"(?<!logged_)(?<!left )(?<!leave )(?<!leaves )(?<!lags )(?<!falls )"
    r"behind(?! (?:an?|the|its) (?:reverse )?(?:proxy|firewall|lock))"
)
HABITS: dict[str, re.Pattern[str]] = {
    "behind": words(BEHIND),  # after, later than, beyond, newer than
    "anew": words("anew"),  # again
    "tell": words("tells?|told"),  # report, record
    "stand": words("stands?(?! for)|stood"),  # is
    "put back": words("puts? back|set(?:s|ting)? (?:it |them |this )?aside|putting back"),  # restore, rename
    "mend": words("mend(?:s|ed|ing)?"),  # fix
    "for want of": words("for want of"),  # without
    "for dead": words("for dead"),  # considered dead
    "settle": words("settle[sd]?"),  # confirm
    "look": words("look(?:s|ed|ing)? (?:at|for|into)|an?(?:other| second| first)? look(?!-up)"),  # read, check
    "begin": words("(?:the|its|a|each|their|whose) begin"),  # start
    "nobody": words("nobody(?:'?s)?|no one"),  # name the process, caller, reader
    "whoever": words("whoever|whosoever"),
    "who": re.compile(r"(?:[.;] |// |# |\* )Who (?!.*\?)"),  # a clause without an actor as the subject
}


def counted(path: str) -> bool:
    if path in DOCUMENTS:
        return True
    return path.startswith(FOLDERS) and path.endswith(SUFFIXES) and not path.startswith(NOT_COUNTED)


def uses(files: Mapping[str, str], habit: str) -> Iterator[tuple[str, int, str]]:
    for path, text in files.items():
        if counted(path):
            for number, line in enumerate(text.splitlines(), start=1):
                for _ in HABITS[habit].finditer(line):
                    yield path, number, line.strip()


def counts(files: Mapping[str, str]) -> dict[str, int]:
    text = "\n".join(text for path, text in files.items() if counted(path))
    return {habit: len(pattern.findall(text)) for habit, pattern in HABITS.items()}


def words_only_fall(files: Mapping[str, str]) -> Iterator[str]:
    allowed = tomllib.loads(files.get(ALLOWED, ""))
    for habit, count in counts(files).items():
        most = allowed.get(habit, 0)
        if count > most:
            yield f'{ALLOWED}:1: {count} uses of "{habit}", at most {most}; tools/tidy_words.py "{habit}" lists them'
        elif count < most:
            yield f'{ALLOWED}:1: {count} uses of "{habit}", fewer than {most}: run tools/tidy_words.py to lower it'


def lowered(files: Mapping[str, str]) -> str:
    """The new text of tools/tidy-words.toml."""
    allowed = tomllib.loads(files.get(ALLOWED, ""))
    lines = files[ALLOWED].splitlines()
    head = [line for line in lines if line.startswith("#")]
    rows = [f'"{habit}" = {min(count, allowed.get(habit, count))}' for habit, count in counts(files).items()]
    return "\n".join([*head, *rows, ""])


def main() -> int:
    import tidy  # which imports this module

    files = tidy.load().files
    for habit in sys.argv[1:]:
        for path, number, line in uses(files, habit):
            print(f"{path}:{number}: {line}")
    if not sys.argv[1:]:
        (Path(__file__).resolve().parent.parent / ALLOWED).write_text(lowered(files))
    return 0


if __name__ == "__main__":
    sys.exit(main())
