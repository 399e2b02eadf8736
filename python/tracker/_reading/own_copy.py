# SPDX-License-Identifier: MIT
"""Copies and pickles of what is read: a run, an artifact, rows."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class OwnCopy:
    """A copy of what does not change, or reads a store each time, is the thing itself."""

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: object) -> Any:
        return self


class KeptRows:
    """The columns of a history that came in a pickle, as _core.Rows and _core.Table give them."""

    NEEDED = ("type", "steps", "values", "times", "times_us", "has_step", "source", "sources")
    NEEDED_BY_BOTH = ("x", "x_name", "x_type")

    def __init__(self, columns: dict[str, Any]) -> None:
        self._columns = columns

    def __getattr__(self, name: str) -> Any:
        columns = self.__dict__.get("_columns", {})
        if name in columns:
            return lambda *_: columns[name]
        if name.startswith("__"):
            raise AttributeError(name)

        def refuse(*_: object) -> Any:
            raise TypeError("a history that came in a pickle has no Arrow columns and is not smoothed; read it again")

        return refuse


def kept(value: Any) -> Any:
    """A column as plain bytes of its own, or a list of columns."""
    if isinstance(value, (list, tuple)):
        return type(value)(kept(part) for part in value)
    if value is None or isinstance(value, (str, int, float)):
        return value
    import numpy as np

    return np.array(value)


def kept_rows(rows: Any, names: tuple[str, ...]) -> KeptRows:
    return KeptRows({name: kept(getattr(rows, name)()) for name in (*names, *KeptRows.NEEDED_BY_BOTH)})


class Constant:
    """A function that gives what it was made with."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value
