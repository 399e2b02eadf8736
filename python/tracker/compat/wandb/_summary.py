# SPDX-License-Identifier: MIT
"""wandb.summary: the last value of each key, nested dicts of them, and what define_metric(summary=...) asked for."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Run = Any  # wandb's, of _run.py, which is above this module


class _Level(MutableMapping[str, "Any"]):
    """A mapping with attribute access to its entries; a dict in it is one too."""

    def _tree(self) -> dict[str, Any]:
        raise NotImplementedError

    def _replace(self, key: str, value: object) -> None:
        raise NotImplementedError

    def __getitem__(self, key: str) -> Any:
        tree = self._tree()
        if key in tree:
            value = tree[key]
            return Nested(self, key) if isinstance(value, dict) else value
        if any(isinstance(name, str) and name.startswith(f"{key}.") for name in tree):
            return Nested(self, key)
        raise KeyError(key)

    def __getattr__(self, key: str) -> Any:
        if key.startswith("__"):
            raise AttributeError(key)
        try:
            return self[key]
        except KeyError:
            raise AttributeError(f"the summary has no {key!r}") from None

    def __setitem__(self, key: str, value: object) -> None:
        self._replace(key, value)

    def __setattr__(self, key: str, value: object) -> None:
        self[key] = value

    def __delattr__(self, key: str) -> None:
        del self[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tree())

    def __len__(self) -> int:
        return len(self._tree())

    def __repr__(self) -> str:
        return repr(self._tree())


class Nested(_Level):
    """What lies below a key: of a dict that was set, or of values that were logged as "key.name"."""

    def __init__(self, above: _Level, key: str) -> None:
        self.__dict__.update(_above=above, _key=key)

    def _tree(self) -> dict[str, Any]:
        above: dict[str, Any] = self._above._tree()
        prefix = f"{self._key}."
        tree = {name.removeprefix(prefix): value for name, value in above.items() if name.startswith(prefix)}
        own = above.get(self._key)
        return {**tree, **own} if isinstance(own, dict) else tree

    def _replace(self, key: str, value: object) -> None:
        own = self._above._tree().get(self._key)
        self._above._replace(self._key, {**(own if isinstance(own, dict) else {}), key: value})

    def __delitem__(self, key: str) -> None:
        own = dict(self._above._tree().get(self._key) or {})
        del own[key]
        self._above._replace(self._key, own)


class Summary(_Level):
    """Reading costs a commit of what was logged: not for a hot loop."""

    def __init__(self, run: Run) -> None:
        self.__dict__.update(_run=run)

    def _tree(self) -> dict[str, Any]:
        run: Run = self._run
        stored = {key: value for key, value in dict(run._run.summary).items() if key not in run._rows.deleted}
        tree = run._rows.definitions.summary_of(stored, run._run._core.explicit_summary())
        return {**tree, **run._rows.own_summary()}

    def _replace(self, key: str, value: object) -> None:
        from tracker.compat.wandb._values import is_medium

        if is_medium(value):
            self._run._rows.put_beside({key: value})
            return
        self._run._rows.deleted.discard(key)
        self._run._run.summary[key] = value

    def __delitem__(self, key: str) -> None:
        if key not in self._tree():
            raise KeyError(key)
        if self._run._run._core.explicit_summary().get(key) is not None:
            del self._run._run.summary[key]
        self._run._rows.deleted.add(key)

    def update(self, d: Any = None, /, **named: Any) -> None:
        for key, value in {**dict(d or {}), **named}.items():
            self[key] = value

    def _as_dict(self) -> dict[str, Any]:
        return dict(self._tree())
