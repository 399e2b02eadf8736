# SPDX-License-Identifier: MIT
"""Goal: `make demo` installs on a fresh machine.

Method: pip with --require-hashes refuses a lock file that lacks a dependency, so each must be there.
"""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]


def name_of(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[ ;<>=!~\[(]", requirement, maxsplit=1)[0]).lower()


def locked(file: str) -> dict[str, set[str]]:
    """The versions of each package; there are two where they depend on the version of Python."""
    out: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^ ;]+)", (ROOT / file).read_text(), re.MULTILINE):
        out.setdefault(name_of(name), set()).add(version)
    return out


# Bug: joblib's cloudpickle was not in the lock file of the demo, and README's first command failed.
@pytest.mark.parametrize("package", sorted(locked("requirements-demo.lock")))
def test_what_a_package_of_the_demo_needs_is_locked_too(package: str) -> None:
    needs = [Requirement(each) for each in metadata.requires(package) or []]
    wanted = {name_of(each.name) for each in needs if each.marker is None or each.marker.evaluate({"extra": ""})}
    assert wanted <= set(locked("requirements-demo.lock"))


def test_the_demo_has_the_versions_of_the_tests() -> None:
    tests = locked("requirements.lock")
    assert all(versions <= tests[name] for name, versions in locked("requirements-demo.lock").items())
