# SPDX-License-Identifier: MIT
"""What the documents say of numbers and defaults, against the code: part of tools/tidy.py.

Numbers: each row of docs/limits.md names a constant of the code and gives its value. Defaults: init's are written once
in the code (`fill` in src/run/launch.cc) and told in docs/environment.md, the public headers and init's docstring.
Variables: docs/environment.md has those that the code reads, and no others. Exit codes: docs/cli.md has the enum.
Promises: each test that docs/promises.md names is there, and a promise without one says why.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterator, Mapping

LIMITS = "docs/limits.md"
ENVIRONMENT = "docs/environment.md"
COMMANDS = "docs/cli.md"
PROMISES = "docs/promises.md"
LAUNCH = "src/run/launch.cc"
EXIT_CODES = "src/cli/command.h"
CODE_FOLDERS = ("src/", "include/", "bindings/", "python/")
DROP_INS = "python/tracker/compat/"

Files = Mapping[str, str]

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
CHRONO = {"nanoseconds": 1, "microseconds": 1_000, "milliseconds": 1_000_000, "seconds": 1_000_000_000}
OPERATORS = {ast.Mult: operator.mul, ast.LShift: operator.lshift, ast.Add: operator.add, ast.Sub: operator.sub}


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


def defined(files: Files, name: str) -> tuple[str, int | None] | None:
    """Where the constant or the option with a default is defined, and its value (durations in ns) where it is one."""
    pattern = re.compile(
        rf"^\s*(?:(?:inline|static|constexpr|const)\s+)*(?P<type>[\w:]+)\s+{name}\s*"
        rf"(?:=\s*(?P<a>[^;]+)|{{(?P<b>[^}}]*)}});"
        rf"|^#define\s+{name}\s+(?P<c>.+)$"
        rf"|^{name}(?:: int)? = (?P<d>.+)$",
        re.M,
    )
    for path, text in files.items():
        if path.startswith(CODE_FOLDERS) and (found := pattern.search(text)):
            number = evaluate(found["a"] or found["b"] or found["c"] or found["d"] or "")
            unit = CHRONO.get((found["type"] or "").rpartition("::")[2], 1)
            return path, None if number is None else number * unit
    return None


def quantities(cell: str) -> set[int]:
    """Each number of the cell, times its unit."""
    found = re.finditer(r"(?<![\w.⁶³−-])(\d[\d,]*)\s*(%|[A-Za-zµ/]+)?", cell)
    return {int(match[1].replace(",", "")) * UNITS.get(match[2] or "", 1) for match in found}


def limits(files: Files) -> Iterator[str]:
    for number, row in table_rows(files.get(LIMITS, "")):
        names = re.findall(r"`(\w+)`", row.get("Name in the code", ""))
        if not names:
            yield f"{LIMITS}:{number}: the last cell names the constant: `kName`"
        told = quantities(row["Limit"])
        for name in names:
            found = defined(files, name)
            if found is None:
                yield f"{LIMITS}:{number}: {name} is not in the code"
            elif told and found[1] is not None and found[1] not in told:
                yield f'{LIMITS}:{number}: "{row["Limit"]}", but {name} is {found[1]} in {found[0]}'


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
        elif path == "python/tracker/_recording/init.py":
            if told := re.match(r'    (\w+): .*[Dd]efault "(\w+)"', line):
                yield number, told[1], told[2]
        elif path == LIMITS:
            for option, default in re.findall(r'`(\w+)="(\w+)"`\), then', line):
                yield number, option, default


def defaults(files: Files) -> Iterator[str]:
    truth = init_defaults(files)
    variables = {variable: default for variable, default in truth.values() if variable}
    for number, row in table_rows(files.get(ENVIRONMENT, "")):
        variable = literal(row.get("Variable", ""))
        if variable in variables and literal(row["Default"]) != variables[variable]:
            yield f"{ENVIRONMENT}:{number}: {variable} is by default {variables[variable]!r} in {LAUNCH}"
    for path, text in files.items():
        if path.startswith("include/") or path in (LIMITS, "python/tracker/_recording/init.py"):
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


def tests_of(path: str, text: str) -> set[str]:
    """The names that a document may give to the tests of a file: "Suite.Name" in C++, those of functions in Python."""
    if path.endswith(".py"):
        return {function.name for function in python_functions(text) if function.name.startswith("test_")}
    return {f"{suite}.{name}" for suite, name in re.findall(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", text, re.M)}


def promises(files: Files) -> Iterator[str]:
    """In the last column of docs/promises.md: files, each followed by tests of it; or "–" and why there are none."""
    for number, row in table_rows(files.get(PROMISES, "")):
        cell = row.get("Tested by", "")
        named = re.findall(r"`([^`]+)`", cell)
        if cell.startswith("–"):
            if len(cell) < len("– why"):
                yield f"{PROMISES}:{number}: a promise without a test says why"
            continue
        path, known = "", set[str]()
        if not named or "/" not in named[0]:
            yield f"{PROMISES}:{number}: the last cell begins with the file of a test, or with – and why there is none"
            continue
        for name in named:
            if "/" in name:
                path, known = name, tests_of(name, files.get(name, ""))
                if name not in files:
                    yield f"{PROMISES}:{number}: {name} does not exist"
            elif name not in known and path in files:
                yield f"{PROMISES}:{number}: {path} has no test {name}"


CHECKS = (limits, defaults, variables, exit_codes, signatures, promises)


def documented_values(files: Files) -> Iterator[str]:
    for check in CHECKS:
        yield from check(files)
