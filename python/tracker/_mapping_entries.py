# SPDX-License-Identifier: MIT
"""Reads what users put into config, summary and log by protocol: a mapping, a sequence, an object with fields. Each
entry is read by itself, so that one that raises costs itself alone: an unset value ("???") or an interpolation that
leads nowhere in a config of OmegaConf, a property that fails.

No library is imported for it.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Collection, Mapping, Sequence, Set, ValuesView

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Pairs = list[tuple[Any, Any]]

WHY_CHARS_MAX = 200


class Unread:
    """In the place of an entry that raised when it was read."""

    __slots__ = ("error", "text", "why")

    def __init__(self, holder: object, key: object, error: Exception) -> None:
        self.error = error
        self.why = f"{type(error).__name__}: {error}".partition("\n")[0][:WHY_CHARS_MAX]
        self.text = _unresolved(holder, key)

    def __float__(self) -> float:  # so log() names what happened
        raise self.error

    def __str__(self) -> str:
        return self.text if self.text is not None else f"<{self.why}>"


def _unresolved(holder: object, key: object) -> str | None:
    """What OmegaConf holds there before it resolves it: "???", "${nowhere}"."""
    try:
        text = sys.modules["omegaconf"].OmegaConf.to_container(holder, resolve=False)[key]
    except Exception:  # another library's holder, or no such entry
        return None
    return text if isinstance(text, str) else None


def _read(holder: Any, key: Any, read: Callable[[Any, Any], Any] = operator.getitem) -> Any:
    try:
        return read(holder, key)
    except Exception as error:
        return Unread(holder, key, error)


def is_mapping(value: object) -> bool:
    """Also what has only keys() and [], as dict.update() takes it; a data frame has them, and is none."""
    if isinstance(value, Mapping):
        return True
    kind = type(value)
    return hasattr(kind, "keys") and hasattr(kind, "__getitem__") and not hasattr(kind, "__array__")


def pairs_of(value: Any) -> Pairs | None:
    """The entries of a mapping, or the fields of an object; None for anything else. What keys() raises is raised."""
    if type(value) is dict:
        return list(value.items())
    if is_mapping(value):
        return [(key, _read(value, key)) for key in list(value.keys())]
    names = _field_names(value)
    if names is None:
        return None
    pairs: Pairs = []
    for name in names:
        item = _read(value, name, getattr)
        if not (type(item) is Unread and item.why.startswith("AttributeError")):  # a field that was never set
            pairs.append((name, item))
    return pairs


def read_dict(value: Any) -> dict[Any, Any] | None:
    """pairs_of() as a dict, in which an entry that cannot be read is its text."""
    pairs = pairs_of(value)
    return None if pairs is None else {key: str(item) if type(item) is Unread else item for key, item in pairs}


def _field_names(value: Any) -> Iterable[str] | None:
    """Of a dataclass, attrs, pydantic, msgspec, a named tuple, argparse.Namespace or types.SimpleNamespace."""
    if isinstance(value, type):
        return None
    kind = type(value)
    if isinstance(value, tuple):
        return getattr(kind, "_fields", None)
    if hasattr(kind, "__attrs_attrs__"):
        return [field.name for field in kind.__attrs_attrs__]
    for names in ("__dataclass_fields__", "model_fields", "__struct_fields__"):
        if hasattr(kind, names):
            more = getattr(value, "model_extra", None) if names == "model_fields" else None
            return [*getattr(kind, names), *(more or ())]
    if hasattr(kind, "__fields__") and hasattr(kind, "__validators__"):  # pydantic 1
        return list(kind.__fields__)
    return list(vars(value)) if kind.__name__ in ("Namespace", "SimpleNamespace") else None


def items_of(value: Any) -> Collection[Any] | None:
    """The items of a list, tuple, set or other sequence; None for anything else, texts and bytes among it."""
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, (str, bytes, bytearray, memoryview)):
        return None
    if isinstance(value, (Set, ValuesView)):
        return value
    return value if isinstance(value, Sequence) and not hasattr(type(value), "__array__") else None


def read_items(value: Collection[Any]) -> list[Any]:
    if isinstance(value, (list, tuple, Set, ValuesView)):
        return list(value)
    return [_read(value, i) for i in range(len(value))]
