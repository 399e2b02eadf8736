# SPDX-License-Identifier: MIT
"""define_metric(): which x a metric has, and which value of it the summary shows."""

from __future__ import annotations

from tracker.compat._accepted import accept
from tracker.compat.wandb.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import tracker

SUMMARIES = ("min", "max", "mean", "best", "last", "first", "copy", "none")
RECORDED = ("min", "max", "mean", "best", "last")  # of them, those that the core makes


class Metric:
    """What define_metric() returns."""

    def __init__(
        self, name: str, step_metric: str | None, step_sync: bool, summary: tuple[str, ...], goal: str | None
    ) -> None:
        self.name, self.step_metric, self.step_sync, self.summary, self.goal = (
            name,
            step_metric,
            step_sync,
            summary,
            goal,
        )

    def matches(self, key: str) -> bool:
        """Exactly, or as a prefix where the name ends in "*"."""
        return key.startswith(self.name[:-1]) if self.name.endswith("*") else key == self.name


class Definitions:
    """All definitions of a run. A name beats a pattern; of several the last one counts."""

    def __init__(self) -> None:
        self._metrics: list[Metric] = []
        self._found: dict[str, Metric | None] = {}  # by key
        self._steps: dict[str, Any] = {}  # the last value of each step metric

    def of(self, key: str) -> Metric | None:
        if key not in self._found:
            fitting = [metric for metric in self._metrics if metric.matches(key)]
            fitting.sort(key=lambda metric: not metric.name.endswith("*"))  # stable: names last
            self._found[key] = fitting[-1] if fitting else None
        return self._found[key]

    def define(
        self,
        run: tracker.Run,
        name: str,
        step_metric: object,
        step_sync: bool | None,
        summary: str | None,
        goal: str | None,
    ) -> Metric:
        if not isinstance(name, str) or not name:
            raise Error("define_metric() takes a name, or a pattern that ends in '*'")
        if "*" in name[:-1]:
            raise Error(f"define_metric({name!r}): a pattern has its '*' at the end")
        name = name.replace("\\.", ".")
        of_step = getattr(step_metric, "name", step_metric)
        if of_step is not None and not isinstance(of_step, str):
            raise Error(f"step_metric must be a name, got {type(of_step).__name__}")
        kinds = tuple(kind.strip().lower() for kind in summary.split(",") if kind.strip()) if summary else ()
        if unknown := [kind for kind in kinds if kind not in SUMMARIES]:
            raise Error(f"summary must be some of {', '.join(SUMMARIES)}, got {unknown[0]!r}")
        if goal not in (None, "minimize", "maximize"):
            raise Error(f"goal must be 'minimize' or 'maximize', got {goal!r}")
        if "first" in kinds:
            accept("wandb", "define_metric(summary='first')")
        metric = Metric(name, of_step, bool(of_step) if step_sync is None else bool(step_sync), kinds, goal)
        recorded = [kind for kind in kinds if kind in RECORDED]
        chosen = goal or ("minimize" if "best" in recorded else None)
        run.define_metric(name, step_metric=of_step, summary=recorded or None, goal=chosen)
        self._metrics.append(metric)
        self._found.clear()
        if of_step is not None:
            self._steps.setdefault(of_step, None)
        return metric

    def add_steps(self, row: dict[str, Any]) -> None:
        """Adds to a row the last value of each step metric that a key of it wants and that it does not have."""
        if not self._metrics:
            return
        for key in tuple(row):
            metric = self.of(key)
            if metric is None or not metric.step_sync or metric.step_metric in (None, key):
                continue
            last = self._steps.get(metric.step_metric or "")
            if last is not None:
                row.setdefault(metric.step_metric or "", last)
        for name in self._steps:
            if name in row:
                self._steps[name] = row[name]

    def summary_of(self, stored: dict[str, Any], explicit: Mapping[str, Any]) -> dict[str, Any]:
        """The summary as the original shows it: {"loss": {"min": 0.1}} where the minimum was asked for."""
        out: dict[str, Any] = {}
        parts: set[str] = set()
        for key, value in stored.items():
            metric = None if explicit.get(key) is not None else self.of(key)
            kinds = metric.summary if metric is not None else ()
            if "none" in kinds:
                continue
            recorded = [kind for kind in kinds if kind in RECORDED]
            if not recorded or isinstance(value, str):
                out[key] = value
                continue
            if len(recorded) > 1:
                parts.update(f"{key}.{kind}" for kind in recorded)
            out[key] = {kind: stored.get(f"{key}.{kind}", value) if len(recorded) > 1 else value for kind in recorded}
        return {key: value for key, value in out.items() if key not in parts}
