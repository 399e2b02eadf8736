# SPDX-License-Identifier: MIT
"""Each number and default that a document gives is the code's: a planted difference is found, the right one passes.

Method: repositories of a few lines, as dicts from path to text.
"""

from __future__ import annotations

import pytest
import tidy_docs

FILLS = 'fill(&o->mode, "mode", "TRACKER_MODE", "local");\nfill(&o->on_full, "on_full", nullptr, "wait");\n'


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/environment.md", "| Variable | Default |\n|---|---|\n| `TRACKER_MODE` | `%s` |\n"),
        ("include/tracker/tracker.h", '  const char* mode; /* "%s" (default) | "disabled" */\n'),
        ("include/tracker/tracker.hpp", '  std::string mode = {};  ///< TRACKER_MODE, else "%s"\n'),
        ("python/tracker/_recording/init.py", '"""Opens.\n\n    mode: where to; default "%s".\n"""\n'),
    ],
)
def test_a_default_of_init_is_the_same_wherever_it_is_documented(path: str, text: str) -> None:
    code = {tidy_docs.LAUNCH: FILLS}
    assert list(tidy_docs.defaults({**code, path: text % "local"})) == []
    (problem,) = tidy_docs.defaults({**code, path: text % "online"})
    assert "mode" in problem.lower()
    assert "'local'" in problem


def test_variables_are_documented_exactly_where_they_are_read() -> None:
    read = {"src/run/a.cc": 'env("TRACKER_A")\n', "docs/environment.md": "| `TRACKER_A` | – |\n"}
    assert list(tidy_docs.variables(read)) == []
    assert list(tidy_docs.variables({**read, "src/run/b.cc": 'env("TRACKER_B")\n'}))
    assert list(tidy_docs.variables({**read, "src/run/a.cc": ""})) == ["docs/environment.md:1: nothing reads TRACKER_A"]
    assert list(tidy_docs.variables({**read, "tests/a.cc": 'env("TRACKER_B")\n'})) == []


def test_exit_codes_are_those_of_the_command_line() -> None:
    files = {
        "src/cli/commands/command.h": "enum ExitCode : int {\n  kExitOk = 0,\n  kExitUsage = 2,  // wrong\n};\n",
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


def test_a_decision_that_is_cited_is_there_and_short() -> None:
    files = {"docs/decisions/0001-one.md": "# 0001: One\n", "src/a.h": "// Why: decision 0001, docs/decisions/0001.\n"}
    assert list(tidy_docs.decisions(files)) == []
    assert list(tidy_docs.decisions({**files, "src/b.h": "\n// (decision 0002)\n"})) == [
        "src/b.h:2: there is no decision 0002"
    ]
    long = f"{tidy_docs.DECISIONS}1000-long.md"
    assert list(tidy_docs.decisions({**files, long: "word " * 301})) == [f"{long}:1: 301 words; at most 300"]
    many = {f"{tidy_docs.DECISIONS}{number:04}-x.md": "" for number in range(1, 22)}
    (problem,) = tidy_docs.decisions(many)
    assert "21 decisions" in problem
