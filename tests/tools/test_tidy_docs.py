# SPDX-License-Identifier: MIT
"""Each number and default that a document tells is the code's: a planted difference is found, the right one passes.

Method: repositories of a few lines, as dicts from path to text.
"""

from __future__ import annotations

import pytest
import tidy_docs

HEAD = "| What | Limit | Name in the code |\n|---|---|---|\n"


def limit(cell: str, name: str, source: str, path: str = "src/base/a.h") -> list[str]:
    return list(tidy_docs.limits({"docs/limits.md": f"{HEAD}| a thing | {cell} | `{name}` |\n", path: source}))


@pytest.mark.parametrize(
    ("cell", "source"),
    [
        ("1,024 B of UTF-8", "constexpr size_t kX = 1024;  // bytes\n"),
        ("64 KiB", "constexpr size_t kX = 64 * 1024;\n"),
        ("64 KiB", "  static constexpr uint64_t kX = 1u << 16;\n"),
        ("262,144", "inline constexpr uint32_t kX = 262'144;\n"),
        ("100 ms and the commit", "constexpr std::chrono::milliseconds kX{100};\n"),
        ("10 ms", "struct O {\n  std::chrono::nanoseconds kX{10'000'000};\n};\n"),
        ("2 s for the disk", "constexpr std::chrono::milliseconds kX{2000};\n"),
        ("the least of 24 MiB, 1/8 of it, 2 %", "constexpr uint64_t kX = 24 * 1024 * 1024;\n"),
        ("any int64", "#define kX INT64_MIN\n"),
        ("as much as there is", "constexpr size_t kX = sizeof(int);\n"),
    ],
)
def test_a_limit_that_is_right_passes_in_every_way_of_writing_it(cell: str, source: str) -> None:
    assert limit(cell, "kX", source) == []


@pytest.mark.parametrize(
    ("cell", "source"),
    [
        ("1,024 B", "constexpr size_t kX = 1000;\n"),
        ("64 MiB", "constexpr size_t kX = 64 * 1024;\n"),
        ("100 ms", "constexpr std::chrono::seconds kX{100};\n"),
        ("1 s", "constexpr std::chrono::milliseconds kX{100};\n"),
    ],
)
def test_a_limit_that_has_changed_is_found(cell: str, source: str) -> None:
    (problem,) = limit(cell, "kX", source)
    assert problem.startswith(f'docs/limits.md:3: "{cell}", but kX is ')


def test_a_limit_needs_a_name_that_the_code_has() -> None:
    assert limit("5", "kGone", "constexpr int kX = 5;  // kGone\n") == ["docs/limits.md:3: kGone is not in the code"]
    assert limit("5", "kX", "constexpr int kX = 5;\n", path="tests/unit/a.cc") != [], "a test defines no limit"
    assert list(tidy_docs.limits({"docs/limits.md": f"{HEAD}| a | 5 | five |\n"}))
    assert limit("32", "DEPTH_MAX", "DEPTH_MAX = 32\n", path="python/tracker/_a.py") == []


LAUNCH = 'fill(&o->mode, "mode", "TRACKER_MODE", "local");\nfill(&o->on_full, "on_full", nullptr, "wait");\n'


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/environment.md", "| Variable | Default |\n|---|---|\n| `TRACKER_MODE` | `%s` |\n"),
        ("include/tracker/tracker.h", '  const char* mode; /* "%s" (default) | "disabled" */\n'),
        ("include/tracker/tracker.hpp", '  std::string mode = {};  ///< TRACKER_MODE, else "%s"\n'),
        ("python/tracker/_recording/init.py", '"""Opens.\n\n    mode: where to; default "%s".\n"""\n'),
    ],
)
def test_a_default_of_init_is_the_same_wherever_it_is_told(path: str, text: str) -> None:
    code = {"src/run/launch.cc": LAUNCH}
    assert list(tidy_docs.defaults({**code, path: text % "local"})) == []
    (problem,) = tidy_docs.defaults({**code, path: text % "online"})
    assert "mode" in problem.lower()
    assert "'local'" in problem


def test_variables_are_told_exactly_where_they_are_read() -> None:
    read = {"src/run/a.cc": 'env("TRACKER_A")\n', "docs/environment.md": "| `TRACKER_A` | – |\n"}
    assert list(tidy_docs.variables(read)) == []
    assert list(tidy_docs.variables({**read, "src/run/b.cc": 'env("TRACKER_B")\n'}))
    assert list(tidy_docs.variables({**read, "src/run/a.cc": ""})) == ["docs/environment.md:1: nothing reads TRACKER_A"]
    assert list(tidy_docs.variables({**read, "tests/a.cc": 'env("TRACKER_B")\n'})) == []


