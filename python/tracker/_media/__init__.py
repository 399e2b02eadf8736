# SPDX-License-Identifier: MIT
"""Media that log() takes: their classes, their encoding, and the queue where they wait for it.

Imports the shared modules only.
"""
