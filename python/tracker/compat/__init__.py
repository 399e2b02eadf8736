# SPDX-License-Identifier: MIT
"""Drop-ins for the interfaces of other trackers: a script changes its import line and records with tracker.

from tracker.compat import em
import tracker.compat.swanlab as swanlab

docs/compat.md lists what each of them records. Importing this package imports none of them. They may import the
public names of tracker, the shared modules and every room that begins with "_".
"""
