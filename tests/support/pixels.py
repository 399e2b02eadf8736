# SPDX-License-Identifier: MIT
"""Images for tests of media, each of its own content."""

from __future__ import annotations

from typing import Any

import numpy as np


def pixels(height: int = 6, width: int = 5, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
