# SPDX-License-Identifier: MIT
"""Artifacts of other tools, whose files do not lie in what is read: each is named, so that one knows what to fetch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracker import _core

# Of one import, by name; what is beyond is counted together
# Limit: artifacts of W&B and Trackio that an import names. Beyond it: counted together.
ARTIFACTS_NAMED_MAX = 100
_NAME_CHARS_MAX = 128


class LeftArtifacts:
    def __init__(self, store: _core.ImportStore) -> None:
        self._store = store
        self._kinds: set[str] = set()

    def add(self, what: str, name: str, words: Iterable[str]) -> None:
        """`what`: "artifacts". `words`: its type and aliases."""
        said = ", ".join(filter(None, (_plain(word) for word in words)))
        kind = f"{what}: {_plain(name)} ({said})" if said else f"{what}: {_plain(name)}"
        if not name or (kind not in self._kinds and len(self._kinds) >= ARTIFACTS_NAMED_MAX):
            kind = what
        self._kinds.add(kind)
        self._store.leave_out(kind, 1)


def _plain(text: str) -> str:
    """As a terminal may show it."""
    return "".join(c if c.isprintable() else "?" for c in text[:_NAME_CHARS_MAX])
