# SPDX-License-Identifier: MIT
"""Makes what users put into config and summary plain: None, bool, int, float, str, lists and dicts with str keys.

Nothing is imported for it: NumPy values and tensors are known by their methods, dataclasses by their fields.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from os import PathLike, fspath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from tracker import _core

    Plain: TypeAlias = bool | int | float | str | list["Plain"] | dict[str, "Plain"] | None

DEPTH_MAX = 32
REPR_CHARS_MAX = 1000
ARRAY_ITEMS_MAX = 1000
VALUES_MAX = 1_000_000


def _cut(text: str) -> str:
    return text if len(text) <= REPR_CHARS_MAX else text[: REPR_CHARS_MAX - 1] + "…"


def _shown(value: object) -> str:
    try:
        return _cut(repr(value))
    except Exception as error:  # a foreign __repr__ may raise anything
        return f"<{type(value).__name__}: its repr raised {type(error).__name__}>"


def _clean(text: str) -> str:
    """Lone surrogates cannot be stored; they become "?"."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _key(key: object) -> str:
    return _clean(str.__str__(key) if isinstance(key, str) else _shown(key))


def fields_of(value: object) -> dict[str, Any] | None:
    """The public data of a dataclass, argparse.Namespace or other object with attributes; None when it has none."""
    names = getattr(type(value), "__dataclass_fields__", None)
    if names is not None and not isinstance(value, type):
        return {name: getattr(value, name) for name in names if hasattr(value, name)}
    data = getattr(value, "__dict__", None)
    if not isinstance(data, dict) or isinstance(value, type) or callable(value):
        return None
    return {str(k): v for k, v in data.items() if not str(k).startswith("_") and not callable(v)}


def _array(value: Any) -> Any:
    """A NumPy value or a tensor as builtin numbers, or what it looks like where it is large."""
    try:
        size = value.numel() if hasattr(value, "numel") else value.size
        if isinstance(size, int) and size <= ARRAY_ITEMS_MAX:
            return value.tolist()
    except Exception:
        pass
    return _shown(value)


def refuses(key: object, value: object, refused: list[tuple[str, str]]) -> bool:
    """Adds a medium, or a list that begins with one. By their types: a value may raise when it is asked anything."""
    media = sys.modules.get("tracker._media")
    if media is None:
        return False
    kind = type(value)
    if issubclass(kind, (list, tuple)):
        items: Any = list if issubclass(kind, list) else tuple
        kind = type(items.__getitem__(value, 0)) if items.__len__(value) else kind
    if not issubclass(kind, media.Media):
        return False
    refused.append((_key(key), kind.__name__))
    return True


class _Walk:
    """What bounds one walk: parts that know each other have paths without end, and shared ones very many."""

    __slots__ = ("above", "left", "refused")

    def __init__(self, refused: list[tuple[str, str]] | None = None) -> None:
        self.above: set[int] = set()  # ids of the values that hold the one looked at
        self.left = VALUES_MAX
        self.refused = refused  # keys of media, which stay out, and what they are; None: they are shown

    def refuses(self, key: object, value: object) -> bool:
        return self.refused is not None and refuses(key, value, self.refused)

    def may_follow(self, value: object, count: int) -> bool:
        if id(value) in self.above or count > self.left:
            return False
        self.left -= count
        return True


def _not_followed(value: object) -> str:
    """As Python shows what contains itself. No repr(): it would follow the same paths."""
    if isinstance(value, Mapping):
        return "{...}"
    return "[...]" if isinstance(value, (list, tuple, set, frozenset)) else f"{type(value).__name__}(...)"


def plain(value: object, refused: list[tuple[str, str]] | None = None) -> Plain:
    """`value` in plain types; what has no plain form becomes its repr, cut at 1,000 characters. A list, dict or object
    that contains itself, or would make it more than 1,000,000 values, becomes "[...]", "{...}" or "Name(...)". Media
    in a dict of it are left out and told by `refused`, where that is given. Never raises."""
    return _plain(value, 0, _Walk(refused))


