# SPDX-License-Identifier: MIT
"""Goal: figures of matplotlib and Plotly as they are today are logged as they are. Method: one of each, read back."""

from __future__ import annotations

from pathlib import Path

import plotly.graph_objects
import tracker
from matplotlib.figure import Figure


def test_a_figure_of_matplotlib_is_drawn_when_it_is_logged(tmp_path: Path) -> None:
    figure = Figure(figsize=(2, 1), dpi=50)
    figure.add_subplot().plot([1, 2, 3])
    with tracker.init(dir=tmp_path / "s", quiet=True) as run:
        run.log({"plain": figure, "wrapped": tracker.Image(figure, caption="a plot")}, step=0)
    stored = tracker.open_run(run.id, dir=tmp_path / "s")
    assert stored.media("plain")[0].load().shape[:2] == (50, 100)
    assert stored.media("wrapped")[0].caption == "a plot"


def test_a_figure_of_plotly_is_kept_as_its_json(tmp_path: Path) -> None:
    figure = plotly.graph_objects.Figure(plotly.graph_objects.Scatter(y=[1, 3, 2]))
    with tracker.init(dir=tmp_path / "s", quiet=True) as run:
        run.log({"figure": figure}, step=0)
    (entry,) = tracker.open_run(run.id, dir=tmp_path / "s").media("figure")
    assert entry.kind == "plotly"
    assert entry.load()["data"][0]["type"] == "scatter"
