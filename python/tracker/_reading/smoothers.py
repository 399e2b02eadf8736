# SPDX-License-Identifier: MIT
"""The smoothers by name, each with its one parameter. Formulas and sources: docs/reading.md."""

from __future__ import annotations

from typing import Literal, TypeAlias

Smoother: TypeAlias = Literal["ema", "tensorboard", "gaussian", "mean"]

PARAMETERS = {"ema": "half_life", "tensorboard": "weight", "gaussian": "sigma", "mean": "width"}


def window_of(kind: str | None, given: dict[str, float | None]) -> tuple[str, float]:
    """(kind, its parameter) as the core takes them; ("", 0.0) for no smoothing. TypeError for a wrong parameter."""
    named = {name: value for name, value in given.items() if value is not None}
    if kind is None:
        if named:
            raise TypeError(f"{', '.join(named)} without a smoother: smooth={_owner(next(iter(named)))!r} is missing")
        return "", 0.0
    if kind not in PARAMETERS:
        raise ValueError(f"no smoother {kind!r}; there are {', '.join(PARAMETERS)}")
    wanted = PARAMETERS[kind]
    if set(named) != {wanted}:
        raise TypeError(f"the smoother {kind!r} takes {wanted} and nothing else")
    return kind, float(named[wanted])


def _owner(parameter: str) -> str:
    return next(kind for kind, name in PARAMETERS.items() if name == parameter)