def _plain(value: object, depth: int, walk: _Walk) -> Plain:
    try:
        return _plain_value(value, depth, walk)
    except Exception:
        return _shown(value)


def _list(value: Collection[object], depth: int, walk: _Walk) -> Plain:
    if not walk.may_follow(value, len(value)):
        return _not_followed(value)
    items = sorted(value, key=_shown) if isinstance(value, (set, frozenset)) else value
    walk.above.add(id(value))
    try:
        return [_plain(item, depth + 1, walk) for item in items]
    finally:
        walk.above.discard(id(value))


def _dict(value: object, fields: Mapping[Any, object], depth: int, walk: _Walk) -> Plain:
    """`fields` are those of `value`, often itself."""
    if not walk.may_follow(value, len(fields)):
        return _not_followed(value)
    walk.above.add(id(value))
    try:
        return {_key(key): _plain(item, depth + 1, walk) for key, item in fields.items() if not walk.refuses(key, item)}
    finally:
        walk.above.discard(id(value))


def _plain_value(value: object, depth: int, walk: _Walk) -> Plain:
    if value is None or isinstance(value, bool):
        return value
    if "enum" in sys.modules and isinstance(value, sys.modules["enum"].Enum):
        return (
            _plain(value.value, depth + 1, walk) if isinstance(value.value, (bool, int, float, str)) else _shown(value)
        )
    if isinstance(value, int):
        number = int(value)
        return number if number.bit_length() <= sys.float_info.max_exp else _shown(number)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return _clean(str.__str__(value))
    if depth >= DEPTH_MAX:
        return _shown(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return _list(value, depth, walk)
    return _plain_object(value, depth, walk)


def _plain_object(value: object, depth: int, walk: _Walk) -> Plain:
    if isinstance(value, Mapping):
        return _dict(value, value, depth, walk)
    if isinstance(value, PathLike):
        path = fspath(value)
        return _clean(path) if isinstance(path, str) else _shown(path)
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        array = _array(value)
        return array if isinstance(array, (bool, int, float, str)) else _plain(array, depth + 1, walk)
    if hasattr(type(value), "__dataclass_fields__") or type(value).__name__ in ("Namespace", "SimpleNamespace"):
        fields = fields_of(value)
        if fields is not None:
            return _dict(value, fields, depth, walk)
    if hasattr(type(value), "__index__"):
        return int(value)  # type: ignore[call-overload, no-any-return]
    if hasattr(type(value), "__float__"):
        return float(value)  # type: ignore[arg-type]
    return _shown(value)


def plain_config(config: object, refused: list[tuple[str, str]] | None = None) -> dict[str, Plain]:
    """The argument `config` of init(): a mapping, a namespace, a dataclass or another object with attributes."""
    if config is None:
        return {}
    walk = _Walk(refused)
    walk.above.add(id(config))
    if not isinstance(config, Mapping) and hasattr(config, "keys") and hasattr(config, "__getitem__"):
        config = dict(config)
    if not isinstance(config, Mapping):
        fields = None if isinstance(config, (str, bytes, int, float, list, tuple, set)) else fields_of(config)
        if fields is None:
            raise TypeError(f"config must be a dict or an object with attributes, got {type(config).__name__}")
        config = fields
    walk.left -= len(config)
    return {_key(key): _plain(item, 1, walk) for key, item in config.items() if not walk.refuses(key, item)}


def why_refused(key: str, what: str) -> tuple[str, str]:
    return key, f"config and summary take no media, got {what}; run.log() takes it"


def refuse_media(core: _core.RunCore, refused: list[tuple[str, str]]) -> None:
    """Counts them and names each once; TypeError in a strict run."""
    for key, why in [why_refused(*each) for each in refused]:
        core.reject_media(key, why)
        if core.strict:
            raise TypeError(f"'{key}': {why}")
