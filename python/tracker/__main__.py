# SPDX-License-Identifier: MIT
"""`python -m tracker` and the entry point `tracker`. The command line is written once, in C++; what it calls in Python
is here by name."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from tracker import _core
from tracker.exchange import export_parquet, import_source
from tracker.server import serve

__all__ = ["export_parquet", "import_source", "main", "serve"]


def main() -> NoReturn:
    """Runs the command line of sys.argv and exits with its code. Ctrl-C ends it as any program. SIGPIPE and SIGXFSZ
    stay ignored, as Python has them: the write fails instead, and a reader that leaves is no failure (docs/cli.md)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    raise SystemExit(_core.cli_main(["tracker", *sys.argv[1:]], sys.modules[__name__]))


if __name__ == "__main__":
    main()
