# SPDX-License-Identifier: MIT
"""Where the functions of a C++ source begin and end, by its braces: no parser, but comments and strings are known.

A brace opens a function when what stands before it, back to the last `;`, `{` or `}`, has a parenthesis and is not the
head of a namespace or a type. What lies inside a function, lambdas included, belongs to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_SKIPPED = re.compile(
    r"""
      //[^\n]*                                   # comments
    | /\*.*?\*/
    | R"(?P<raw>[^()\s\\"]*)\(.*?\)(?P=raw)"     # raw strings
    | "(?:\\.|[^"\\\n])*"                        # strings
    | (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'        # characters, but not the ' of 1'000
    | ^[ \t]*\#(?:\\\n|[^\n])*                   # the preprocessor, with continued lines
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_TYPE_OR_NAMESPACE = re.compile(r"\b(class|struct|union|enum|namespace|concept)\b")


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def _without_template(head: str) -> str:
    """`head` without its leading template<...>, whose parameters may say `class`."""
    head = head.strip()
    while head.startswith("template"):
        depth = 0
        for at, char in enumerate(head):
            depth += (char == "<") - (char == ">")
            if char == ">" and depth == 0:
                head = head[at + 1 :].strip()
                break
        else:
            return head
    return head


def _function_name(head: str) -> str | None:
    head = _without_template(head)
    before = head.split("(", 1)[0]
    if "(" not in head or _TYPE_OR_NAMESPACE.search(before):
        return None
    words = re.findall(r"[~\w:]+", before)
    return words[-1] if words else "lambda"


def functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Yields (name, first line, lines) of each outermost function, macros left out."""
    code = _SKIPPED.sub(_blank, text)
    depth = 0
    head_at = 0
    inside: tuple[str, int, int] | None = None  # name, first line, depth outside of it
    for match in re.finditer(r"[{};]", code):
        char, at = match.group(), match.start()
        if char == "{":
            if inside is None:
                head = code[head_at:at]
                name = _function_name(head)
                if name is not None:
                    first = head_at + len(head) - len(head.lstrip())
                    inside = (name, code.count("\n", 0, first) + 1, depth)
            depth += 1
        elif char == "}":
            depth -= 1
            if inside is not None and depth == inside[2]:
                yield inside[0], inside[1], code.count("\n", 0, at) + 2 - inside[1]
                inside = None
        head_at = at + 1
