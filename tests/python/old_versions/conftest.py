# SPDX-License-Identifier: MIT
"""The stores of tests/compat, unpacked for a test, and the modules that read them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

COMPAT = Path(__file__).parents[2] / "compat"


def load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(COMPAT))
    monkeypatch.syspath_prepend(str(COMPAT.parent / "second_reader"))
    yield {
        "contents": load("compat_contents", COMPAT / "contents.py"),
        "make": load("compat_make", COMPAT / "make.py"),
        "artifact": load("second_reader_artifact", COMPAT.parent / "second_reader" / "artifact.py"),
        "bundle": load("second_reader_bundle", COMPAT.parent / "second_reader" / "bundle.py"),
        "second": load("second_reader_run", COMPAT.parent / "second_reader" / "run.py"),
    }
    for name in set(sys.modules) - before:
        path = getattr(sys.modules[name], "__file__", None)
        if path and Path(path).parent.name in ("compat", "second_reader"):
            del sys.modules[name]


@pytest.fixture
def unpacked(tmp_path: Path, modules: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch) -> Any:
    def unpack(version: str) -> Path:
        root = tmp_path / version
        root.mkdir()
        modules["make"].unpack(COMPAT / version / "store.tar.gz", root)
        monkeypatch.setenv("TRACKER_SHM_DIR", str(root / "shm"))
        return root

    return unpack
