# SPDX-License-Identifier: MIT
"""Goal: the references of Python, C and C++ have every public name with its signature and its text.

Method: names of the real sources are compared with the pages; small sources for what a page looks like.
"""

from __future__ import annotations

import re

import docs_headers
import docs_python
import tidy

FILES = tidy.load().files


def test_python_has_each_public_name_but_those_that_are_values() -> None:
    names = docs_python.public_names(docs_python.Package(FILES))
    page = docs_python.page(FILES)
    missing = {name for name in names if f"\n## {name}\n" not in page}
    assert len(names) > 50
    assert missing == {"__version__", "config", "run", "summary"}
    assert "### Run.log\n\n```python\nlog(data: Mapping[str, Any], step: float | None = None) -> None\n" in page
    assert "Logs a dict of names to values under one step and one time." in page, "the text of a method of the core"


def test_c_has_each_exported_function_and_cpp_each_public_one() -> None:
    header = FILES["include/tracker/tracker.h"]
    exported = re.findall(r"^TRK_API [^;(]*?(\w+)\(", header, re.M)
    page = docs_headers.c_page(FILES)
    assert len(exported) > 40
    assert [name for name in exported if f"\n### {name}\n" not in page] == []
    cpp = docs_headers.cpp_page(FILES)
    for name in ("### init\n", "#### Run::finish\n", "### Status\n", "#### Artifact::download\n", "#### Metric::log\n"):
        assert f"\n{name}" in cpp


def test_a_class_is_shown_with_its_bases_and_without_what_is_private() -> None:
    files = {
        "python/tracker/__init__.py": '__all__ = ["A"]\nif TYPE_CHECKING:\n    from tracker._a import B as A\n',
        "python/tracker/_a.py": (
            "from tracker._b import Base\n"
            'class B(Base):\n    """Text."""\n    def __init__(self, x: int, *rest: str, y: float = 1.0) -> None: ...\n'
            "    @property\n    def size(self) -> int:\n        '''How large.'''\n    def _hidden(self) -> None: ...\n"
        ),
        "python/tracker/_b.py": "class Base:\n    def of(self, /, a, *, b=None) -> bool: ...\n",
    }
    page = docs_python.page(files)
    assert "```python\nclass B(x: int, *rest: str, y: float = 1.0)\n```\n\n```text\nText.\n```" in page
    assert "```python\nsize: int\n```\n\n```text\nHow large.\n```" in page
    assert "```python\nof(a, *, b=None) -> bool\n```" in page
    assert "_hidden" not in page


def test_a_declaration_goes_with_the_comment_above_it_and_without_its_body() -> None:
    header = (
        "// SPDX\n// About.\n#pragma once\n\n/// Adds.\n/// Twice.\ninline int add(int a) noexcept {\n  return a;\n}\n"
        "/* not of the next one */\n\nclass A {\n public:\n  A(int x) : x_(x) {}  // NOLINT\n  /// Ends.\n"
        "  void end(int t = {});\n\n private:\n  int x_;\n};\nstruct S {\n  int a;  ///< of it\n};\n"
    )
    page = "".join(docs_headers.reference(header.split("\n", 2)[2], "cpp"))
    assert "### add\n\nAdds.\nTwice.\n\n```cpp\ninline int add(int a) noexcept;\n```" in page
    assert "#### A::A\n\n```cpp\nA(int x);\n```" in page
    assert "#### A::end\n\nEnds.\n\n```cpp\nvoid end(int t = {});\n```" in page
    assert "### S\n\n```cpp\nstruct S {\n  int a;  ///< of it\n};\n```" in page
    assert "not of the next one" not in page
    assert "x_" not in page.replace("A(int x)", "")