def test_exit_codes_are_those_of_the_command_line() -> None:
    files = {
        "src/cli/command.h": "enum ExitCode : int {\n  kExitOk = 0,\n  kExitUsage = 2,  // wrong\n};\n",
        "docs/cli.md": "| Code | Meaning |\n|---|---|\n| 0 | done |\n| 2 | wrong |\n",
    }
    assert list(tidy_docs.exit_codes(files)) == []
    assert list(tidy_docs.exit_codes({**files, "docs/cli.md": "| Code | Meaning |\n|---|---|\n| 0 | done |\n"}))


def test_a_verb_has_the_same_defaults_in_module_stub_and_binding() -> None:
    files = {
        "python/tracker/_open_runs.py": "def flush(timeout: float = 10.0): ...\ndef log(data, step=None): ...\n",
        "python/tracker/_recording/run.py": "class Run:\n    def flush(self, *, timeout: float = 10.0): ...\n",
        "python/tracker/_core.pyi": "class Run:\n    def log(self, data, step=None): ...\n",
        "bindings/a.cpp": '"log(data, step=None)\\n--\\n\\nLogs."',
    }
    assert list(tidy_docs.signatures(files)) == []
    changed = {**files, "python/tracker/_recording/run.py": "class Run:\n    def flush(self, *, timeout=5.0): ...\n"}
    assert list(tidy_docs.signatures(changed)) == [
        "python/tracker/_recording/run.py:2: flush(timeout=5.0), but 10.0 in python/tracker/_open_runs.py"
    ]
    changed = {**files, "bindings/a.cpp": '\n"log(data, step=0)\\n--\\n\\nLogs."'}
    assert list(tidy_docs.signatures(changed)) == [
        "bindings/a.cpp:2: log(step=0), but None in python/tracker/_open_runs.py"
    ]


def test_a_drop_in_may_have_the_defaults_of_its_original() -> None:
    files = {
        "python/tracker/_recording/run.py": "def finish(timeout=10.0): ...\n",
        "python/tracker/compat/a.py": "def finish(timeout=5.0): ...\n",
    }
    assert list(tidy_docs.signatures(files)) == []


PROMISE = "| Promise | Tested by |\n|---|---|\n| points survive | %s |\n"
TESTS = {
    "tests/fault/a_test.cc": "TEST(Suite, Name) {}\nTEST_P(Other, Second) {}\n// TEST(Suite, Gone)\n",
    "tests/python/test_a.py": "def test_it() -> None: ...\ndef helper() -> None: ...\n",
}


@pytest.mark.parametrize(
    "cell",
    [
        "`tests/fault/a_test.cc` `Suite.Name`",
        "`tests/fault/a_test.cc` `Suite.Name` `Other.Second`; `tests/python/test_a.py` `test_it`",
        "`tests/python/test_a.py`",
        "– not in this version",
        "– no machine of that kind: `clock.cc` reads it",
    ],
)
def test_a_promise_names_tests_that_are_there_or_says_why_not(cell: str) -> None:
    assert list(tidy_docs.promises({"docs/promises.md": PROMISE % cell, **TESTS})) == []


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("`tests/fault/a_test.cc` `Suite.Gone`", "tests/fault/a_test.cc has no test Suite.Gone"),
        ("`tests/fault/a_test.cc` `Name`", "tests/fault/a_test.cc has no test Name"),
        ("`tests/python/test_a.py` `helper`", "tests/python/test_a.py has no test helper"),
        ("`tests/python/test_a.py` `Suite.Name`", "tests/python/test_a.py has no test Suite.Name"),
        ("`tests/fault/b_test.cc` `Suite.Name`", "tests/fault/b_test.cc does not exist"),
        ("`Suite.Name`", "the last cell begins with the file of a test, or with – and why there is none"),
        ("", "the last cell begins with the file of a test, or with – and why there is none"),
        ("–", "a promise without a test says why"),
    ],
)
def test_a_promise_without_its_test_is_found(cell: str, problem: str) -> None:
    found = list(tidy_docs.promises({"docs/promises.md": PROMISE % cell, **TESTS}))
    assert found == [f"docs/promises.md:3: {problem}"]
