# SPDX-License-Identifier: MIT
"""Configuration files of the originals: JSON always, YAML where PyYAML is installed."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The mapping that the file holds; {} for an empty file.

    FileNotFoundError; ImportError for YAML without PyYAML; ValueError, with the path, for a file that cannot be parsed
    or holds no mapping.
    """
    text = Path(path).read_text(encoding="utf-8")
    try:
        found = json.loads(text) if text.strip() else {}
    except ValueError as error:
        if Path(path).suffix.lower() == ".json":
            raise ValueError(f"{path} is not JSON: {error}") from None
        found = _yaml(path, text)
    if not isinstance(found, dict):
        raise ValueError(f"{path} must hold a mapping, found {type(found).__name__}")
    return {str(key): value for key, value in found.items()}


def _yaml(path: str | os.PathLike[str], text: str) -> Any:
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError as error:
        raise ImportError(f"PyYAML is needed to read {path}: pip install pyyaml, or write the file as JSON") from error
    try:
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ValueError(f"{path} is not YAML: {error}") from None
