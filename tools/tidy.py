# SPDX-License-Identifier: MIT
"""Checks of the sources that no compiler makes; `make tidy` and a test run them (tests/tools/test_tidy.py).

Each check is a function from the repository to problems, one line each: "path:line: what is wrong". An exception from a
length rule stands with its reason in tools/tidy-exceptions.toml; one that is no longer needed is a problem too.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import tidy_cpp
import tidy_docs
import tidy_python
import tidy_words

ROOT = Path(__file__).resolve().parent.parent
LINE_LENGTH_MAX = 120
FUNCTION_LINES_MAX = 70
FILE_LINES_WARN = 500
FILE_LINES_MAX = 800
BLOB_BYTES_MAX = 1 << 20
DOCUMENT_WORDS_MAX = 39_600  # of all documents together

CPP_SUFFIXES = (".c", ".cc", ".cpp", ".h", ".hpp")
CODE_SUFFIXES = (*CPP_SUFFIXES, ".py", ".pyi", ".sh", ".cmake")
CODE_NAMES = ("CMakeLists.txt", "Makefile", ".ci/run")
PYTHON_TEST_FOLDERS = (
    "tests/python/",
    "tests/tools/",
    "tests/install/",
    "tests/examples/",
    "tests/gates/",
    "tests/torch/",
    "tests/real_tools/",
    "tests/console/",
)

ENGINE = ("base", "model", "codec", "journal", "storage", "query")
BESIDE = ("artifact", "sync", "monitor", "exchange")
# What each room may include beside itself: design section 4, written as data.
LAYERS: dict[str, frozenset[str]] = {
    **{room: frozenset(ENGINE[:i]) for i, room in enumerate(ENGINE)},
    "transport": frozenset({"base", "model"}),
    **{room: frozenset({*ENGINE, "transport"}) for room in BESIDE},
    "sync": frozenset({*ENGINE, "transport", "artifact"}),
    "pipeline": frozenset({*ENGINE, "transport", *BESIDE}),
    "run": frozenset({*ENGINE, "transport", *BESIDE, "pipeline"}),
    "capi": frozenset({*ENGINE, "transport", *BESIDE, "pipeline", "run"}),
    "server": frozenset({*ENGINE, "transport", *BESIDE}),
    "cli": frozenset({*ENGINE, "transport", *BESIDE, "pipeline", "run", "capi", "server"}),
}
# The rooms within a room, from the bottom up: each may include those before it. "" is the folder itself.
INNER: dict[str, tuple[str, ...]] = {
    "model": ("", "redact", "filter"),
    "journal": ("ring", "live", "dead"),
    "storage": ("sqlite", "log", "database", "frames", "writer", "store", "recovery", "catalog", "upkeep", "verify"),
    "query": ("rows", "view", "table", "chart", "tail", "runs"),
    "monitor": ("host", "source", "console"),
    "cli": ("output", "commands", "args"),
}


@dataclass
class Repository:
    """The tracked text files by path, the sizes of all files, and what was granted or only worth a warning."""

    files: Mapping[str, str]
    sizes: Mapping[str, int] = field(default_factory=dict)
    exceptions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def code(self, suffixes: tuple[str, ...] = CODE_SUFFIXES) -> Iterator[tuple[str, str]]:
        for path, text in self.files.items():
            named = suffixes is CODE_SUFFIXES and path.endswith(CODE_NAMES)
            if path.endswith(suffixes) or named:
                yield path, text

    def exists(self, path: str) -> bool:
        path = path.rstrip("/")
        known = self.sizes or self.files
        return path in known or any(other.startswith(path + "/") for other in known)

    def too_long(self, rule: str, found: Mapping[str, str]) -> Iterator[str]:
        """The problems among `found` (name to problem) that no exception covers, and exceptions that cover none."""
        granted = self.exceptions.get(rule, {})
        for name, problem in found.items():
            if not granted.get(name, "").strip():
                yield problem
        for name in granted:
            if name not in found:
                yield f"tools/tidy-exceptions.toml:1: [{rule}] {name} needs no exception any more"


Check = Callable[[Repository], Iterator[str]]


def numbered(text: str) -> Iterator[tuple[int, str]]:
    return enumerate(text.splitlines(), start=1)


def line_length(repo: Repository) -> Iterator[str]:
    for path, text in repo.code():
        for number, line in numbered(text):
            if len(line) > LINE_LENGTH_MAX:
                yield f"{path}:{number}: {len(line)} characters; at most {LINE_LENGTH_MAX}"


DATA_FOLDERS = ("tests/fuzz/corpus/", "tests/compat/")


def whitespace(repo: Repository) -> Iterator[str]:
    for path, text in repo.files.items():
        if path.startswith(DATA_FOLDERS):
            continue
        for number, line in enumerate(text.split("\n"), start=1):
            if line != line.rstrip():
                yield f"{path}:{number}: white space at the end of the line"
        if text and (not text.endswith("\n") or text.endswith("\n\n")):
            yield f"{path}:{text.count(chr(10)) + 1}: a file ends with one newline"


def python_functions(text: str) -> Iterator[tuple[str, int, int]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1


def function_length(repo: Repository) -> Iterator[str]:
    found = {}
    for path, text in repo.code((*CPP_SUFFIXES, ".py")):
        functions = python_functions(text) if path.endswith(".py") else tidy_cpp.functions(text)
        for name, line, lines in functions:
            if lines > FUNCTION_LINES_MAX:
                found[f"{path}::{name}"] = f"{path}:{line}: {name} has {lines} lines; at most {FUNCTION_LINES_MAX}"
    yield from repo.too_long("function-length", found)


def file_length(repo: Repository) -> Iterator[str]:
    found = {}
    for path, text in repo.code():
        lines = len(text.splitlines())
        if lines > FILE_LINES_MAX:
            found[path] = f"{path}:1: {lines} lines; at most {FILE_LINES_MAX}"
        elif lines > FILE_LINES_WARN:
            repo.warnings.append(f"{path}:1: {lines} lines; aim for fewer than {FILE_LINES_WARN}")
    yield from repo.too_long("file-length", found)


def spdx(repo: Repository) -> Iterator[str]:
    for path, text in repo.code():
        lines = text.splitlines()[:2]
        first = lines[1] if len(lines) > 1 and lines[0].startswith("#!") else "".join(lines[:1])
        if "SPDX-License-Identifier: MIT" not in first:
            yield f"{path}:1: the first line is the licence: SPDX-License-Identifier: MIT"


def reminders(repo: Repository) -> Iterator[str]:
    word = re.compile(r"\b(TO" r"DO(?!\(#\d+\))|FIX" r"ME|X" r"XX)\b")
    for path, text in repo.code():
        for number, line in numbered(text):
            if word.search(line):
                yield f"{path}:{number}: a reminder names an issue: TO" + "DO(#12)"


def orphan_tests(repo: Repository) -> Iterator[str]:
    for path in repo.files:
        if not path.startswith("tests/"):
            continue
        name = PurePosixPath(path).name
        if path.endswith((".cc", ".c")) and not path.startswith("tests/install/"):
            lists = [f"{parent}/CMakeLists.txt" for parent in PurePosixPath(path).parents]
            if not any(re.search(rf"\b{re.escape(name)}", repo.files.get(one, "")) for one in lists):
                yield f"{path}:1: no CMakeLists.txt names it, so nothing builds it"
        if re.fullmatch(r"test_.*\.py", name) and not path.startswith(PYTHON_TEST_FOLDERS):
            yield f"{path}:1: no part of tools/test.py collects it"


def scattered_skips(repo: Repository) -> Iterator[str]:
    """A test that is left out says why through one list, so that a reader of it sees all that was not tested."""
    word = re.compile(r"\b(GTEST_SK" r"IP|pytest\.(?:sk" r"ip|importorsk" r"ip|mark\.sk" r"ip\w*))\b")
    for path, text in repo.code():
        if not path.startswith("tests/") or path in ("tests/support/conditions.h", "tests/support/conditions.py"):
            continue
        for number, line in numbered(text):
            if word.search(line):
                yield f"{path}:{number}: skips go through tests/support/conditions.h or tests/support/conditions.py"


def layers(repo: Repository) -> Iterator[str]:
    include = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
    for path, text in repo.code(CPP_SUFFIXES):
        parts = PurePosixPath(path).parts
        if parts[0] not in ("src", "include", "bindings"):
            continue
        for number, line in numbered(text):
            match = include.match(line)
            if not match:
                continue
            target = match.group(1)
            room = target.split("/")[0]
            if ".." in target:
                yield f"{path}:{number}: include by room and file, not by ../"
            elif parts[0] == "include" and not repo.exists(f"include/tracker/{target}"):
                yield f"{path}:{number}: a public header includes only its siblings and the standard library"
            elif parts[0] == "src" and room not in (parts[1], "tracker") and room not in LAYERS.get(parts[1], ()):
                yield f"{path}:{number}: {parts[1]} lies below {room}, or beside it"
            elif parts[0] == "src" and parts[1] == room and room in INNER:
                inner = INNER[room]
                here, there = ("/".join(p.split("/")[1:-1]) for p in (path.removeprefix("src/"), target))
                if here not in inner or there not in inner[: inner.index(here) + 1]:
                    yield f"{path}:{number}: {room}/{here} lies below {room}/{there}"


REPO_FOLDERS = [
    "src/",
    "include/",
    "tests/",
    "tools/",
    "docs/",
    "cmake/",
    "examples/",
    "benchmarks/",
    "bindings/",
    "python/",
    "console/",
    ".ci/",
]


GIL_BY_HAND = re.compile(r"\b(gil_scoped_\w+|Py_(BEGIN|END)_ALLOW_THREADS|PyEval_(Save|Restore)Thread)\b")


def released_gil(repo: Repository) -> Iterator[str]:
    """A thread that takes the GIL back in any other way aborts the process when the interpreter ends."""
    for path, text in repo.code(CPP_SUFFIXES):
        if path.startswith("bindings/") and path != "bindings/released_gil.h":
            for number, line in numbered(text):
                if found := GIL_BY_HAND.search(line):
                    yield f"{path}:{number}: {found[0]}; the GIL is released by ReleasedGil (bindings/released_gil.h)"


def looks_like_path(token: str) -> bool:
    if not re.fullmatch(r"[A-Za-z0-9_.\-/]+", token):
        return False  # globs, placeholders, code
    return token.startswith(tuple(REPO_FOLDERS)) or bool(re.fullmatch(r"[A-Z][A-Za-z_\-]*\.md", token))


def without_fences(text: str) -> Iterator[tuple[int, str]]:
    fenced = False
    for number, line in numbered(text):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def markdown_paths(repo: Repository) -> Iterator[str]:
    for path, text in repo.code((".md",)):
        folder = PurePosixPath(path).parent
        for number, line in without_fences(text):
            wanted = [re.sub(r":\d+$", "", token) for token in re.findall(r"`([^`]+)`", line)]
            wanted = [token for token in wanted if looks_like_path(token)]
            links = [target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", line)]
            wanted += [target for target in links if target and not re.match(r"[a-z]+:", target)]
            for token in wanted:
                beside = normalised(folder / token)
                if not repo.exists(token) and not (beside and repo.exists(beside)):
                    yield f"{path}:{number}: {token} does not exist"


def normalised(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            if not parts:
                return ""
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def sample_of(text: str) -> list[str]:
    """What a document may show of a file: each region between [sample] marks, else all of it but the licence line."""
    marks = [number for number, line in numbered(text) if re.fullmatch(r"\s*(#|//|/\*) \[/?sample\](\s*\*/)?", line)]
    lines = text.splitlines()
    if len(marks) >= 2:
        pairs = zip(marks[::2], marks[1::2], strict=False)
        return [textwrap.dedent("\n".join(lines[begin : end - 1])).strip("\n") for begin, end in pairs]
    return ["\n".join(lines).strip("\n"), "\n".join(lines[1:]).strip("\n")]


FENCE = re.compile(
    r"(?:<!-- file: (?P<file>\S+) -->\n+)?^```(?P<language>cpp|c|python)\n(?P<body>.*?)^```$", re.M | re.S
)


def markdown_samples(repo: Repository) -> Iterator[str]:
    for path, text in repo.code((".md",)):
        for match in FENCE.finditer(text):
            number = text.count("\n", 0, match.start()) + 1
            source = match["file"]
            if source is None:
                if path == "README.md":
                    yield f"{path}:{number}: a sample names the file that is tested: <!-- file: examples/... -->"
            elif source not in repo.files:
                yield f"{path}:{number}: {source} does not exist"
            elif match["body"].strip("\n") not in sample_of(repo.files[source]):
                yield f"{path}:{number}: the sample is not what {source} says"


def documented_values(repo: Repository) -> Iterator[str]:
    yield from tidy_docs.documented_values(repo.files)


def document_words(repo: Repository) -> Iterator[str]:
    """The words of all documents but docs/formats, which other programs are written from. The limit only falls."""
    documents = {path: text for path, text in repo.code((".md",)) if not path.startswith("docs/formats/")}
    words = {path: sum(bool(re.search(r"\w", word)) for word in text.split()) for path, text in documents.items()}
    if sum(words.values()) > DOCUMENT_WORDS_MAX:
        longest = max(words, key=lambda path: words[path])
        yield f"{longest}:1: {sum(words.values()):,} words in all documents; at most {DOCUMENT_WORDS_MAX:,}"


def python_imports(repo: Repository) -> Iterator[str]:
    yield from tidy_python.python_imports(repo.files)


def words_only_fall(repo: Repository) -> Iterator[str]:
    yield from tidy_words.words_only_fall(repo.files)


def large_files(repo: Repository) -> Iterator[str]:
    for path, size in repo.sizes.items():
        if size > BLOB_BYTES_MAX:
            yield f"{path}:1: {size} bytes; at most {BLOB_BYTES_MAX}"


CHECKS: tuple[Check, ...] = (
    line_length,
    whitespace,
    function_length,
    file_length,
    spdx,
    reminders,
    orphan_tests,
    scattered_skips,
    layers,
    released_gil,
    markdown_paths,
    markdown_samples,
    documented_values,
    document_words,
    python_imports,
    words_only_fall,
    large_files,
)


def load(root: Path = ROOT) -> Repository:
    """Every file that git tracks or would track."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    files: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for name in sorted(set(filter(None, names))):
        path = root / name
        if path.is_symlink() or not path.is_file():
            continue  # deleted in the working tree, or a link
        data = path.read_bytes()
        sizes[name] = len(data)
        if b"\0" not in data[:8192]:
            files[name] = data.decode(errors="replace")
    granted = tomllib.loads(files.get("tools/tidy-exceptions.toml", ""))
    return Repository(files, sizes, granted)


def main() -> int:
    repo = load()
    problems = [problem for check in CHECKS for problem in check(repo)]
    for warning in repo.warnings:
        print(f"warning: {warning}")
    for problem in problems:
        print(problem)
    print(f"{len(repo.files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
