# SPDX-License-Identifier: MIT
"""Artifacts in the making, and how a run logs and uses them.

Imports the shared modules and _reading.
"""
