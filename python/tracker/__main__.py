# SPDX-License-Identifier: MIT
"""`python -m tracker`: the command line."""

from tracker._cli import main

main()
