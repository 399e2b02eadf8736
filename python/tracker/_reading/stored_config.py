# SPDX-License-Identifier: MIT
"""The config and the summary of a stored run, and how an entry of a config is found by a path or as an attribute."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def find(tree: dict[str, Any], path: str) -> Any:
    """The value under a key, or under a path with "/" through nested dicts. KeyError when there is none."""
    if dict.__contains__(tree, path):
        return tree[path]
    head, slash, rest = path.partition("/") if isinstance(path, str) else ("", "", "")
    below = dict.get(tree, head)
    if slash and isinstance(below, dict):
        return find(below, rest)
    raise KeyError(path)


def entry(mapping: Mapping[str, Any], kind: str, key: str) -> Any:
    """mapping.key: the entry of that name; AttributeError where there is none, with a close name."""
    try:
        if not key.startswith("__"):
            return mapping[key]
    except KeyError:
        import difflib

        close = difflib.get_close_matches(key, mapping, 1, cutoff=0.75)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise AttributeError(f"{kind} has no entry {key!r}{hint}") from None
    raise AttributeError(key)


class Paths(dict[str, "Any"]):
    """Nested dicts in which a key with "/" is a path."""

    __slots__ = ()

    def __missing__(self, key: str) -> Any:
        return find(self, key)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or (isinstance(key, str) and self.get(key, self) is not self)

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default


class StoredConfig(Paths):
    """The config of a stored run; entries by attribute too, as in Config."""

    __slots__ = ()

    def __getattr__(self, key: str) -> Any:
        found = entry(self, type(self).__name__.removeprefix("Stored").lower(), key)
        return type(self)(found) if type(found) is dict else found


class StoredSummary(StoredConfig):
    """The same of the summary."""

    __slots__ = ()
