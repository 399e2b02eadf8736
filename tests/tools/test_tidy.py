# SPDX-License-Identifier: MIT
"""Each check of tools/tidy.py finds nothing in this repository, and finds a planted fault.

Method: repositories of a few lines, as dicts from path to text; the real one is read through git.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import tidy
import tidy_cpp
from tidy import Repository

CPP = "// SPDX-License-Identifier: MIT\n"
PY = "# SPDX-License-Identifier: MIT\n"


def problems(check: tidy.Check, files: dict[str, str], **more: object) -> list[str]:
    return list(check(Repository(files, **more)))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def repository() -> Repository:
    return tidy.load()


@pytest.mark.parametrize("check", tidy.CHECKS, ids=lambda check: check.__name__)
def test_this_repository_is_tidy(repository: Repository, check: tidy.Check) -> None:
    found = list(check(repository))
    assert not found, "\n" + "\n".join(found)


def test_lines_are_measured_in_characters_not_bytes() -> None:
    assert problems(tidy.line_length, {"src/base/a.cc": "x" * 121}) == ["src/base/a.cc:1: 121 characters; at most 120"]
    assert problems(tidy.line_length, {"tools/a.py": "ok\n" + "é" * 120}) == []
    assert problems(tidy.line_length, {"cmake/A.cmake": "\n" + "x" * 121})
    assert problems(tidy.line_length, {"README.md": "x" * 500}) == []


def test_white_space_at_line_ends_and_missing_newlines_are_found() -> None:
    assert problems(tidy.whitespace, {"a.md": "one \ntwo\n"}) == ["a.md:1: white space at the end of the line"]
    assert problems(tidy.whitespace, {"a.md": "one"}) == ["a.md:1: a file ends with one newline"]
    assert problems(tidy.whitespace, {"a.md": "one\n\n"})
    assert problems(tidy.whitespace, {"a.md": "one\n", "empty": "", "tests/fuzz/corpus/cbor/a": "x "}) == []


def cpp_function(lines: int, head: str = "int f(int x)") -> str:
    return f"{head} {{\n" + "  ++x;\n" * (lines - 2) + "}\n"


def test_long_functions_are_found_in_both_languages() -> None:
    assert problems(tidy.function_length, {"src/base/a.cc": cpp_function(70)}) == []
    assert problems(tidy.function_length, {"src/base/a.cc": "\n" + cpp_function(71)}) == [
        "src/base/a.cc:2: f has 71 lines; at most 70"
    ]
    python = "def f():\n" + "    pass\n" * 70
    assert problems(tidy.function_length, {"tools/a.py": python}) == ["tools/a.py:1: f has 71 lines; at most 70"]


def test_an_exception_needs_a_reason_and_a_use() -> None:
    files = {"src/base/a.cc": cpp_function(80)}
    granted = {"function-length": {"src/base/a.cc::f": "a table"}}
    assert problems(tidy.function_length, files, exceptions=granted) == []
    assert problems(tidy.function_length, files, exceptions={"function-length": {"src/base/a.cc::f": " "}})
    unused = problems(tidy.function_length, {"src/base/a.cc": "int x;\n"}, exceptions=granted)
    assert unused == ["tools/tidy-exceptions.toml:1: [function-length] src/base/a.cc::f needs no exception any more"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("void f() {}\n", [("f", 1, 1)]),
        ("namespace a {\nclass B {\n  int g() const {\n    return 1;\n  }\n};\n}\n", [("g", 3, 3)]),
        ("template <class T>\nT f(T t) {\n  return t;\n}\n", [("f", 1, 4)]),
        ("template <typename T>\nclass [[nodiscard]] R {\n  T x;\n};\n", []),
        ("B::B(int x) : x_(x), y_(x) {\n}\n", [("B::B", 1, 2)]),
        ("void f() {\n  g(\"}\", '}', 1'000);  // }\n}\n", [("f", 1, 3)]),
        ('const char* k = R"(} {)";\nvoid f() {\n}\n', [("f", 2, 2)]),
        (
            "void f() {\n  auto g = [] {\n    if (x) { y(); }\n  };\n}\nint h() { return 2; }\n",
            [("f", 1, 5), ("h", 6, 1)],
        ),
        ("#define M(x) \\\n  do { x; \\\n  } while (0)\nvoid f() {\n}\n", [("f", 4, 2)]),
        ("constexpr int kTable[] = {1, 2};\nenum class E : int {\n  kA = 1,\n};\n", []),
        ("TEST(Suite, Name) {\n}\n", [("TEST", 1, 2)]),
        ('extern "C" {\nint f(void) { return 1; }\n}\n', [("f", 2, 1)]),
    ],
)
def test_cpp_functions_are_seen_where_they_are(source: str, expected: list[tuple[str, int, int]]) -> None:
    assert list(tidy_cpp.functions(source)) == expected


def test_long_files_warn_then_fail() -> None:
    repo = Repository({"src/base/a.cc": "int x;\n" * 501, "src/base/b.cc": "int x;\n" * 801})
    assert list(tidy.file_length(repo)) == ["src/base/b.cc:1: 801 lines; at most 800"]
    assert len(repo.warnings) == 1
    granted = {"file-length": {"src/base/b.cc": "generated"}}
    assert problems(tidy.file_length, {"src/base/b.cc": "int x;\n" * 801}, exceptions=granted) == []


def test_the_licence_is_the_first_line() -> None:
    assert problems(tidy.spdx, {"a.cc": "int x;\n"})
    assert problems(tidy.spdx, {"a.py": ""})
    assert problems(tidy.spdx, {"src/CMakeLists.txt": "add_library(x)\n"})
    assert (
        problems(
            tidy.spdx, {"a.sh": "#!/bin/sh\n" + PY, "a.cc": CPP, "include/a.h": "/* SPDX-License-Identifier: MIT */\n"}
        )
        == []
    )


def test_a_reminder_names_an_issue() -> None:
    word = "TO" + "DO"
    assert problems(tidy.reminders, {"a.cc": f"// {word}: later\n"})
    assert problems(tidy.reminders, {"a.py": "# FIX" + "ME\n"})
    assert problems(tidy.reminders, {"a.cc": f"// {word}(#12): later\n", "b.cc": '"file-XXXXXX"\n'}) == []


def test_a_test_that_nothing_builds_is_found() -> None:
    files = {"tests/unit/base/a_test.cc": CPP, "tests/unit/base/CMakeLists.txt": "SOURCES b_test.cc"}
    assert problems(tidy.orphan_tests, files)
    files["tests/unit/base/CMakeLists.txt"] = "SOURCES a_test.cc"
    assert problems(tidy.orphan_tests, files) == []
    assert problems(tidy.orphan_tests, {"tests/other/test_a.py": PY})
    assert problems(tidy.orphan_tests, {"tests/python/test_a.py": PY}) == []


def test_a_skip_outside_the_one_list_is_found() -> None:
    word = "sk" + "ip"  # this file is checked too
    cpp, python = f"  GTEST_{word.upper()}();\n", f"    pytest.{word}('no')\n"
    found = problems(tidy.scattered_skips, {"tests/unit/a_test.cc": cpp, "tests/python/test_a.py": python})
    assert [line.split(": ")[0] for line in found] == ["tests/unit/a_test.cc:1", "tests/python/test_a.py:1"]
    allowed = {"tests/support/conditions.h": cpp, "tests/support/conditions.py": python}
    assert problems(tidy.scattered_skips, allowed) == []


def test_includes_go_down_only() -> None:
    assert problems(tidy.layers, {"src/base/a.cc": '#include "journal/ring.h"\n'}) == [
        "src/base/a.cc:1: base lies below journal, or beside it"
    ]
    assert problems(tidy.layers, {"src/run/a.cc": '#include "../base/fs.h"\n'})
    assert problems(tidy.layers, {"src/sync/a.cc": '#include "monitor/host/gpu.h"\n'})
    assert problems(tidy.layers, {"src/storage/log/a.cc": '#include "storage/store/store.h"\n'})
    assert problems(tidy.layers, {"src/storage/store/a.cc": '#include "storage/log/event_state.h"\n'}) == []
    assert problems(tidy.layers, {"src/new/a.cc": '#include "base/fs.h"\n'}), "a room that design.md does not know"
    assert problems(tidy.layers, {"include/tracker/a.h": '#include "base/fs.h"\n'})
    assert problems(tidy.layers, {"include/tracker/a.h": '#include "b.h"\n', "include/tracker/b.h": ""}) == []
    good = '#include "run/run.h"\n#include "base/fs.h"\n#include "tracker/tracker.h"\n#include <vector>\n'
    assert problems(tidy.layers, {"src/run/a.cc": good}) == []


def test_paths_in_documents_exist() -> None:
    files = {
        "docs/a.md": "see `src/base/fs.h`, `tests/`, [b](b.md#part) and `src/<room>/*.cc`, `1/2`\n",
        "docs/b.md": "",
    }
    assert problems(tidy.markdown_paths, files) == [
        "docs/a.md:1: src/base/fs.h does not exist",
        "docs/a.md:1: tests/ does not exist",
    ]
    files |= {"src/base/fs.h": "", "tests/unit/a.cc": ""}
    assert problems(tidy.markdown_paths, files) == []
    assert problems(tidy.markdown_paths, {"a.md": "[x](no.md)\n"}) == ["a.md:1: no.md does not exist"]
    assert problems(tidy.markdown_paths, {"a.md": "[x](https://example.org/no.md)\n```\n`src/no.h`\n```\n"}) == []


def test_samples_in_documents_are_the_tested_files() -> None:
    def readme(body: str, marker: str = "<!-- file: examples/a.py -->\n") -> str:
        return f"# Title\n\n{marker}```python\n{body}```\n"

    source = PY + "import tracker\n"
    files = {"README.md": readme("import tracker\n"), "examples/a.py": source}
    assert problems(tidy.markdown_samples, files) == []
    assert problems(tidy.markdown_samples, {**files, "README.md": readme("import trucker\n")}) == [
        "README.md:3: the sample is not what examples/a.py says"
    ]
    assert problems(tidy.markdown_samples, {"README.md": readme("import tracker\n")})
    assert problems(tidy.markdown_samples, {**files, "README.md": readme("import tracker\n", marker="")})
    assert problems(tidy.markdown_samples, {"docs/a.md": readme("anything\n", marker="")}) == []


def test_a_sample_may_be_a_region_of_a_file() -> None:
    source = CPP + textwrap.dedent("""\
        int main() {
          // [sample]
          auto run = tracker::init();
          run.finish();
          // [/sample]
        }
        """)
    document = "<!-- file: examples/a.cc -->\n```cpp\nauto run = tracker::init();\nrun.finish();\n```\n"
    assert problems(tidy.markdown_samples, {"docs/a.md": document, "examples/a.cc": source}) == []
    assert problems(tidy.markdown_samples, {"docs/a.md": document, "examples/a.cc": source.replace("init", "open")})


def test_words_of_all_documents_but_formats_are_counted() -> None:
    most = "one – word " * (tidy.DOCUMENT_WORDS_MAX // 2)
    assert problems(tidy.document_words, {"docs/a.md": most, "docs/formats/b.md": "a b c", "src/a.cc": "a b c"}) == []
    (problem,) = problems(tidy.document_words, {"docs/a.md": most, "README.md": "a b"})
    assert problem.startswith("docs/a.md:1: ")


def test_large_files_are_found() -> None:
    assert problems(tidy.large_files, {}, sizes={"tests/data.bin": (1 << 20) + 1, "a": 1}) == [
        "tests/data.bin:1: 1048577 bytes; at most 1048576"
    ]


def test_loading_sees_untracked_files_but_no_ignored_ones(tmp_path: Path) -> None:
    import subprocess

    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("*.o\n")
    (tmp_path / "a.o").write_text("object")
    (tmp_path / "b.cc").write_text(CPP)
    (tmp_path / "c.bin").write_bytes(b"\0\1")
    (tmp_path / "link").symlink_to("b.cc")
    repo = tidy.load(tmp_path)
    assert set(repo.files) == {".gitignore", "b.cc"}
    assert repo.sizes["c.bin"] == 2


def test_the_gil_released_by_hand_is_found_in_bindings() -> None:
    by_hand = "const py::gil_scoped_release without_gil;\n"
    found = problems(tidy.released_gil, {"bindings/a.cpp": "\n" + by_hand})
    assert found == [
        "bindings/a.cpp:2: gil_scoped_release; the GIL is released by ReleasedGil (bindings/released_gil.h)"
    ]
    assert problems(tidy.released_gil, {"bindings/a.cpp": "Py_END_ALLOW_THREADS;\n"})
    assert problems(tidy.released_gil, {"bindings/a.cpp": "const ReleasedGil without_gil;\n"}) == []
    assert problems(tidy.released_gil, {"bindings/released_gil.h": "PyEval_SaveThread()\n"}) == []
    assert problems(tidy.released_gil, {"tests/install/a.cpp": by_hand}) == []
