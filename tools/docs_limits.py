# SPDX-License-Identifier: MIT
"""limits.md: what the library bounds, made of the comments above the constants of the code.

    // Limit: <what is bounded>. Beyond it: <what happens, and where it is counted>.
    constexpr size_t kKeyBytesMax = 1024;

The comment may go on over several lines; in Python it begins with "# Limit: ", in the C header with "/* Limit: ". The
value is read from the declaration. A text that speaks of bytes has its value in KiB, MiB or GiB.
"""

from __future__ import annotations

import ast
import itertools
import operator
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

FOLDERS = ("src/", "include/", "bindings/", "python/tracker/")
SUFFIXES = (".h", ".hpp", ".cc", ".cpp", ".py")
UNITS = {
    "nanoseconds": "ns",
    "microseconds": "µs",
    "milliseconds": "ms",
    "seconds": "s",
    "minutes": "min",
    "hours": "h",
}

OPERATORS = {ast.Mult: operator.mul, ast.LShift: operator.lshift, ast.Add: operator.add, ast.Sub: operator.sub}
CHRONO = [*UNITS][:4]

COMMENT = re.compile(
    r"^[ \t]*(?://|#|/\*) Limit: (?P<text>.*(?:\n[ \t]*(?://|#| \*) .*)*)\n(?P<code>(?:.|\n)*?)(?=\n)", re.M
)
DECLARATION = re.compile(
    r"(?:constexpr|const)\s+(?P<type>[\w:]+)\s+(?P<name>\w+)\s*(?:=\s*(?P<a>[^;]+)|\{(?P<b>[^}]*)\});"
    r"|std::chrono::(?P<unit>\w+) (?P<field>\w+)\{(?P<c>[^}]*)\};"
    r"|#define (?P<macro>\w+) (?P<d>\S+)"
    r"|(?P<python>\w+)(?:: \w+)? = (?P<e>.+)"
)


@dataclass(frozen=True)
class Limit:
    what: str
    beyond: str  # "" where nothing needs to be said
    name: str
    value: str
    path: str


def evaluate(expression: str) -> int | None:
    """A C++ integer expression of literals; None where it is anything else."""
    plain = re.sub(r"(?<=\d)'(?=\d)", "", expression)
    plain = re.sub(r"(?<=\d)[uUlL]+\b", "", plain)

    def value(node: ast.AST) -> int:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return int(OPERATORS[type(node.op)](value(node.left), value(node.right)))
        raise ValueError(expression)

    try:
        return value(ast.parse(plain.strip(), mode="eval").body)
    except (SyntaxError, ValueError):
        return None


def with_unit(number: int, chrono: str, what: str) -> str:
    """1,024 for a count, 64 KiB for bytes, 100 ms for a duration."""
    for unit, coarser in itertools.pairwise(CHRONO):
        if chrono == unit and number % 1000 == 0 and number:
            number, chrono = number // 1000, coarser
    if chrono in UNITS:
        return f"{number:,} {UNITS[chrono]}"
    if re.search(r"\bbytes\b", what) and number % 1024 == 0 and number:
        for unit in ("KiB", "MiB", "GiB"):
            number //= 1024
            if number % 1024:
                return f"{number:,} {unit}"
    return f"{number:,}"


def value_of(found: re.Match[str], what: str) -> str:
    expression = next(found[group] for group in "abcde" if found[group])
    chrono = found["unit"] or (found["type"] or "").rpartition("::")[2]
    number = evaluate(re.sub(r"\b(?:u?int64_t|size_t)\{(\w+)\}", r"\1", expression.split("  #")[0]))
    return f"`{' '.join(expression.split())}`" if number is None else with_unit(number, chrono, what)


def limits_of(path: str, text: str) -> Iterator[Limit]:
    for comment in COMMENT.finditer(text):
        words = re.sub(r"\n\s*(?://|#|\*) ", " ", comment["text"]).removesuffix("*/").strip()
        what, _, beyond = words.rstrip(".").partition(". Beyond it: ")
        found = DECLARATION.search(text, comment.end("text"))
        if found is None:
            raise ValueError(f"{path}: no constant follows the comment: Limit: {words}")
        name = found["name"] or found["field"] or found["macro"] or found["python"]
        yield Limit(what, beyond, name, value_of(found, what), path)


def collect(files: Mapping[str, str]) -> list[Limit]:
    code = {path: text for path, text in files.items() if path.startswith(FOLDERS) and path.endswith(SUFFIXES)}
    return [limit for path, text in code.items() for limit in limits_of(path, text)]


def room(path: str) -> str:
    """The part of the code that a limit is of: a folder of src/, or the top folder."""
    parts = path.split("/")
    return (
        parts[1] if parts[0] == "src" else "/".join(parts[: 3 if path.startswith("python/") and len(parts) > 3 else 1])
    )


def page(files: Mapping[str, str]) -> str:
    out = ["# Limits\n", "Made by `make docs` of the comments in the code. Sizes are bytes, 1 KiB = 1,024."]
    last = ""
    for limit in sorted(collect(files), key=lambda each: room(each.path)):
        if room(limit.path) != last:
            last = room(limit.path)
            out.append(f"\n## {last}\n\n| What | Limit | Beyond it | In the code |\n|---|---|---|---|")
        beyond = limit.beyond or "–"
        cells = (limit.what, limit.value, beyond, f"`{limit.name}`, {limit.path}")
        out.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(out) + "\n"
