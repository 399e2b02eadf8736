# SPDX-License-Identifier: MIT
"""Labels of classes, one rule for all media: a label is an int, a str or a bool, and a label, not a position.

Whole floats and numbers of NumPy, torch and JAX are ints; bools beside ints are ints; beside texts all are texts.
What occurs is a class, sorted; nothing is between two numbers. `classes` says names or the order: a dict
{label: name}; a list of labels, in their order; or, for labels that are ints, a list of names for 0, 1, 2, … What
occurs beside them comes after them under its own text. `ignore`: labels that stand for none, -100 by default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from tracker._media.image_array import plain_number
from tracker._media.medium import clean_text

Label: TypeAlias = int | str
IGNORED = -100
# Limit: characters of a label or name of boxes, masks, classes. Beyond it: cut.
LABEL_CHARS_MAX = 256


def label_of(value: Any) -> Label:
    """Never raises for a value that has a str()."""
    value = plain_number(value)
    if isinstance(value, (int, str)):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return str(value)


def labels_of(values: Any) -> list[Label]:
    """Of any shape, in the order of its axes."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"labels are a list or an array, got {type(values).__name__}")
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    while any(isinstance(each, (list, tuple)) for each in listed):
        listed = [one for each in listed for one in (each if isinstance(each, (list, tuple)) else (each,))]
    return listed if set(map(type, listed)) <= {int} else [label_of(each) for each in listed]


def of_one_kind(*lists: list[Label]) -> list[list[Label]]:
    kinds = {kind for each in lists for kind in map(type, each)}
    if any(issubclass(kind, str) for kind in kinds):
        return [list(map(str, each)) for each in lists]
    return [list(map(int, each)) for each in lists] if len(kinds) > 1 else list(lists)


def ignored_of(ignore: Any) -> set[str]:
    """Labels as texts."""
    if ignore is None:
        return set()
    many = isinstance(ignore, Iterable) and not isinstance(ignore, (str, bytes)) and getattr(ignore, "ndim", 1) > 0
    return {str(label_of(each)) for each in (ignore if many else (ignore,))}


def check_classes(classes: Any) -> None:
    """TypeError: no container of classes."""
    if classes is not None and (isinstance(classes, (str, bytes)) or not isinstance(classes, Iterable)):
        raise TypeError(f"classes is a list of labels or names, or a dict of labels to names, got "
                        f"{type(classes).__name__}")  # fmt: skip


def name_of(name: object) -> str:
    return clean_text(str(name), LABEL_CHARS_MAX)


def named(occur: Iterable[Label], classes: Any, remark: Callable[[str], None]) -> dict[str, str]:
    """{text of a label: its name}, in their order. `occur`: labels of one kind."""
    found: list[Any] = sorted(set(occur))
    if classes is None:
        return {str(label): name_of(label) for label in found}
    out = _said(classes, positions=not found or not isinstance(found[0], str), bools=bool(found) and found[0] in _BOOLS)
    further = [label for label in found if str(label) not in out]
    if further:
        shown = ", ".join(map(repr, further[:5])) + (", …" if len(further) > 5 else "")
        remark(f"labels that are none of the classes come after them: {shown}; classes={{label: name}} says each")
    for label in further:
        text = name_of(label)
        out[str(label)] = text if text not in out.values() else f"{text} (label)"
    if len(set(out.values())) < len(out):
        names = list(out.values())
        raise ValueError(f"two classes are called {next(n for n in names if names.count(n) > 1)!r}")
    return out


class _Bools:
    """True and False, not 1 and 0, which are equal to them."""

    def __contains__(self, value: object) -> bool:
        return isinstance(value, bool)


_BOOLS = _Bools()


def _said(classes: Any, *, positions: bool, bools: bool = False) -> dict[str, str]:
    """`positions`: names in a list are those of 0, 1, 2, …"""
    if isinstance(classes, Mapping):
        return {str(label_of(label)): name_of(name) for label, name in classes.items()}
    listed = [label_of(each) for each in classes]
    are_names = all(isinstance(each, str) and not each.lstrip("-").isdigit() for each in listed)
    if positions and are_names and not (bools and set(listed) <= {"True", "False"}):
        keys: list[str] = [str(bool(i)) if bools and i < 2 else str(i) for i in range(len(listed))]
    else:
        keys = [str(each) for each in listed]
    if len(set(keys)) < len(keys):
        raise ValueError(f"two classes are called {next(key for key in keys if keys.count(key) > 1)!r}")
    return {key: name_of(each) for key, each in zip(keys, listed, strict=True)}


def names_of_ids(classes: Any) -> dict[str, str]:
    """{text of an id: its name}, of boxes and masks; of a list those of 0, 1, 2, …"""
    if classes is None:
        return {}
    if isinstance(classes, Mapping):
        return _said(classes, positions=True)
    return {str(i): name_of(name) for i, name in enumerate(classes)}
