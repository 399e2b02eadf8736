# SPDX-License-Identifier: MIT
"""Names of an original that a drop-in does not record: each is accepted, reported once and counted."""

from __future__ import annotations

from tracker.compat._report import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# By drop-in, then by name: how often it was used.
counts: dict[str, dict[str, int]] = {}


class Inert:
    """Takes the place of what is not recorded. It can be called, subclassed, entered and iterated, has any attribute
    and any item, is false, and does nothing."""

    def __init__(self, *args: object, **named: object) -> None:
        pass

    def __call__(self, *args: object, **named: object) -> Inert:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # protocols of Python (copy, pickle, subclassing) must see that it has none
            raise AttributeError(name)
        return self

    def __getitem__(self, key: object) -> Inert:
        return self

    def __setitem__(self, key: object, value: object) -> None:
        pass

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __enter__(self) -> Inert:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __repr__(self) -> str:
        return "<tracker: not recorded>"


def accept(module: str, name: str) -> Inert:
    """Counts a use of `module.name` and reports the first one on stderr."""
    of_module = counts.setdefault(module, {})
    of_module[name] = of_module.get(name, 0) + 1
    if of_module[name] == 1:
        report(f"{module}.{name} is accepted and does nothing: it is not recorded")
    return Inert()


def count(module: str) -> dict[str, int]:
    """The names of the drop-in that were accepted in this process, and how often each was used."""
    return dict(counts.get(module, {}))
