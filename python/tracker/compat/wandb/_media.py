# SPDX-License-Identifier: MIT
"""wandb.Histogram, Html, Audio, Video and Plotly: media of tracker with the arguments of the original."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tracker._media import audio_video, documents, histograms_curves


class Histogram(histograms_curves.Histogram):
    def __init__(self, sequence: Any = None, np_histogram: Any = None, num_bins: int = 64) -> None:
        if np_histogram is not None:
            counts, edges = np_histogram[0], np_histogram[1]
            super().__init__(counts=[int(count) for count in counts], edges=[float(edge) for edge in edges])
        else:
            super().__init__(sequence.detach().cpu() if hasattr(sequence, "detach") else sequence, min(num_bins, 512))


class Html(documents.Html):
    def __init__(self, data: Any, inject: bool = True, data_is_not_path: bool = False) -> None:
        if hasattr(data, "read"):
            data = data.read()
        is_path = not data_is_not_path and isinstance(data, (str, os.PathLike)) and _is_file(data)
        super().__init__(Path(data) if is_path else data)


def _is_file(data: str | os.PathLike[str]) -> bool:
    try:
        return os.fspath(data).endswith((".html", ".htm")) and Path(data).is_file()
    except (OSError, ValueError):
        return False


class Audio(audio_video.Audio):
    def __init__(self, data_or_path: Any, sample_rate: int | None = None, caption: str | None = None) -> None:
        super().__init__(data_or_path, sample_rate, caption)


class Video(audio_video.Video):
    def __init__(
        self, data_or_path: Any, caption: str | None = None, fps: int | None = None, format: str | None = None
    ) -> None:
        super().__init__(data_or_path, fps or 4, caption)


class Plotly(documents.Plotly):
    def __init__(self, val: Any) -> None:
        super().__init__(val)
