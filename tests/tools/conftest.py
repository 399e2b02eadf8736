# SPDX-License-Identifier: MIT
"""Makes the scripts of tools/ and benchmarks/ importable."""

import sys
from pathlib import Path

for folder in ("tools", "benchmarks"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / folder))
