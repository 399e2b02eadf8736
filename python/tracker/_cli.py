# SPDX-License-Identifier: MIT
"""The entry point `tracker`: the command line is written once, in C++."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from tracker import _core, exchange


def main() -> NoReturn:
    """Runs the command line of sys.argv and exits with its code. Ctrl-C ends it as any program. SIGPIPE and SIGXFSZ
    stay ignored, as Python has them: the write fails instead, and a reader that leaves is no failure (docs/cli.md)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    raise SystemExit(_core.cli_main(["tracker", *sys.argv[1:]], exchange))
