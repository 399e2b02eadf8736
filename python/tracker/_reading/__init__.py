# SPDX-License-Identifier: MIT
"""What reads runs back, of a store or of a server: rows, charts, texts, media, lists of runs.

Imports the shared modules, _media and _console.
"""
