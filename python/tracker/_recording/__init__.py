# SPDX-License-Identifier: MIT
"""What records a run in this process: init(), the Run and its verbs, its end.

Imports every other room but compat, exchange and server.
"""
