# SPDX-License-Identifier: MIT
"""What the process prints, captured at the streams of Python, or at the descriptors by a relay process.

It may import the shared modules.
"""
