"""Keys that tell values apart as programs do: to Python 2 and 2.0 are equal, and so are 1 and True, 0.0 and -0.0."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

_DOUBLE = struct.Struct("<d").pack


def exact(value: Any) -> Hashable:
    """Return a key of a value: its type and its very bits. A function, or a type of Prism's, is its own key."""
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
    key: Hashable = (kind, value) if isinstance(value, int | float | complex | str) else value
    return key


def exact_items(items: Iterable[tuple[str, Any]]) -> tuple[Hashable, ...]:
    """Return the key of values with names, in the order of the names."""
    return tuple((name, exact(value)) for name, value in sorted(items, key=_name))


def _name(item: tuple[str, Any]) -> str:
    return item[0]
