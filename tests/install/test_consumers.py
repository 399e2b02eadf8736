# SPDX-License-Identifier: MIT
"""Users' projects build against the library in each way the README names, and record a run.

Method: tiny projects in this folder are built against an installed tree (or this tree, as a subdirectory), run with
TRACKER_DIR at an empty folder, and their run is found in the store afterwards.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., str]
HERE = Path(__file__).resolve().parent
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic"]


def assert_records_a_run(run: Run, prefix: Path, program: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    environment = {"TRACKER_DIR": str(store), "LD_LIBRARY_PATH": str(prefix / "lib")}
    run_id = run([program], cwd=tmp_path, **environment).strip()
    folder = store / "runs" / "install-test" / run_id
    # One writer, and plain files: no -wal or -shm is left of a run that was finished.
    assert sorted(path.suffix for path in folder.iterdir() if path.is_file()) == [".db", ".json"]
    rows = run([prefix / "bin" / "tracker", "export", f"install-test/{run_id}", "--format", "jsonl"], **environment)
    points = [json.loads(row) for row in rows.splitlines()[1:]]  # the first line is the run
    assert [(point["step"], point["value"]) for point in points] == [(step, 1 / (1 + step)) for step in range(100)]


def pkg_config(run: Run, prefix: Path, *arguments: str) -> list[str]:
    return run(["pkg-config", *arguments, "tracker"], PKG_CONFIG_PATH=str(prefix / "lib" / "pkgconfig")).split()


def test_cpp_project_by_find_package(run: Run, prefix: Path, tmp_path: Path) -> None:
    build = tmp_path / "build"
    run(["cmake", "-G", "Ninja", "-S", HERE / "find-package", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"])
    run(["cmake", "--build", build])
    assert_records_a_run(run, prefix, build / "consumer", tmp_path)


def test_find_package_refuses_another_major_version(run: Run, prefix: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    text = (HERE / "find-package" / "CMakeLists.txt").read_text()
    (project / "CMakeLists.txt").write_text(text.replace("tracker 0.1 REQUIRED", "tracker 1.0"))
    shutil.copy(HERE / "find-package" / "main.cc", project)
    with (project / "CMakeLists.txt").open("a") as out:
        out.write("if(tracker_FOUND)\n  message(FATAL_ERROR version)\nendif()\n")
    text = (project / "CMakeLists.txt").read_text().replace("target_link_libraries", "# target_link_libraries")
    (project / "CMakeLists.txt").write_text(text)
    run(["cmake", "-G", "Ninja", "-S", project, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"])


def test_c99_program_by_pkg_config(run: Run, prefix: Path, tmp_path: Path) -> None:
    flags = pkg_config(run, prefix, "--cflags", "--libs")
    program = tmp_path / "consumer"
    run(["gcc", "-std=c99", *WARNINGS, HERE / "pkg-config-c" / "main.c", "-o", program, *flags])
    assert_records_a_run(run, prefix, program, tmp_path)


def test_pkg_config_knows_the_version_of_the_header(run: Run, prefix: Path) -> None:
    header = (prefix / "include" / "tracker" / "version.h").read_text()
    assert f'TRK_VERSION_STRING "{pkg_config(run, prefix, "--modversion")[0]}"' in header


def test_cpp_project_by_add_subdirectory(run: Run, root: Path, prefix: Path, tmp_path: Path) -> None:
    # In a folder that stays, so that a second run of the tests does not compile the library again.
    build = root / "build" / "add-subdirectory"
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    command = ["cmake", "-G", "Ninja", "-S", HERE / "add-subdirectory", "-B", build, f"-DTRACKER_SOURCE_DIR={root}"]
    run([*command, "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", *launcher])
    run(["cmake", "--build", build, "-j2"])
    assert_records_a_run(run, prefix, build / "consumer", tmp_path)


@pytest.mark.parametrize(
    "flags",
    [["-D_GLIBCXX_USE_CXX11_ABI=0"], ["-D_GLIBCXX_USE_CXX11_ABI=1"], ["-fno-exceptions", "-fno-rtti"], ["-O0"]],
    ids=["old-libstdc++-abi", "new-libstdc++-abi", "no-exceptions", "unoptimised"],
)
def test_cpp_program_with_other_compiler_flags(run: Run, prefix: Path, tmp_path: Path, flags: list[str]) -> None:
    program = tmp_path / "consumer"
    libraries = pkg_config(run, prefix, "--cflags", "--libs")
    source = HERE / "find-package" / "main.cc"
    run(["g++", "-std=c++20", *WARNINGS, *flags, source, "-o", program, *libraries])
    assert_records_a_run(run, prefix, program, tmp_path)


FLAGS = [
    ["-std=c++17", "-O2"],
    ["-std=c++20", "-O2", "-D_GLIBCXX_USE_CXX11_ABI=0"],
    ["-std=c++20", "-fno-exceptions", "-fno-rtti"],
    ["-std=c++17", "-fno-exceptions", "-fno-rtti", "-D_GLIBCXX_USE_CXX11_ABI=0"],
    ["-std=c++23", "-Wconversion", "-Wshadow"],
]


@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
def test_cpp_header_with_other_compiler_flags(run: Run, prefix: Path, tmp_path: Path, flags: list[str]) -> None:
    program = tmp_path / "consumer"
    libraries = pkg_config(run, prefix, "--cflags", "--libs")
    run(["g++", *WARNINGS, *flags, HERE / "cpp-header" / "main.cc", "-o", program, *libraries])
    assert_records_a_run(run, prefix, program, tmp_path)


@pytest.mark.parametrize("compiler", [["gcc", "-std=c99"], ["gcc", "-std=c17"], ["g++", "-std=c++11"]], ids=" ".join)
def test_c_header_compiles_alone(run: Run, prefix: Path, tmp_path: Path, compiler: list[str]) -> None:
    source = tmp_path / ("one.c" if compiler[0] == "gcc" else "one.cc")
    source.write_text("#include <tracker/tracker.h>\n")
    run([*compiler, *WARNINGS, "-fsyntax-only", f"-I{prefix}/include", source])


def test_only_the_public_headers_are_installed(root: Path, prefix: Path) -> None:
    ours = {path.name for path in (root / "include" / "tracker").iterdir()}
    assert {path.relative_to(prefix / "include").as_posix() for path in (prefix / "include").rglob("*.h*")} == {
        f"tracker/{name}" for name in ours
    }


def test_the_installed_program_starts(run: Run, prefix: Path) -> None:
    version = (prefix / "include" / "tracker" / "version.h").read_text().split('TRK_VERSION_STRING "')[1].split('"')[0]
    assert version in run([prefix / "bin" / "tracker", "version"])
