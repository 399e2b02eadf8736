# SPDX-License-Identifier: MIT
"""Runs and artifacts that are read back, of a store or of a server.

It may import the shared modules, _media and _console.
"""
