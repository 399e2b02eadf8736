# SPDX-License-Identifier: MIT
"""The meta.yaml of MLflow's file store: a flat mapping, as PyYAML's dumpers write one. PyYAML is not needed; what they
do not write (anchors, tags, flow collections, block scalars, comments after a value) is refused, never guessed at."""

from __future__ import annotations

import re

LINE_ENDS = "\r\n\x85\u2028\u2029"
LINE_END = rf"(?:\r\n|[{LINE_ENDS}])"
# What YAML does not allow in a text as it is.
NO_TEXT = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
EMPTY = re.compile(rf"[ \t]*(?:#[^{LINE_ENDS}]*)?(?:{LINE_END}|\Z)")  # lines
KEY = re.compile(r"([A-Za-z_]\w*):(?: +|(?=[\r\n]|\Z))", re.ASCII)
END = re.compile(rf"[ \t]*(?:{LINE_END}|\Z)")  # after a value
NOTHING = re.compile(rf"(?:\[\]|\{{\}})?[ \t]*(?:{LINE_END}|\Z)")
NESTED = re.compile(
    rf"(?:[ ]*{LINE_END}|(?: +|-)[^{LINE_ENDS}]+(?:{LINE_END}|\Z))*"
)  # lines of a value that is none here
SINGLE = re.compile(r"'((?:[^']|'')*)'")
DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
# One line, and further ones that are indented.
PLAIN = re.compile(
    rf"[^{LINE_ENDS}]+(?:{LINE_END}(?:[ ]*{LINE_END})* +[^ {LINE_ENDS}][^{LINE_ENDS}]*)*(?:{LINE_END}|\Z)"
)
NO_PLAIN = re.compile(r"[\[\]{},#&*!|>'\"%@`]|[-?:](?:[ \t]|\Z)")  # how one cannot begin
NOT_IN_PLAIN = re.compile(r":(?:[ \n\u2028\u2029]|\Z)|[ \n\u2028\u2029]#|\t")
NULLS = {"null", "Null", "NULL", "~"}
# The second part: blanks within a line, taken at once, so that many of them cost no square of their time.
FOLD = rf"[ \t]*(?P<first>{LINE_END})(?P<more>(?:[ \t]*{LINE_END})*)[ \t]*|[ \t]+"
FOLDED = re.compile(FOLD)
ESCAPED = re.compile(
    rf"\\(?:x(?P<x>[0-9a-fA-F]{{2}})|u(?P<u>[0-9a-fA-F]{{4}})|U(?P<U>[0-9a-fA-F]{{8}})"
    rf"|{LINE_END}(?P<after>(?:[ \t]*{LINE_END})*)[ \t]*|(?P<one>.))|{FOLD}",
    re.DOTALL,
)
ESCAPES = {
    **dict(zip('0abtnvfre "\\/', '\0\a\b\t\n\v\f\r\x1b "\\/', strict=True)),
    "\t": "\t",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}


class MetaError(ValueError):
    """No such document."""


def read_meta(text: str) -> dict[str, str]:
    """The values that are texts, numbers and bools, as texts; not nulls, lists and mappings."""
    if found := NO_TEXT.search(text):
        raise MetaError(f"it holds the character U+{ord(found[0]):04X}")
    out: dict[str, str] = {}
    at = 0
    while at < len(text):
        if empty := EMPTY.match(text, at):
            at = empty.end()
            continue
        key = KEY.match(text, at)
        if key is None:
            raise MetaError(f"line {_line(text, at)} begins with no key")
        at = key.end()
        try:
            value, at = _value(text, at)
        except MetaError as error:
            raise MetaError(f"line {_line(text, key.start())}: {error}") from None
        if value is not None:
            out[key[1]] = value
        else:
            out.pop(key[1], None)
    return out


def _line(text: str, at: int) -> int:
    return len(re.findall(LINE_END, text[:at])) + 1


def _value(text: str, at: int) -> tuple[str | None, int]:
    """(the value, where the next line begins)"""
    if nothing := NOTHING.match(text, at):
        nested = NESTED.match(text, nothing.end()) if nothing.end() > at and text[at] not in "[{" else None
        return None, nested.end() if nested else nothing.end()
    if found := SINGLE.match(text, at):
        return _folded(found[1]).replace("''", "'"), _end(text, found.end())
    if found := DOUBLE.match(text, at):
        return ESCAPED.sub(_unescaped, found[1]), _end(text, found.end())
    found = PLAIN.match(text, at)
    value = _folded(found[0].rstrip(" \t" + LINE_ENDS)) if found else ""
    if found is None or NO_PLAIN.match(value) or NOT_IN_PLAIN.search(value):
        raise MetaError("the value is none that MLflow writes")
    return None if value in NULLS else value, found.end()


def _end(text: str, at: int) -> int:
    end = END.match(text, at)
    if end is None:
        raise MetaError("something follows the value")
    return end.end()


def _folded(text: str) -> str:
    return FOLDED.sub(_fold, text)


def _fold(found: re.Match[str]) -> str:
    """One line end is a blank, of several the first is none; those of Unicode stay."""
    if found["first"] is None:
        return found[0]
    first, more = _breaks(found["first"]), _breaks(found["more"])
    return (first if first != "\n" else "" if more else " ") + more


def _breaks(text: str) -> str:
    return "".join(one if one in "\u2028\u2029" else "\n" for one in re.findall(LINE_END, text))


def _unescaped(found: re.Match[str]) -> str:
    if digits := found["x"] or found["u"] or found["U"]:
        code = int(digits, 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise MetaError(f"\\{digits} is no character")
        return chr(code)
    if found["after"] is not None:  # the line goes on
        return _breaks(found["after"])
    if (one := found["one"]) is None:
        return _fold(found)
    if one not in ESCAPES:
        raise MetaError(f"\\{one} is no escape")
    return ESCAPES[one]
