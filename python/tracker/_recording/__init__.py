# SPDX-License-Identifier: MIT
"""init(), the Run that this process records, and what a run does until its end.

It may import the shared modules and every other room that begins with "_".
"""
