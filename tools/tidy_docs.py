# SPDX-License-Identifier: MIT
"""What the documents say of defaults, against the code: part of tools/tidy.py.

Defaults: init's are written once in the code (`fill` in src/run/init_options.cc) and repeated in docs/environment.md,
the public headers and init's docstring.
Variables: docs/environment.md has those that the code reads, and no others. Exit codes: docs/cli.md has the enum.
Decisions: each one that a file cites is there, they are few, and each is short.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

ENVIRONMENT = "docs/environment.md"
COMMANDS = "docs/cli.md"
LAUNCH = "src/run/init_options.cc"
EXIT_CODES = "src/cli/commands/command.h"
DECISIONS = "docs/decisions/"
DECISIONS_MAX = 20
DECISION_WORDS_MAX = 300
CODE_FOLDERS = ("src/", "include/", "bindings/", "python/")
DROP_INS = "python/tracker/compat/"

Files = Mapping[str, str]


def table_rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and cells by column title, for each row of each table."""
    titles: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith("|"):
            titles = []
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not titles:
            titles = cells
        elif not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            yield number, dict(zip(titles, cells, strict=False))


def literal(cell: str) -> str | None:
    found = re.match(r"`([^`]+)`", cell)
    return found[1] if found else None


def init_defaults(files: Files) -> dict[str, tuple[str, str]]:
    """Option to (variable or "", default), from the one place in the code."""
    fills = re.findall(r'fill\(&o->(\w+), "\w+", (?:"(\w+)"|nullptr), "([^"]+)"\)', files.get(LAUNCH, ""))
    return {option: (variable, default) for option, variable, default in fills}


def told_defaults(path: str, text: str) -> Iterator[tuple[int, str, str]]:
    """(line, option, default) wherever the document or header `path` tells the default of an option of init."""
    for number, line in enumerate(text.splitlines(), start=1):
        if path.startswith("include/"):
            field = re.match(r"\s*(?:const char\*|std::string) (\w+)\b.*?(?://|/\*)(.*)", line)
            value = field and re.search(r'"(\w+)"(?: \(default|, the default)|else "(\w+)"', field[2])
            if field and value:
                yield number, field[1], value[1] or value[2]
        elif path == "python/tracker/_recording/init.py" and (
            told := re.match(r'    (\w+): .*[Dd]efault "(\w+)"', line)
        ):
            yield number, told[1], told[2]


def defaults(files: Files) -> Iterator[str]:
    truth = init_defaults(files)
    variables = {variable: default for variable, default in truth.values() if variable}
    for number, row in table_rows(files.get(ENVIRONMENT, "")):
        variable = literal(row.get("Variable", ""))
        if variable in variables and literal(row["Default"]) != variables[variable]:
            yield f"{ENVIRONMENT}:{number}: {variable} is by default {variables[variable]!r} in {LAUNCH}"
    for path, text in files.items():
        if path.startswith("include/") or path == "python/tracker/_recording/init.py":
            for number, option, default in told_defaults(path, text):
                if option in truth and truth[option][1] != default:
                    yield f"{path}:{number}: {option} is by default {truth[option][1]!r} in {LAUNCH}"


def variables(files: Files) -> Iterator[str]:
    quoted = re.compile(r'"(TRACKER_[A-Z_]+)"')
    read = {
        name: path for path, text in files.items() if path.startswith(CODE_FOLDERS) for name in quoted.findall(text)
    }
    document = files.get(ENVIRONMENT, "")
    told = set(re.findall(r"`(TRACKER_[A-Z_]+)`", document))
    for name in sorted(read.keys() - told):
        yield f"{read[name]}:1: reads {name}, which {ENVIRONMENT} does not name"
    for name in sorted(told - read.keys()):
        yield f"{ENVIRONMENT}:1: nothing reads {name}"


def exit_codes(files: Files) -> Iterator[str]:
    body = re.search(r"enum ExitCode[^{]*{(.*?)}", files.get(EXIT_CODES, ""), re.S)
    code = {int(value) for value in re.findall(r"= (\d+)", body[1])} if body else set()
    told = {int(row["Code"]) for _, row in table_rows(files.get(COMMANDS, "")) if row.get("Code", "").isdecimal()}
    if code != told:
        yield f"{COMMANDS}:1: exit codes {sorted(told)}, but {EXIT_CODES} has {sorted(code)}"


def python_functions(text: str) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            yield node


def keyword_defaults(function: ast.FunctionDef) -> dict[str, str]:
    """Parameter to its default as source; parameters without one are left out, `...` of a stub too."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = list(zip(reversed(positional), reversed(arguments.defaults), strict=False))
    pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
    return {a.arg: ast.unparse(d) for a, d in pairs if ast.unparse(d) != "..."}


def signatures(files: Files) -> Iterator[str]:
    """The same verb has the same defaults in each module, in the stub, and wherever a document writes it in full.
    A drop-in has the defaults of its original."""
    known: dict[tuple[str, str], tuple[str, str]] = {}
    for path, text in files.items():
        if not (path.startswith("python/tracker/") and path.endswith((".py", ".pyi"))) or path.startswith(DROP_INS):
            continue
        for function in python_functions(text):
            if function.name.startswith("_"):
                continue
            for parameter, default in keyword_defaults(function).items():
                first = known.setdefault((function.name, parameter), (default, path))
                if first[0] != default:
                    where = f"{path}:{function.lineno}: {function.name}({parameter}={default})"
                    yield f"{where}, but {first[0]} in {first[1]}"
    yield from text_signatures(files, known)


def text_signatures(files: Files, known: Mapping[tuple[str, str], tuple[str, str]]) -> Iterator[str]:
    """The text signatures of the C methods ("log(data, step=None)\\n--") against the Python ones."""
    for path, text in files.items():
        if not (path.startswith("bindings/") and path.endswith(".cpp")):
            continue
        for match in re.finditer(r'"(\w+)\(([^")]*)\)\\n--', text):
            for parameter, default in re.findall(r"(\w+)=([\w.]+)", match[2]):
                first = known.get((match[1], parameter))
                if first is not None and first[0] != default:
                    line = text.count("\n", 0, match.start()) + 1
                    yield f"{path}:{line}: {match[1]}({parameter}={default}), but {first[0]} in {first[1]}"


def decisions(files: Files) -> Iterator[str]:
    there = {path.removeprefix(DECISIONS)[:4]: path for path in files if path.startswith(DECISIONS)}
    if len(there) > DECISIONS_MAX:
        yield f"{DECISIONS}:1: {len(there)} decisions; at most {DECISIONS_MAX}"
    for path in there.values():
        words = sum(bool(re.search(r"\w", word)) for word in files[path].split())
        if words > DECISION_WORDS_MAX:
            yield f"{path}:1: {words} words; at most {DECISION_WORDS_MAX}"
    for path, text in files.items():
        for match in re.finditer(r"(?:\b[Dd]ecision |\bdecisions/)(\d{4})\b", text):
            if match[1] not in there:
                line = text.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: there is no decision {match[1]}"


CHECKS = (defaults, variables, exit_codes, signatures, decisions)


def documented_values(files: Files) -> Iterator[str]:
    for check in CHECKS:
        yield from check(files)
