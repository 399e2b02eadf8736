# SPDX-License-Identifier: MIT
"""Artifacts that a program makes, and how a run logs and uses them.

It may import the shared modules and _reading.
"""
