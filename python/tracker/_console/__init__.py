# SPDX-License-Identifier: MIT
"""What the process prints, captured: by the streams of Python, or by descriptors and a relay process.

Imports the shared modules only.
"""
