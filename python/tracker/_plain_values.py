# SPDX-License-Identifier: MIT
"""Makes what users put into config and summary plain: None, bool, int, float, str, lists and dicts with str keys.

Nothing is imported for it: NumPy values and tensors are known by their methods, the rest by _mapping_entries.py.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from os import PathLike, fspath

from tracker._mapping_entries import Unread, is_mapping, items_of, pairs_of, read_items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from tracker import _core
    from tracker._mapping_entries import Pairs

    # What is left out: its path, why, and what a strict run raises.
    Refused: TypeAlias = list[tuple[str, str, type[Exception]]]

    Plain: TypeAlias = bool | int | float | str | list["Plain"] | dict[str, "Plain"] | None

# Limit: nesting of a config value from Python. Beyond it: deeper values are kept as their text.
DEPTH_MAX = 32
# Limit: characters of the text of an object as a config value. Beyond it: cut, with … at the end.
REPR_CHARS_MAX = 1000
# Limit: items of an array or tensor as a config value. Beyond it: its text is kept.
ARRAY_ITEMS_MAX = 1000
# Limit: values in a config, or in one value of config or summary. Beyond it: the list, dict or object that goes beyond
# is kept as [...], {...} or Name(...).
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


def key_text(key: Any) -> str | None:
    """Of a key that is a number, or a member of an enum whose value is a number or a str; None for any other."""
    try:
        if "enum" in sys.modules and isinstance(key, sys.modules["enum"].Enum):
            key = key.value
        value: Any = key.item() if hasattr(key, "dtype") else key
        return str(value) if isinstance(value, (str, int, float)) else None
    except Exception:  # an int of too many digits, a tensor of several elements
        return None


def _key(key: object) -> str:
    if isinstance(key, str):
        return _clean(str.__str__(key))
    text = key_text(key)
    return _shown(key) if text is None else _clean(text)


def fields_of(value: object) -> dict[str, Any] | None:
    """The public data of any object with attributes; None when it has none."""
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


def medium_in(value: object) -> str | None:
    """What a medium is, or the first of a list. By their types: a value may raise when it is asked anything."""
    media = sys.modules.get("tracker._media.medium")
    if media is None:
        return None
    kind = type(value)
    if issubclass(kind, (list, tuple)):
        items: Any = list if issubclass(kind, list) else tuple
        kind = type(items.__getitem__(value, 0)) if items.__len__(value) else kind
    return kind.__name__ if issubclass(kind, media.Media) else None


class _Walk:
    """What bounds one walk: parts that know each other have paths without end, and shared ones very many."""

    __slots__ = ("above", "left", "refused")

    def __init__(self, refused: Refused | None = None) -> None:
        self.above: set[int] = set()  # ids of the values that hold the current one
        self.left = VALUES_MAX
        self.refused = refused  # what stays out of a mapping; None: media and the unread are shown as text

    def may_follow(self, value: object, count: int) -> bool:
        if id(value) in self.above or count > self.left:
            return False
        self.left -= count
        return True

    def refuse(self, path: str, why: str, error: type[Exception] = ValueError) -> None:
        if self.refused is not None:
            self.refused.append((path, f"config and summary {why}", error))


def _not_followed(value: object) -> str:
    """As Python shows what contains itself. No repr(): it would follow the same paths."""
    if is_mapping(value):
        return "{...}"
    return "[...]" if isinstance(value, (list, tuple, set, frozenset)) else f"{type(value).__name__}(...)"


def plain(value: object) -> Plain:
    """`value` in plain types; what has no plain form becomes its repr, cut at 1,000 characters. A list, dict or object
    that contains itself, or would make it more than 1,000,000 values, becomes "[...]", "{...}" or "Name(...)". Never
    raises."""
    return _plain(value, 0, "", _Walk())


def _plain(value: object, depth: int, path: str, walk: _Walk) -> Plain:
    try:
        return _plain_value(value, depth, path, walk)
    except Exception:
        return _shown(value)


def _list(value: Collection[object], depth: int, path: str, walk: _Walk) -> Plain:
    if not walk.may_follow(value, len(value)):
        return _not_followed(value)
    items = sorted(value, key=_shown) if isinstance(value, (set, frozenset)) else read_items(value)
    walk.above.add(id(value))
    out: list[Plain] = []
    try:
        for place, item in enumerate(items):
            below = f"{path}/{place}"
            if type(item) is Unread:  # its place is kept: the others have theirs by number
                walk.refuse(below, f"cannot read it ({item.why}); its text is kept")
            out.append(_plain(item, depth + 1, below, walk))
        return out
    finally:
        walk.above.discard(id(value))


def _dict(value: object, pairs: Pairs, depth: int, path: str, walk: _Walk) -> Plain:
    """`pairs` are the entries of `value`."""
    if not walk.may_follow(value, len(pairs)):
        return _not_followed(value)
    walk.above.add(id(value))
    try:
        return _entries(pairs, depth, path, walk)
    finally:
        walk.above.discard(id(value))


def _entries(pairs: Pairs, depth: int, path: str, walk: _Walk) -> dict[str, Plain]:
    out: dict[str, Plain] = {}
    for key, item in pairs:
        name = _key(key)
        below = f"{path}/{name}" if path else name
        if walk.refused is not None:
            if not name:
                walk.refuse(below, "take no empty key")
                continue
            if type(item) is Unread:
                walk.refuse(below, f"cannot read it ({item.why})" + ("; its text is kept" if item.text else ""))
                if item.text is None:
                    continue
            if medium := medium_in(item):
                walk.refuse(below, f"take no media, got {medium}; run.log() takes it", TypeError)
                continue
            if name in out:
                walk.refuse(below, "have one value a name, and two keys have this text; the later one is kept")
        out[name] = _plain(item, depth + 1, below, walk)
    return out


def _plain_value(value: object, depth: int, path: str, walk: _Walk) -> Plain:
    if value is None or isinstance(value, bool):
        return value
    if "enum" in sys.modules and isinstance(value, sys.modules["enum"].Enum):
        is_plain = isinstance(value.value, (bool, int, float, str))
        return _plain(value.value, depth + 1, path, walk) if is_plain else _shown(value)
    if isinstance(value, int):
        number = int(value)
        return number if number.bit_length() <= sys.float_info.max_exp else _shown(number)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return _clean(str.__str__(value))
    if type(value) is Unread:
        return _clean(str(value))
    if depth >= DEPTH_MAX:
        return _shown(value)
    return _plain_object(value, depth, path, walk)


def _plain_object(value: Any, depth: int, path: str, walk: _Walk) -> Plain:
    pairs = pairs_of(value)
    if pairs is not None:
        return _dict(value, pairs, depth, path, walk)
    items = items_of(value)
    if items is not None:
        return _list(items, depth, path, walk)
    if isinstance(value, PathLike):
        name = fspath(value)
        return _clean(name) if isinstance(name, str) else _shown(name)
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        array = _array(value)
        return array if isinstance(array, (bool, int, float, str)) else _plain(array, depth + 1, path, walk)
    if hasattr(type(value), "isoformat"):  # of datetime
        return str(value.isoformat())
    if hasattr(type(value), "__index__"):
        return int(value)
    if hasattr(type(value), "__float__"):
        return float(value)
    return _shown(value)


def plain_config(config: Any, refused: Refused | None = None, prefix: str = "") -> dict[str, Plain]:
    """The argument `config` of init(): a mapping, a list of pairs, a namespace, a dataclass or another object with
    fields or attributes. What is left out is added to `refused`, by its path below `prefix`; where that is not given,
    an entry that cannot be read becomes its text. TypeError for anything else."""
    if config is None:
        return {}
    walk = _Walk(refused)
    walk.above.add(id(config))
    pairs = pairs_of(config)
    if pairs is None and isinstance(config, (list, tuple)) and all(isinstance(item, tuple) for item in config):
        pairs = list(dict(config).items())
    if pairs is None and not isinstance(config, (str, bytes, int, float, list, tuple, set)):
        fields = fields_of(config)
        pairs = None if fields is None else list(fields.items())
    if pairs is None:
        raise TypeError(f"config must be a dict or an object with attributes, got {type(config).__name__}")
    walk.left -= len(pairs)
    return _entries(pairs, 0, prefix, walk)


def refuse(core: _core.RunCore, refused: Refused) -> None:
    """Counts them and names each once; a strict run raises the first."""
    for path, why, error in refused:
        core.reject_entry(path, why)
        if core.strict:
            raise error(f"'{path}': {why}")
