# SPDX-License-Identifier: MIT
"""run.config and run.summary: mutable mappings whose changes are recorded at once."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping

from tracker import _core, _open_runs
from tracker._plain_values import plain_config, refuse
from tracker._reading.stored_config import Paths, entry, find

# For the store to take what was logged, before the summary is read; the same once it has not.
# Limit: ms that run.summary waits for the store. Beyond it: the values are those of the last read, reported once.
READ_WAIT_MS = 10_000
# Limit: ms that run.summary waits once the store has not answered. Beyond it: the values are those of the last read.
STUCK_WAIT_MS = 200

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from tracker._plain_values import Refused


def _head(path: str) -> str:
    """The key of the outermost dict that a path leads into; a "/" at the end of a path leads nowhere."""
    head, _, rest = path.partition("/")
    return head if head and rest else path


def _record_changes(kind: Any, names: str) -> None:
    """Makes these methods of `kind` call self._changed() too."""
    for name in names.split():
        setattr(kind, name, _then_recorded(getattr(kind, name)))


def _then_recorded(method: Any) -> Any:
    def change(self: Any, *args: Any, **named: Any) -> Any:
        out = method(self, *args, **named)
        self._changed()
        return out

    return change


class _List(list["Any"]):
    """A list that lies in config or summary: a change of it records it as it is then. A pickle is a plain list."""

    __slots__ = ("_changed",)

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        return list, (list(self),)


class _Dict(dict[str, "Any"]):
    """The same of a dict that lies in a list, or in summary."""

    __slots__ = ("_changed",)

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        return dict, (dict(self),)


_record_changes(_List, "append clear extend insert pop remove reverse sort __delitem__ __iadd__ __imul__ __setitem__")
_record_changes(_Dict, "clear pop popitem setdefault update __delitem__ __ior__ __setitem__")


def _recording(value: Any, changed: Callable[[], None]) -> Any:
    """`value` as it is read from config or summary: where it is a list or dict, `changed` is called on a change."""
    out: Any = value
    if isinstance(value, list):
        out = _List(_recording(item, changed) for item in value)
    elif isinstance(value, dict):
        out = _Dict((key, _recording(item, changed)) for key, item in value.items())
    if out is not value:
        out._changed = changed
    return out


class _ByAttribute:
    """Entries by attribute too, config.lr = 0.1; a name that is a method's is an entry by ["name"] alone. A copy and a
    pickle are plain dicts of what is recorded by then."""

    __slots__ = ()

    def as_dict(self) -> dict[str, Any]:
        raise NotImplementedError

    def __getattr__(self, key: str) -> Any:
        return entry(self, type(self).__name__.lower(), key)  # type: ignore[arg-type]

    def __setattr__(self, key: str, value: object) -> None:
        if key in type(self).__slots__:
            object.__setattr__(self, key, value)
        elif key.startswith("__") or hasattr(type(self), key):
            kind = type(self).__name__.lower()
            raise AttributeError(f"{kind}.{key} is a method; {kind}[{key!r}] = value sets an entry of that name")
        else:
            self[key] = value

    def __delattr__(self, key: str) -> None:
        try:
            del self[key]
        except KeyError:
            raise AttributeError(key) from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(key for key in self if key.isidentifier())})  # type: ignore[attr-defined]

    def __copy__(self) -> dict[str, Any]:
        return self.as_dict()

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        return self.as_dict()

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        return dict, (self.as_dict(),)


class Config(_ByAttribute, Paths):
    """The config of a run, nested; a dict in it is a Config too, so run.config["model"]["depth"] = 3 is recorded, and
    so is a change of a list in it. It is a dict: json.dump(run.config, file) writes what is recorded.

    A key with "/" is a path; run.config.model is run.config["model"]. Values are stored as plain types;
    secrets as "[redacted]". An entry cannot be deleted, only set to None. What cannot be taken is counted in
    status().values_rejected and named; a strict run raises ValueError, of media TypeError. Threads: any. Cost: a change
    is one record in the ring.
    """

    __slots__ = ("_core", "_prefix", "_root")

    def __init__(self, core: _core.RunCore, root: Config | None = None, prefix: str = "") -> None:
        self._core = core
        self._root = root or self
        self._prefix = prefix
        if root is None:
            self._show(core.config())

    def _show(self, tree: dict[str, Any]) -> None:
        """Holds what the run holds: plain, merged, without secrets."""
        for key in [key for key in self if key not in tree]:
            super().__delitem__(key)
        for key, value in tree.items():
            self._show_entry(key, value)

    def _show_entry(self, key: str, value: Any) -> None:
        """A dict or list that is there stays the object that it is."""
        old = dict.get(self, key)
        if isinstance(value, dict):
            below = old if isinstance(old, Config) else Config(self._core, self._root, f"{self._prefix}{key}/")
            below._show(value)
            value = below
        elif isinstance(value, list):
            value = _recording(value, lambda: self.__setitem__(key, dict.get(self, key)))
            if isinstance(old, _List):
                if repr(old) != repr(value):
                    list.__setitem__(old, slice(None), value)
                value = old
        super().__setitem__(key, value)

    def _show_set(self, paths: Iterable[str]) -> None:
        """What was set at these paths below this dict."""
        for path in paths:
            for key, value in self._core.config_entry(_head(self._prefix + path)).items():
                self._root._show_entry(key, value)

    def __setitem__(self, key: str, value: object) -> None:
        refused: Refused = []
        below = self._prefix[:-1]
        for name, item in plain_config({key: value}, refused, below).items():
            self._refuse_twice(item)
            try:
                self._core.set_config(self._prefix + name, item)
            finally:
                self._show_set([name])
        refuse(self._core, refused)

    def _refuse_twice(self, values: object) -> None:
        if self._core.strict and (twice := _core.given_twice(values)):
            raise ValueError(f"config has two values for '{twice}' (a '/' in a key leads into a dict below it)")

    def __delitem__(self, key: str) -> None:
        raise TypeError("a config entry cannot be deleted; set it to None")

    clear = MutableMapping.clear
    pop = MutableMapping.pop
    popitem = MutableMapping.popitem
    setdefault = MutableMapping.setdefault

    def update(self, *others: Any, **named: Any) -> None:
        """Sets several values in one record; takes a mapping, an object with attributes, or keywords. A dict is merged
        into the one that is there, value by value; a key with "/" leads into a dict below it."""
        values: dict[str, Any] = {}
        refused: Refused = []
        for other in (*others, named):
            values.update(plain_config(other, refused, self._prefix[:-1]))
        if values:  # merged leaf by leaf: what else lies below a key stays
            self._refuse_twice(values)
            try:
                self._core.set_config("", {self._prefix[:-1]: values} if self._prefix else values)
            finally:
                self._show_set(values)
        refuse(self._core, refused)

    def __ior__(self, other: Any) -> Config:  # type: ignore[override,misc]
        self.update(other)
        return self

    def as_dict(self) -> dict[str, Any]:
        """A copy as nested builtin dicts."""
        tree = self._core.config()
        found = find(tree, self._prefix[:-1]) if self._prefix else tree
        return found if isinstance(found, dict) else {}


class Summary(_ByAttribute, MutableMapping[str, "Any"]):
    """One value a metric: the last one logged by itself; a value set here wins and stays until it is deleted.

    Reading in a live run flushes and reads the store, so it costs a commit; do not read it in a hot loop. A store that
    takes nothing for READ_WAIT_MS is said once, and the values are those of the last read until it does.
    """

    __slots__ = ("_last", "_run", "_stuck")

    def __init__(self, run: Any) -> None:
        self._run = run
        self._last: dict[str, Any] = {}
        self._stuck = False

    def as_dict(self) -> dict[str, Any]:
        """A copy as builtin types."""
        core: _core.RunCore = self._run._core
        tree: dict[str, Any] = {}
        if core.uid and self._run._recorded:
            tree = self._stored()
        for key, value in core.explicit_summary().items():
            if value is not None:
                tree[key] = value
        return tree

    def _stored(self) -> dict[str, Any]:
        from tracker._reading.find_runs import summary_of

        stored = summary_of(self._run, (STUCK_WAIT_MS if self._stuck else READ_WAIT_MS) / 1000)
        if stored is None and not self._stuck:
            _open_runs.say_of(
                self._run,
                f"run.summary: the store has not taken what was logged within {READ_WAIT_MS / 1000:g} s; "
                "the values are those of the last read, and nothing is lost",
            )
        self._stuck = stored is None
        if stored is not None:
            self._last = stored
        return dict(self._last)

    def __getitem__(self, key: str) -> Any:
        explicit = self._run._core.explicit_summary().get(key)
        value = explicit if explicit is not None else find(self.as_dict(), key)
        value = _recording(value, lambda: self.__setitem__(key, value))
        return value

    def __setitem__(self, key: str, value: object) -> None:
        refused: Refused = []
        for name, item in plain_config({key: value}, refused).items():
            self._run._core.set_summary(name, item)
        refuse(self._run._core, refused)

    def __delitem__(self, key: str) -> None:
        if self._run._core.explicit_summary().get(key) is None:
            raise KeyError(key)
        self._run._core.set_summary(key, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self.as_dict())

    def __len__(self) -> int:
        return len(self.as_dict())

    def __repr__(self) -> str:
        return repr(self.as_dict())
