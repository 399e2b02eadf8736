# SPDX-License-Identifier: MIT
"""promises.md: what tracker promises, made of the comments above the tests that would fail if a sentence were false.

    // Promise P1: <sentence>
    TEST(KillTest, EveryAcknowledgedPointIsThereExactlyOnce) {

The comment may go on over several lines, and a test may have several; in Python it begins with "# Promise P1: ".
docs/untested.md has the sentences that no test reaches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

TITLES = {
    1: "An accepted point survives the death of the process",
    2: "A step is data",
    3: "The store is the truth, a server a replica",
    4: "The training is never hurt",
    5: "Nothing is lost silently",
    6: "Values come back bit for bit",
    7: "A distributed job has one run",
    8: "A forked child is inert",
    9: "No helper, no network, no output",
    10: "Nothing is sampled",
    11: "A database file has one writer",
    12: "Names from outside are no paths, secrets are not stored",
}
COMMENT = re.compile(r"(?://|#) Promise P(\d+): (.*)")
TEST = re.compile(r"TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)|(?:async )?def (test_\w+)\(")


@dataclass(frozen=True)
class Promise:
    number: int
    sentence: str
    test: str  # "Suite.Name" in C++, the function in Python
    path: str


def promises_of(path: str, text: str) -> Iterator[Promise]:
    lines = text.splitlines()
    for index, line in enumerate(lines):
        begin = COMMENT.fullmatch(line)
        if begin is None:
            continue
        words = [begin[2]]
        for further in lines[index + 1 :]:
            if not re.match(r"(//|#) ", further) or COMMENT.fullmatch(further):
                break
            words.append(further.split(" ", 1)[1])
            if words[-1].endswith("."):
                break
        test = TEST.search("\n".join(lines[index + 1 : index + 41]))
        if test is None or int(begin[1]) not in TITLES:
            raise ValueError(f"{path}:{index + 1}: a promise is one of P1 to P12, above its test")
        name = test[3] or f"{test[1]}.{test[2]}"
        yield Promise(int(begin[1]), " ".join(words), name, path)


def collect(files: Mapping[str, str]) -> list[Promise]:
    tests = {path: text for path, text in files.items() if path.startswith("tests/") and path.endswith((".cc", ".py"))}
    return [promise for path, text in tests.items() for promise in promises_of(path, text)]


def page(files: Mapping[str, str]) -> str:
    out = ["# Promises and their tests\n", "Made by `make docs` of the comments above the tests."]
    promises = collect(files)
    for number, title in TITLES.items():
        out.append(f"\n## P{number}: {title}\n\n| Promise | Tested by |\n|---|---|")
        for each in promises:
            if each.number == number:
                sentence = each.sentence.replace("|", "\\|")
                out.append(f"| {sentence} | `{each.test}`, {each.path} |")
    return "\n".join(out) + "\n"
