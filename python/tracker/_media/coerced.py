# SPDX-License-Identifier: MIT
"""Values of other libraries that log() takes as media: figures of matplotlib and Plotly, pictures of Pillow."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracker._media.medium import Media


def coerced(value: object) -> Media | None:
    """What log() takes without a constructor; None for anything else."""
    library = type(value).__module__.partition(".")[0]
    if library in ("matplotlib", "PIL"):
        from tracker._media.image import Image

        return Image(value) if hasattr(value, "savefig") or hasattr(value, "tobytes") else None
    if library == "plotly" and hasattr(value, "to_json"):
        from tracker._media.documents import Plotly

        return Plotly(value)
    return None
