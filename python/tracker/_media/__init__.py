# SPDX-License-Identifier: MIT
"""Images, tables and all other media that log() takes: their classes, and the queue where they wait for encoding.

It may import the shared modules.
"""

from tracker._media import log_media as log_media  # gives the core its functions
