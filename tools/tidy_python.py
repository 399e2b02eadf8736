# SPDX-License-Identifier: MIT
"""The imports of python/tracker: rooms import only rooms below them, and no modules import each other in a circle.

An import counts wherever it is written: at the top, in a function, under `if TYPE_CHECKING`. `from a import b` imports
the module a.b where there is one, else a.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

PACKAGE = "python/tracker/"
CONSOLE = PACKAGE + "server/console/"  # built by Node

# The modules beside the rooms, which every room may import: from the bottom up, each may import those before it.
SHARED = (
    *("_core", "_load_error", "_numpy", "_arguments", "_mapping_entries", "_plain_values"),
    *("_refused_value_hint", "_multiprocessing_parent", "_open_runs", "_own_thread"),
)
_BELOW = frozenset({"_console", "_media", "_reading", "_artifacts", "_recording"})
# What each room may import beside itself and SHARED: "tracker" is python/tracker/__init__.py.
ROOMS: dict[str, frozenset[str]] = {
    "_console": frozenset(),
    "_media": frozenset(),
    "_reading": frozenset({"_console", "_media"}),
    "_artifacts": frozenset({"_reading"}),
    "_recording": _BELOW,
    "tracker": _BELOW,
    "exchange": frozenset({"tracker", "_media", "_reading"}),
    "server": frozenset(),
    "compat": frozenset({"tracker", *_BELOW}),
    "__main__": frozenset({"exchange", "server"}),
}

FILES_MAX = 40  # of a folder

Edge = tuple[str, int]  # a module that is imported, and the line


def module_of(path: str) -> str:
    name = path.removeprefix("python/").removesuffix(".pyi").removesuffix(".py").replace("/", ".")
    return name.removesuffix(".__init__")


def _names(node: ast.AST, package: str) -> Iterator[tuple[str, str]]:
    """(module, name in it or "") for each import of a statement; `package`: that of the file, for relative ones."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name, ""
    elif isinstance(node, ast.ImportFrom):
        above = package.split(".")[: -node.level + 1 or None] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        for alias in node.names:
            yield base, alias.name


def import_graph(files: Mapping[str, str]) -> dict[str, list[Edge]]:
    """By module of the package: which of its modules it imports, in the order of lines."""
    paths = [path for path in files if path.startswith(PACKAGE) and path.endswith((".py", ".pyi"))]
    modules = {module_of(path): path for path in paths if not path.startswith(CONSOLE)}
    graph: dict[str, list[Edge]] = {}
    for module, path in modules.items():
        package = module if path.endswith("/__init__.py") else module.rpartition(".")[0]
        found: dict[str, int] = {}
        for node in ast.walk(ast.parse(files[path])):
            for base, name in _names(node, package):
                target = f"{base}.{name}" if f"{base}.{name}" in modules else base
                if target in modules and target != module:
                    found.setdefault(target, getattr(node, "lineno", 1))
        graph[module] = sorted(found.items(), key=lambda edge: edge[1])
    return graph


def circle(graph: Mapping[str, list[Edge]]) -> list[str]:
    """Modules of which each imports the next, the first one again at the end; empty where there is no circle."""
    done: set[str] = set()

    def search(path: list[str]) -> list[str]:
        for target, _ in graph[path[-1]]:
            if target in path:
                return [*path[path.index(target) :], target]
            if target not in done and (found := search([*path, target])):
                return found
        done.add(path[-1])
        return []

    return next((found for module in graph if module not in done and (found := search([module]))), [])


def room_of(module: str) -> str:
    """The room of a module, "shared", or "tracker" for the package itself."""
    part = module.split(".")[1] if "." in module else "tracker"
    return "shared" if part in SHARED else part


def _may_import(module: str, target: str) -> bool:
    room, other = room_of(module), room_of(target)
    if room == "shared":
        order = [f"tracker.{name}" for name in SHARED]
        return target in order and order.index(target) < order.index(module)
    allowed = {"shared", room, *ROOMS.get(room, ())}
    return other in allowed


def python_imports(files: Mapping[str, str]) -> Iterator[str]:
    graph = import_graph(files)
    paths = {module_of(path): path for path in files if path.startswith(PACKAGE)}
    for module, edges in graph.items():
        room = room_of(module)
        if room != "shared" and room not in ROOMS:
            yield f"{paths[module]}:1: {room} is neither a room nor a shared module (tools/tidy_python.py)"
            continue
        for target, line in edges:
            if not _may_import(module, target):
                yield f"{paths[module]}:{line}: {room} may not import {target} (tools/tidy_python.py)"
    for folder, count in Counter(path.rpartition("/")[0] for path in paths.values()).items():
        if count > FILES_MAX:
            yield f"{folder}:1: {count} files; at most {FILES_MAX} in a folder"
    if found := circle(graph):
        line = dict(graph[found[0]])[found[1]]
        yield f"{paths[found[0]]}:{line}: modules import each other in a circle: {' -> '.join(found)}"
