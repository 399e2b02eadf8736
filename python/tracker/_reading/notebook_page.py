# SPDX-License-Identifier: MIT
"""A run as a small page in a notebook: state, a table, a line a metric. No script, no link; escaped and bounded."""

from __future__ import annotations

import math
import unicodedata
from html import escape
from typing import TYPE_CHECKING, Any

from tracker import _core

if TYPE_CHECKING:
    import datetime
    from typing import Protocol

    class PageRun(Protocol):
        """What a page shows of a StoredRun."""

        @property
        def project(self) -> str: ...
        @property
        def id(self) -> str: ...
        @property
        def state(self) -> str: ...
        @property
        def state_detail(self) -> str: ...
        @property
        def created(self) -> datetime.datetime: ...
        @property
        def dir(self) -> str: ...
        @property
        def config(self) -> dict[str, Any]: ...
        @property
        def summary(self) -> dict[str, Any]: ...
        @property
        def alerts(self) -> list[Any]: ...
        def metrics(self) -> list[Any]: ...
        def chart(self, name: str, *, pixels: int) -> Any: ...


# Limit: metrics on the page of a run in a notebook. Beyond it: "and n more".
METRICS_MAX = 20
# Limit: config values on the page of a run in a notebook. Beyond it: "and n more".
CONFIG_MAX = 20
# Limit: alerts on the page of a run in a notebook. Beyond it: "and n more".
ALERTS_MAX = 5
# Characters of a text.
# Limit: characters of a text on the page of a run in a notebook. Beyond it: cut.
TEXT_MAX = 120
WIDTH, HEIGHT, CELLS = 160, 24, 60  # of a line; pixels and cells

HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # what controls, turns or hides text
CELL = 'style="text-align:left;padding:0 .8em 0 0;white-space:nowrap"'


def _text(value: Any) -> str:
    text = str(value)
    return escape(_visible(text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 1] + "…"))


def _visible(text: str) -> str:
    """As the command line shows it (src/model/visible.h), but for line ends and tabs, which a page has as blanks."""
    if text.isprintable():
        return text
    return "".join(_visible_character(c) if unicodedata.category(c) in HIDDEN else c for c in text)


def _visible_character(c: str) -> str:
    if c in "\n\t":
        return c
    if c <= "\x1f" or c == "\x7f":
        return chr(0x2400 + ord(c)) if c != "\x7f" else "\u2421"
    return f"\\u{ord(c):04x}"


def _number(value: Any) -> str:
    return _text(format(value, ".5g") if isinstance(value, float) else value)


def _row(cells: list[str]) -> str:
    """`cells` are HTML."""
    return "<tr>" + "".join(f"<td {CELL}>{cell}</td>" for cell in cells) + "</tr>"


def _table(rows: list[str]) -> str:
    return f"<table>{''.join(rows)}</table>" if rows else ""


def _spark(run: PageRun, metric: str) -> str:
    """An SVG whose line touches the smallest and the largest value of each column of pixels; "" where it has none."""
    try:
        chart = run.chart(metric, pixels=CELLS)
    except (ImportError, ValueError, _core.TrackerError):
        return ""
    cells = [
        (float(x0), float(low), float(high))
        for x0, low, high in zip(chart.x0, chart.min, chart.max, strict=True)
        if math.isfinite(low) and math.isfinite(high) and math.isfinite(x0)
    ]
    if not cells:
        return ""
    left, right = cells[0][0], cells[-1][0]
    bottom, top = min(low for _, low, _ in cells), max(high for _, _, high in cells)
    points = []
    for x, low, high in cells:
        at = _part(x, left, right) * WIDTH
        points += [
            f"{at:.1f},{HEIGHT - 1 - _part(y, bottom, top) * (HEIGHT - 2):.1f}" for y in dict.fromkeys((high, low))
        ]
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f'<polyline points="{" ".join(points)}" fill="none" stroke="currentColor" stroke-width="1"/></svg>'
    )


def _part(value: float, low: float, high: float) -> float:
    """Where it lies between the two, 0 to 1; halves, as their difference may be beyond any double."""
    span = high / 2 - low / 2
    return (value / 2 - low / 2) / span if span > 0 else 0.5


def _metrics(run: PageRun) -> str:
    metrics, summary = run.metrics(), run.summary
    rows = [
        _row([_text(m.name), f"{m.points:,}", _number(summary.get(m.name, "")), _spark(run, m.name)])
        for m in metrics[:METRICS_MAX]
    ]
    if len(metrics) > METRICS_MAX:
        rows.append(_row([f"and {len(metrics) - METRICS_MAX:,} more"]))
    return _table(rows)


def _config(run: PageRun) -> str:
    config = list(run.config.items())
    rows = [_row([_text(key), _text(value)]) for key, value in config[:CONFIG_MAX]]
    if len(config) > CONFIG_MAX:
        rows.append(_row([f"and {len(config) - CONFIG_MAX:,} more"]))
    return _table(rows)


def _alerts(run: PageRun) -> str:
    alerts = run.alerts
    return _table([_row([alert.level, _text(alert.title), _text(alert.text)]) for alert in alerts[-ALERTS_MAX:]])


def _page(head: str, parts: list[str]) -> str:
    return f'<div class="tracker-run"><b>{head}</b>{"".join(parts)}</div>'


def stored_run(run: PageRun) -> str:
    """StoredRun._repr_html_()."""
    state = run.state
    detail = f": {_text(run.state_detail)}" if run.state_detail else ""
    created = run.created.strftime("%Y-%m-%d %H:%M:%S UTC")
    head = f"{_text(run.project)}/{_text(run.id)}</b> <i>{_text(state)}</i>{detail}<b>"
    facts = _table([_row(["created", created]), _row(["folder", _text(run.dir)])])
    return _page(head, [facts, _alerts(run), _config(run), _metrics(run)])


def nothing_stored(project: str, id: str, recording: bool) -> str:
    """Run._repr_html_() of a run of which nothing is stored."""
    return _page(f"{_text(project)}/{_text(id)}", [] if recording else [" not recording"])
