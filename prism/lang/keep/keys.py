"""Keys that tell values apart as programs do: to Python 2 and 2.0 are equal, and so are 1 and True, 0.0 and -0.0."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from prism.lang.keep.records import is_record_class, items_of

_DOUBLE = struct.Struct("<d").pack


def exact(value: Any) -> Hashable:
    """Return a key of a value: its type and its very bits. A function, or a type of Prism's, is its own key.

    A record's is that of its fields. What has no hash is told by its identity: no program takes it, and none is kept with it.
    """
    kind = type(value)
    if kind is int or kind is bool or kind is str:
        return kind, value
    if kind is float:
        return kind, _DOUBLE(value)
    if kind is complex:
        return kind, _DOUBLE(value.real), _DOUBLE(value.imag)
    if isinstance(value, np.generic):
        return kind, value.dtype, value.tobytes()
    if kind is tuple:
        return kind, *map(exact, value)
    if is_record_class(kind):
        return kind, *(exact(each) for _, each in items_of(value))
    if isinstance(value, int | float | complex | str):
        return kind, value
    key: Hashable = (kind, id(value)) if kind.__hash__ is None else value
    return key


def exact_items(items: Iterable[tuple[str, Any]]) -> tuple[Hashable, ...]:
    """Return the key of values with names, in the order of the names."""
    return tuple((name, exact(value)) for name, value in sorted(items, key=_name))


def _name(item: tuple[str, Any]) -> str:
    return item[0]
