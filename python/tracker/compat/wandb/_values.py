# SPDX-License-Identifier: MIT
"""What log() takes, as the core takes it: nested dicts become names with dots, foreign objects media."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from tracker.compat._accepted import Inert

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SEPARATOR = "."
_AS_THEY_ARE = (int, float, str, bool)


def flat(data: Mapping[str, Any]) -> dict[str, Any]:
    """A new dict; `data` is not changed."""
    out: dict[str, Any] = {}
    for key, value in data.items():
        if type(value) in _AS_THEY_ARE:
            out[key] = value
        elif isinstance(value, Mapping):
            for name, each in flat({str(name): each for name, each in value.items()}).items():
                out[f"{key}{SEPARATOR}{name}"] = each
        elif not isinstance(value, Inert):
            out[key] = converted(value)
    return out


def is_medium(value: object) -> bool:
    media = sys.modules.get("tracker._media.medium")
    return hasattr(type(value), "_log_type") or (media is not None and isinstance(value, media.Media))


def converted(value: Any) -> Any:
    """A Table, a frame, pyplot or an array of several numbers as a medium; anything else is for the core to take, or
    to refuse by name."""
    if hasattr(type(value), "_log_type"):  # wandb.Table
        return value._medium()
    if isinstance(value, (list, tuple)):
        return _list(value)
    library = type(value).__module__.partition(".")[0]
    if getattr(value, "__name__", "") == "matplotlib.pyplot":
        from tracker.compat.wandb._image import Image

        return Image(value)
    if library in ("pandas", "polars") and hasattr(value, "columns"):
        from tracker.compat.wandb._table import Table

        return Table(dataframe=value)._medium()
    if _count(value) > 1:
        from tracker import Histogram

        made = Histogram(value.detach().cpu() if hasattr(value, "detach") else value)
        return made if made.problem is None else value
    return value


def _count(value: Any) -> int:
    """Numbers in an array or a tensor; 0 of anything else."""
    if not (hasattr(value, "dtype") and hasattr(value, "shape")):
        return 0
    count = 1
    for size in value.shape:
        count *= int(size)
    return count


def _list(values: list[Any] | tuple[Any, ...]) -> Any:
    """Of media: a list of them. Of numbers and texts: its JSON as a text, since a series has one value a step."""
    if values and all(map(is_medium, values)):
        return [converted(value) for value in values]
    if any(map(is_medium, values)) or any(hasattr(value, "savefig") or hasattr(value, "tobytes") for value in values):
        return list(values)
    import json

    from tracker._plain_values import plain

    return json.dumps(plain(list(values)))


def kept(value: Any) -> Any:
    """What stays as it is now, while its row waits: the caller may change an array or a tensor in place."""
    if type(value) in _AS_THEY_ARE or value is None:
        return value
    if hasattr(value, "detach") and hasattr(value, "clone"):
        return value.detach().clone()
    if type(value).__module__ == "numpy" and hasattr(value, "copy"):
        return value.copy()
    if hasattr(value, "savefig") or hasattr(value, "to_plotly_json"):  # a figure is drawn now
        from tracker._media.coerced import coerced

        return coerced(value) or value
    return value
