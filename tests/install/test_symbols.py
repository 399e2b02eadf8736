# SPDX-License-Identifier: MIT
"""The shared library and the Python module export their interface and nothing else.

Method: `nm` on what the build made. A symbol that leaks can be bound to, or bound from, another library's copy of the
same code in the user's process.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., str]


def exported(run: Run, library: Path) -> set[str]:
    lines = run(["nm", "-D", "--defined-only", library]).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def test_library_exports_the_functions_of_its_header_and_nothing_else(run: Run, root: Path) -> None:
    header = (root / "include" / "tracker" / "tracker.h").read_text()
    declared = set(re.findall(r"^TRK_API [^;(]*?\b(trk_\w+)\(", header, re.MULTILINE))
    assert len(declared) > 10
    assert exported(run, root / "build" / "lib" / "libtracker.so") == declared


def test_python_module_exports_its_init_function_alone(run: Run, root: Path) -> None:
    (module,) = (root / "build" / "python" / "tracker").glob("_core*.so")
    assert exported(run, module) == {"PyInit__core"}


def test_library_carries_its_major_version_as_soname(run: Run, root: Path) -> None:
    version = (root / "include" / "tracker" / "version.h").read_text()
    major = re.search(r"TRK_VERSION_MAJOR (\d+)", version)
    assert major
    dynamic = run(["readelf", "-d", root / "build" / "lib" / "libtracker.so"])
    assert f"[libtracker.so.{major.group(1)}]" in dynamic


def test_thread_local_state_does_not_need_the_initial_thread_image(run: Run, root: Path) -> None:
    # Static TLS is a few hundred bytes a process; a module loaded late that asks for it may fail to load.
    for library in [
        root / "build" / "lib" / "libtracker.so",
        *(root / "build" / "python" / "tracker").glob("_core*.so"),
    ]:
        assert "STATIC_TLS" not in run(["readelf", "-d", library]), library


def test_shared_library_does_not_need_what_only_listings_use(run: Run, root: Path) -> None:
    # RE2 serves the filters of listings. A C++ program that records runs does not load it.
    assert "libre2" not in run(["readelf", "-d", root / "build" / "lib" / "libtracker.so"])
