# SPDX-License-Identifier: MIT
"""Goal: an option of init() and a field of status() have the same name in C, C++, Python and the documents; one that is
added to one of them is added to the others, or named here as an exception.

Method: the declarations are read as text.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
C = (ROOT / "include/tracker/tracker.h").read_text()
CPP = (ROOT / "include/tracker/tracker.hpp").read_text()
INIT = (ROOT / "python/tracker/_recording/init.py").read_text()
STATUS = (ROOT / "python/tracker/_recording/status.py").read_text()


def members(text: str, struct: str) -> set[str]:
    """The names of the members of a struct of a header."""
    body = re.search(rf"struct {struct} {{\n(.*?)\n}}", text, re.DOTALL)
    assert body, struct
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", body[1], flags=re.DOTALL)
    return set(re.findall(r"(\w+)(?:\[\d+\])?\s*(?:=[^;]*)?;", code))


def init_function() -> ast.FunctionDef:
    return next(n for n in ast.parse(INIT).body if isinstance(n, ast.FunctionDef) and n.name == "init")


def python_options() -> set[str]:
    arguments = init_function().args
    return {argument.arg for argument in [*arguments.args, *arguments.kwonlyargs]}


def documented_options() -> dict[str, str]:
    """Each option of the docstring of init(), and the text about it."""
    found = {}
    docstring = ast.get_docstring(init_function()) or ""
    for names, text in re.findall(r"^([a-z]\w*(?:, \w+)*): (.*(?:\n    .*)*)", docstring, re.MULTILINE):
        for name in names.split(", "):
            found[name] = f"{names}: {text}"
    return found


def test_options_of_init_have_the_same_names_in_c_cpp_and_python() -> None:
    c, cpp = members(C, "trk_init_options") - {"size", "tag_count"}, members(CPP, "InitOptions")
    assert cpp - c == {"config"}, "which C sets by calls"
    assert c - cpp == set()
    assert python_options() - cpp == {"console"}, "which wraps streams of Python"
    assert cpp - python_options() == set()


def test_the_docstring_of_init_lists_every_option_with_its_default() -> None:
    documented = documented_options()
    assert set(documented) == python_options()
    assert [name for name, text in documented.items() if "default" not in text.lower()] == []


def test_the_docstring_of_init_and_the_documents_name_the_same_variables() -> None:
    documented = set()
    for names, text in ((text.split(": ")[0].split(", "), text) for text in documented_options().values()):
        documented |= set(zip(names, re.findall(r"TRACKER_[A-Z_]+", text), strict=False))
    table = re.findall(
        r"^\| `(TRACKER_[A-Z_]+)` \| `(\w+)` \|", (ROOT / "docs/environment.md").read_text(), re.MULTILINE
    )
    assert documented == {(option, variable) for variable, option in table}


def status_fields() -> set[str]:
    body = STATUS.split("class RunStatus(NamedTuple):")[1].split("@property")[0]
    return set(re.findall(r"^    (\w+): ", body, re.MULTILINE))


def test_fields_of_status_have_the_same_names_in_c_cpp_and_python() -> None:
    # C has no structs within structs, and bits for what Python names in a tuple.
    c = {"cost" if name.startswith("cost_") else name for name in members(C, "trk_status") - {"size"}}
    cpp = {"survives" if name.startswith("survives_") else name for name in members(CPP, "Status")}
    of_media = {"media_logged", "media_stored", "media_dropped"}
    assert c - cpp == {"store_files", "store_parts", *of_media}
    assert cpp - c == set()
    assert c - status_fields() == {"rank"}, "which is Run.rank"
    assert status_fields() - c == {
        *("values_rounded", "values_redacted", "values_on_device", "steps_changed", "media_plainer"),
        *("alerts_dropped", "console_cut_bytes", "journal_bytes", "why_not_recording", "file_system"),
        *("recovered_points", "max_disk", "series"),
    }


def test_the_module_gives_all_fields_of_status_but_those_that_python_counts() -> None:
    text = (ROOT / "bindings/register_run.cpp").read_text()
    function = re.search(r"py::dict status\w*\(.*?\n}", text, re.DOTALL)
    assert function
    given = set(re.findall(r'out\["(\w+)"\]', function[0]))
    counted = {"values_rounded", "media_plainer", "values_on_device", "series"}
    assert status_fields() - given == counted
    assert given <= status_fields()


def test_documents_name_only_fields_that_status_has() -> None:
    known = status_fields() | members(CPP, "Status") | set(re.findall(r"@property\n    def (\w+)", STATUS))
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "python/tracker").rglob("*.py")]:
        named = set(re.findall(r"\bstatus\(\)\.(\w+)", path.read_text()))
        assert named <= known, path
