# SPDX-License-Identifier: MIT
"""c.md and cpp.md: the reference of include/tracker/, each declaration after the comment above it.

A reader of our own for our own style, not of C++: a comment belongs to what follows it without a blank line, a body in
braces is left out, a struct and an enum are shown as they are, of a class the public part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

C_HEADERS = ("include/tracker/tracker.h",)
CPP_HEADERS = tuple(f"include/tracker/{name}.hpp" for name in ("tracker", "artifact", "value", "error"))
TRANSPARENT = re.compile(
    r'\s*(?:inline )?namespace\b[^;{]*\{|\s*extern "C" \{'
)  # their contents are shown, they are not
HIDDEN = re.compile(
    r"static_assert|friend |namespace internal|class \w+;|template class|\}|.*= delete;|inline [\w:]+ \w+::\w+\("
)
COMMENT = re.compile(r"\s*(?:/\*.*?\*/|//[^\n]*)[ \t]*(?=\n)", re.S)
NAME = re.compile(r"(~?\w+|operator ?\W+)\s*\(")


@dataclass(frozen=True)
class Item:
    comment: str
    code: str


def words(comment: str) -> str:
    """A comment without its marks."""
    lines = [re.sub(r"^\s*(?:///?<?|/\*\*?|\*/|\*)? ?", "", line) for line in comment.splitlines()]
    return "\n".join(line.removesuffix("*/").rstrip() for line in lines if "NOLINT" not in line).strip("\n")


def markdown(comment: str) -> str:
    return re.sub(r"([<*])", r"\\\1", words(comment))


def end_of_statement(text: str, begin: int) -> tuple[int, int]:
    """Where the statement at `begin` ends, and where its body in braces begins, or its end too if it has none."""
    depth, body, at = 0, -1, begin
    while at < len(text):
        if skipped := re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'', re.S).match(text, at):
            at = skipped.end()
            continue
        if text[at] in "({":
            if text[at] == "{" and depth == 0 and body < 0:
                body = at
            depth += 1
        elif text[at] in ")}":
            depth -= 1
            if depth == 0 and text[at] == "}" and not re.match(r"\}\s*(?:\w+\s*)?[;=,]|\}\s*\{", text[at:]):
                return at + 1, body
        elif text[at] == ";" and depth == 0:
            return at + 1, body if body >= 0 else at
        at += 1
    return len(text), len(text)


def items(text: str) -> Iterator[Item]:
    at, comment = 0, ""
    while at < len(text):
        if blank := re.compile(r"[ \t]*\n").match(text, at):
            at, comment = blank.end(), ""
        elif found := COMMENT.match(text, at):
            at, comment = found.end() + 1, comment + found[0].strip("\n") + "\n"
        elif found := re.compile(r"[ \t]*#(?:[^\n]*\\\n)*[^\n]*\n?").match(text, at):
            at = found.end()
            if "#define" in found[0] and comment:
                yield Item(comment, found[0].strip())
            comment = ""
        elif (found := TRANSPARENT.match(text, at)) or (found := re.compile(r"\s*\}[^\n]*\n").match(text, at)):
            at, comment = found.end(), ""
        else:
            end, body = end_of_statement(text, at)
            code = text[at:end].strip("\n")
            if beside := re.compile(r"[ \t]*(?:/\*[^\n]*\*/|//[^\n]*)").match(text, end):
                comment, end = comment + beside[0].strip() + "\n", beside.end()
            if code.strip():
                yield Item(comment, code if keeps_body(code) else text[at:body].strip("\n").rstrip(" ;") + ";")
            at, comment = end, ""


def keeps_body(code: str) -> bool:
    return re.match(r"\s*(?:typedef |template <.*?>\s*)?(?:struct|enum|class|union)\b", code, re.S) is not None


def public_part(code: str) -> str:
    """What the class shows: from `public:` to `private:`, several times."""
    inside = code[code.index("{") + 1 : code.rindex("}")]
    parts = re.split(r"^ *(public|private|protected):\n?", inside, flags=re.M)
    return "".join(part for access, part in zip(parts[1::2], parts[2::2], strict=True) if access == "public")


def name_of(code: str) -> str:
    found = (
        re.search(r"\(\*(\w+)\)\(", code)
        or re.match(r"\s*(?:typedef )?(?:struct|enum|class|union)(?: class)? (\w+)", code)
        or re.match(r"#define (\w+)", code)
    )
    found = found or NAME.search(re.sub(r"template <.*?>\n|explicit |noexcept\([^)]*\)", "", code, flags=re.S))
    found = found or re.search(r"(\w+)\s*(?:=[^=]*|\{.*\})?;", code, re.S)
    return found[1].strip() if found else code.strip()


def entry(heading: str, item: Item, language: str) -> str:
    code = re.sub(r"\)( noexcept)?\s*: \w+[({].*;$", r")\1;", item.code, flags=re.S)
    text = markdown(item.comment)
    indent = re.match(r"[ \t]*", code)
    shown = re.sub(rf"^{indent[0] if indent else ''}", "", code, flags=re.M)
    return f"{heading}\n\n" + (f"{text}\n\n" if text else "") + f"```{language}\n{shown}\n```\n"


def reference(text: str, language: str) -> Iterator[str]:
    for item in items(text):
        if HIDDEN.match(item.code.strip()):
            continue
        name = name_of(item.code)
        if re.match(r"class \w+[^;{]*\{", item.code):
            yield f"### class {name}\n\n{markdown(item.comment)}\n"
            for member in items(public_part(item.code)):
                if not HIDDEN.match(member.code.strip()):
                    yield entry(f"#### {name}::{name_of(member.code)}", member, language)
        else:
            yield entry(f"### {name}", item, language)


def page(files: Mapping[str, str], headers: tuple[str, ...], title: str, language: str) -> str:
    out = [f"# {title}\n\nMade by `make docs` of the comments in include/tracker/.\n"]
    for path in headers:
        head = re.match(r"(?:(?://|/\*| \*)[^\n]*\n)+", files[path])
        about = words(head[0].split("\n", 1)[1]) if head else ""
        out.append(f"## {path.rsplit('/', 1)[1]}\n\n```text\n{about}\n```\n")
        out += reference(files[path][head.end() if head else 0 :], language)
    return "\n".join(out)


def c_page(files: Mapping[str, str]) -> str:
    return page(files, C_HEADERS, "C reference", "c")


def cpp_page(files: Mapping[str, str]) -> str:
    return page(files, CPP_HEADERS, "C++ reference", "cpp")
