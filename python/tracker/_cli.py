# SPDX-License-Identifier: MIT
"""The entry point `tracker`: the command line is written once, in C++."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from tracker import _core, exchange


def main() -> NoReturn:
    """Runs the command line of sys.argv and exits with its code; Ctrl-C and a closed pipe end it as any program."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    raise SystemExit(_core.cli_main(["tracker", *sys.argv[1:]], exchange))
