# SPDX-License-Identifier: MIT
"""Goal: the stubs say what the module has, and the package and its users check with mypy --strict.
Method: compare _core.pyi with the live module by its syntax tree, run mypy."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest
import tracker
from tracker import _core

PACKAGE = Path(tracker.__file__).parent
USE = """
import tracker

run = tracker.init(project="p", config={"lr": 0.1}, tags=["a"], mode="local")
run.log({"loss": 0.5, "nested": {"a": 1}}, step=1)
run.log({"loss": 0.5})
run.metric("loss").log(0.5, 2)
run.config["lr"] = 0.2
run.summary["best"] = 1.0
lines: list[str] = [run.id, run.uid, run.name, run.project, run.dir, str(run.status())]
durable: bool = run.flush(timeout=1)
run.finish()
r = tracker.open_run("p/x")
total = float(r.history("loss").values.sum()) + r.history(["loss", "acc"])["loss"].sum()
names: list[str] = [each.id for each in tracker.runs(project="p")]
current: tracker.Run | None = tracker.run
with tracker.init() as other:
    other.log({"x": 1})


def best(stored: tracker.StoredRun, among: tracker.RunList) -> tracker.History:
    assert stored in among
    table: tracker.HistoryTable = stored.history(["loss"])
    assert len(table["loss"]) > 0
    return stored.history("loss")


best(r, tracker.runs())
"""


def public(names: object) -> set[str]:
    return {name for name in dir(names) if not name.startswith("__")}


def test_the_stub_names_exactly_what_the_module_has() -> None:
    tree = ast.parse((PACKAGE / "_core.pyi").read_text())
    declared: dict[str, set[str] | None] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            declared[node.name] = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        elif isinstance(node, ast.FunctionDef):
            declared[node.name] = None
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            declared[node.target.id] = None
    assert set(declared) == public(_core)
    for name, members in declared.items():
        live = getattr(_core, name)
        if members is None or issubclass(live, Exception):
            continue
        base = public(object)
        assert {m for m in members if not m.startswith("__")} == {
            m for m in public(live) - base if not m.startswith("_pybind11")
        }, name


def test_every_public_name_is_there_and_typed() -> None:
    assert (PACKAGE / "py.typed").exists()
    assert set(tracker.__all__) <= set(dir(tracker))
    for name in tracker.__all__:
        if name not in ("config", "summary"):
            getattr(tracker, name)
    assert "log" in vars(tracker)
    assert "finish" in vars(tracker)


def test_the_types_of_what_is_read_work_in_annotations(run: tracker.Run) -> None:
    run.log({"x": 1.0}, step=0)

    def read(
        stored: tracker.StoredRun, every: tracker.RunList, one: tracker.History, both: tracker.HistoryTable
    ) -> None: ...

    hints = get_type_hints(read)
    stored = tracker.open_run(run.uid)
    assert isinstance(stored, hints["stored"])
    assert isinstance(tracker.runs(), hints["every"])
    assert isinstance(stored.history("x"), hints["one"])
    assert isinstance(stored.history(["x"]), hints["both"])


@pytest.mark.parametrize("what", ["package", "use", "misuse"])
def test_mypy_strict_accepts_the_package_and_right_use(what: str, tmp_path: Path) -> None:
    path = tmp_path / "use.py"
    path.write_text(USE if what == "use" else 'import tracker\ntracker.init(projet="x")\ntracker.log(3)\n')
    source = PACKAGE.resolve() / "__init__.py"
    target = str(source.resolve().parent) if what == "package" else str(path)
    root = source.resolve().parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), target],
        capture_output=True,
        text=True,
        env={"MYPYPATH": str(root), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        check=False,
    )
    if what == "misuse":
        assert done.returncode == 1
        assert done.stdout.count("error:") == 2, done.stdout
    else:
        assert done.returncode == 0, done.stdout + done.stderr
