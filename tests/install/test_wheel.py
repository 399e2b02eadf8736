# SPDX-License-Identifier: MIT
"""The wheel works in a clean environment on a machine that has none of the libraries it was built with.

Method: `make wheel`, then an environment with nothing but this wheel. Where root may make a mount namespace, the
system's copies of the bundled libraries are hidden while the package runs.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path

import conditions
import pytest
from conditions import needs

Run = Callable[..., str]
BUNDLED = ("libsqlite3", "libfmt", "libre2", "libzstd")
# What every glibc system with a Python has; manylinux allows exactly these among ours.
SYSTEM = re.compile(r"(libc|libm|libstdc\+\+|libgcc_s|libpthread|librt|libdl|ld-linux-[\w-]+)\.so\.\d+")

RECORD_A_RUN = """
import json, os, subprocess, sys
import tracker
run = tracker.init(project="wheel-test", quiet=True, strict=True)
for step in range(100):
    run.log({"loss": 1 / (1 + step)}, step=step)
run.finish()
with open("/proc/self/maps") as maps:
    loaded = sorted({line.split()[-1] for line in maps if ".so" in line})
command = [os.path.join(sys.prefix, "bin", "tracker"), "export", "wheel-test/" + run.id, "--format", "csv"]
own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # the wheel, not the build tree
done = subprocess.run(command, check=False, capture_output=True, text=True, env=own)
assert done.returncode == 0, done.stderr
lines = done.stdout.splitlines()
print(json.dumps({"points": len(lines) - 1, "loaded": loaded}))
"""


@pytest.fixture(scope="module")
def wheel(run: Run, root: Path) -> Path:
    run([sys.executable, root / "tools" / "wheel.py"])
    (made,) = (root / "dist").glob("*.whl")
    return made


@pytest.fixture(scope="module")
def environment(run: Run, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with this wheel and nothing else; returns its interpreter."""
    folder = tmp_path_factory.mktemp("wheel") / "venv"
    run([sys.executable, "-m", "venv", "--without-pip", folder])
    python = folder / "bin" / "python"
    run([sys.executable, "-m", "pip", "-q", f"--python={python}", "install", "--no-index", wheel])
    return python


# The extra `server` comes from the environment of these tests; the package is that of the wheel.
SHOW_UI = """
import sys
import tracker
sys.path.append({packages!r})
from tracker.__main__ import main
main()
"""


def record(run: Run, command: list[str | Path], tmp_path: Path) -> dict[str, object]:
    # -I: no PYTHONPATH and no current folder, so that only the installed package can be imported.
    output = run([*command, "-I", "-c", RECORD_A_RUN], cwd=tmp_path, TRACKER_DIR=str(tmp_path / "store"))
    answer = json.loads(output.splitlines()[-1])
    assert isinstance(answer, dict)
    return answer


def test_wheel_is_for_plain_manylinux(wheel: Path) -> None:
    assert re.search(r"-manylinux_2_\d+_(x86_64|aarch64)\.whl$", wheel.name), wheel.name


def test_wheel_holds_the_package_and_its_types(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"tracker/__init__.py", "tracker/py.typed", "tracker/_core.pyi"} <= names
    assert not [name for name in names if name.startswith(("tests/", "src/", "include/"))]


def test_wheel_carries_the_version_of_the_header(wheel: Path, root: Path) -> None:
    header = (root / "include" / "tracker" / "version.h").read_text()
    assert f'TRK_VERSION_STRING "{wheel.name.split("-")[1]}"' in header


def test_wheel_bundles_all_but_the_system_libraries(wheel: Path, run: Run, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    bundled = {path.name for path in tmp_path.glob("*.libs/*")}
    for name in BUNDLED:
        assert any(library.startswith(name) for library in bundled), bundled
    for library in tmp_path.rglob("*.so*"):
        needed = re.findall(r"\(NEEDED\).*\[(.+)\]", run(["readelf", "-d", library]))
        if library.name == "libtracker_http.so":
            needed.remove("libcurl.so.4")  # the system's, where there is one
        assert not [one for one in needed if one not in bundled and not SYSTEM.fullmatch(one)], library


def test_wheel_records_a_run_in_a_clean_environment(run: Run, environment: Path, tmp_path: Path) -> None:
    answer = record(run, [environment], tmp_path)
    assert answer["points"] == 100
    loaded = answer["loaded"]
    assert isinstance(loaded, list)
    assert not [path for path in loaded for name in BUNDLED if f"/{name}.so" in path], "a system library was loaded"


def test_ui_of_the_wheel_serves_the_console(run: Run, environment: Path, tmp_path: Path) -> None:
    record(run, [environment], tmp_path)
    script = SHOW_UI.format(packages=sysconfig.get_path("purelib"))
    words = [str(environment), "-I", "-c", script, "ui", "--no-browser", "--dir", str(tmp_path / "store")]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as ui:
        assert ui.stderr is not None
        try:
            address = ui.stderr.readline().removeprefix("tracker: ").split("/#code=")[0]
            with urllib.request.urlopen(address, timeout=60) as page:
                (script,) = re.findall(r'src="\./(assets/index-[^"]+\.js)"', page.read().decode())
            with urllib.request.urlopen(f"{address}/{script}", timeout=60) as answer:
                assert len(answer.read()) > 100_000
        finally:
            ui.kill()


def test_wheel_installs_the_command(run: Run, environment: Path, root: Path) -> None:
    output = run([environment.parent / "tracker", "version"])
    version = (root / "include" / "tracker" / "version.h").read_text()
    assert f'"{output.split()[-1]}"' in version


def test_wheel_needs_none_of_the_system_copies(run: Run, environment: Path, tmp_path: Path) -> None:
    needs(conditions.HIDDEN_FILES)
    cache = run(["ldconfig", "-p"])
    hidden = sorted({path for name in (*BUNDLED, "libzstd") for path in re.findall(rf"=> (\S*/{name}\.so\S*)", cache)})
    assert hidden, "this machine built the wheel, so it has them"
    mounts = "".join(f"mount --bind /dev/null {path}\n" for path in hidden)
    script = tmp_path / "hidden.sh"
    # Bind mounts live in this shell's own mount namespace and go with it.
    check = f"{sys.executable} -c \"import ctypes; ctypes.CDLL('{hidden[0]}')\" 2>/dev/null"
    script.write_text(f'set -e\n{mounts}if {check}; then echo "not hidden" >&2; exit 9; fi\nexec "$@"\n')
    assert record(run, ["unshare", "-m", "sh", script, environment], tmp_path)["points"] == 100
