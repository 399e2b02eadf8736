# SPDX-License-Identifier: MIT
"""python.md: the Python reference, each public name of the package with its signature and docstring.

The names are those of `__all__`; imports are followed to the file that defines them, nothing is imported. What the
compiled core defines has its signature in _core.pyi and its text in the strings of bindings/.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

PACKAGE = "tracker"
WIDTH = 100
Files = Mapping[str, str]
Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.ClassDef | Function


@dataclass(frozen=True)
class Found:
    module: str
    node: Definition


class Package:
    def __init__(self, files: Files) -> None:
        self.files = files
        self.trees: dict[str, ast.Module] = {}
        self.texts = dict(core_texts(files))

    def tree(self, module: str) -> ast.Module | None:
        """The sources of a module of the package; None for one of somebody else."""
        if module not in self.trees:
            path = "python/" + module.replace(".", "/")
            text = next(
                (
                    self.files[name]
                    for name in (f"{path}.py", f"{path}.pyi", f"{path}/__init__.py")
                    if name in self.files
                ),
                None,
            )
            if text is None:
                return None
            self.trees[module] = ast.parse(text)
        return self.trees[module]

    def find(self, module: str, name: str) -> Found | None:
        """Where a name of a module is defined; imports within the package are followed."""
        tree = self.tree(module)
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, Definition) and node.name == name and node in top_level(tree):
                return Found(module, node)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
                for alias in node.names:
                    if name in (alias.asname, alias.name) and name == (alias.asname or alias.name):
                        return self.find(node.module or "", alias.name)
        return None

    def bases(self, found: Found) -> Iterator[Found]:
        for base in found.node.bases if isinstance(found.node, ast.ClassDef) else ():
            module, _, name = ast.unparse(base).rpartition(".")
            place = f"{PACKAGE}.{module}" if module else found.module
            inherited = self.find(place, name)
            if inherited:
                yield inherited
                yield from self.bases(inherited)

    def members(self, found: Found) -> Iterator[Function]:
        """Public methods and properties of a class, then those that it inherits from other classes of the package."""
        seen = set()
        for each in (found, *self.bases(found)):
            for node in each.node.body:
                if isinstance(node, Function) and not node.name.startswith("_") and node.name not in seen:
                    seen.add(node.name)
                    yield node

    def text(self, node: Definition) -> str:
        own = ast.get_docstring(node)
        if own is None and isinstance(node, Function):
            own = self.texts.get((node.name, tuple(argument.arg for argument in node.args.args[1:])))
        return own or ""


def top_level(tree: ast.Module | None) -> list[ast.stmt]:
    return tree.body if tree else []


def core_texts(files: Files) -> Iterator[tuple[tuple[str, tuple[str, ...]], str]]:
    """(name, parameters) and text of the methods in bindings/: "log($self, /, data, step=None)\\n--\\n\\nLogs ..."."""
    for path, text in files.items():
        if path.startswith("bindings/") and path.endswith(".cpp"):
            for literals in re.findall(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', text):
                whole = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', literals)).replace("\\n", "\n").replace('\\"', '"')
                found = re.search(r"(\w+)\(\$self(?:, )?(.*)\)\n--\n\n", whole)
                if found:
                    names = tuple(re.findall(r"(\w+)(?:=[^,]*)?", found[2]))
                    yield (found[1], names), whole[found.end() :]


def arguments_of(node: Definition) -> ast.arguments | None:
    if isinstance(node, Function):
        return node.args
    made = [each for each in node.body if isinstance(each, Function) and each.name in ("__init__", "__new__")]
    return made[0].args if made else None


def signature(node: Definition, *, method: bool = False) -> str:
    arguments = arguments_of(node)
    returns = f" -> {ast.unparse(node.returns)}" if isinstance(node, Function) and node.returns else ""
    if arguments is None:
        fields = [ast.unparse(each) for each in node.body if isinstance(each, ast.AnnAssign)]
        fields = [field for field in fields if not field.startswith("_")]
        return f"class {node.name}" + "".join(f"\n    {field}" for field in fields)
    if isinstance(node, Function) and any(ast.unparse(each).endswith("property") for each in node.decorator_list):
        return f"{node.name}: {returns.removeprefix(' -> ')}"
    inner = [ast.unparse(each) for each in split_arguments(arguments)]
    if method or isinstance(node, ast.ClassDef):
        inner = inner[2 if inner[1:2] == ["/"] else 1 :]  # without self
    name = ("class " if isinstance(node, ast.ClassDef) else "") + node.name
    line = f"{name}({', '.join(inner)}){returns}"
    return line if len(line) <= WIDTH else f"{name}(\n    " + ",\n    ".join(inner) + f",\n){returns}"


def split_arguments(arguments: ast.arguments) -> Iterator[ast.AST]:
    """Each parameter by itself, with its default, and the marks / and *."""
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    for index, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
        yield one(argument, default)
        if arguments.posonlyargs and index == len(arguments.posonlyargs) - 1:
            yield ast.Name("/")
    if arguments.vararg:
        yield ast.Name("*" + ast.unparse(arguments.vararg))
    elif arguments.kwonlyargs:
        yield ast.Name("*")
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield one(argument, default)
    if arguments.kwarg:
        yield ast.Name("**" + ast.unparse(arguments.kwarg))


def one(argument: ast.arg, default: ast.expr | None) -> ast.AST:
    equals = "=" if argument.annotation is None else " = "
    return ast.Name(ast.unparse(argument) + (f"{equals}{ast.unparse(default)}" if default else ""))


def entry(heading: str, signature_text: str, text: str) -> str:
    body = f"\n\n```text\n{inspect.cleandoc(text)}\n```" if text else ""
    return f"{heading}\n\n```python\n{signature_text}\n```{body}\n"


def public_names(package: Package) -> list[str]:
    for node in top_level(package.tree(PACKAGE)):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def page(files: Files) -> str:
    package = Package(files)
    out = ["# Python reference\n\nMade by `make docs` of the docstrings of the package `tracker`.\n"]
    found = {name: package.find(PACKAGE, name) for name in public_names(package)}
    for name, definition in sorted(
        found.items(),
        key=lambda each: (each[1] is not None and isinstance(each[1].node, ast.ClassDef), each[0].lower()),
    ):
        if definition is None:
            continue  # a value: __version__, and run, config, summary, which are those of the current run
        out.append(entry(f"## {name}", signature(definition.node), package.text(definition.node)))
        if isinstance(definition.node, ast.ClassDef):
            for member in package.members(definition):
                out.append(entry(f"### {name}.{member.name}", signature(member, method=True), package.text(member)))
    return "\n".join(out)
