# SPDX-License-Identifier: MIT
"""Says why tracker._core could not be imported; imported only then."""

from __future__ import annotations

import importlib.machinery
import sys
import sysconfig
from pathlib import Path


def _likely_cause(text: str, modules: list[str]) -> str:
    if "subinterpreter" in text:
        return "tracker does not work in subinterpreters; import it in the main interpreter"
    if "GLIBC_" in text or "GLIBCXX_" in text:
        return "it was built for a newer system; build it here: pip install --no-binary tracker-run tracker-run"
    if not modules:
        return "it is not built here: pip install tracker-run, or in its sources make build and PYTHONPATH=build/python"
    tagged = [suffix for suffix in importlib.machinery.EXTENSION_SUFFIXES if suffix.count(".") > 1]
    if not any(name.endswith(suffix) for name in modules for suffix in tagged):
        return f"it was built for another interpreter ({', '.join(modules)}); install it with this interpreter's pip"
    return "the package is damaged or a library it needs is missing; install it again"


def explain(error: ImportError) -> str:
    """The message: interpreter, platform, what the loader said, and the likely cause."""
    modules = sorted(path.name for path in Path(__file__).parent.glob("_core.*") if path.suffix in (".so", ".pyd"))
    version = ".".join(map(str, sys.version_info[:3]))
    return (
        f"tracker's compiled part could not be loaded: {error}\n"
        f"  interpreter: {sys.executable} ({sys.implementation.name} {version})\n"
        f"  platform:    {sysconfig.get_platform()}\n"
        f"  likely:      {_likely_cause(str(error), modules)}"
    )
