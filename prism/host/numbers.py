"""Numbers of a call that its plan takes as memory, so that one plan does for all their values."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

from prism.host import arguments, repeat
from prism.runtime.arrays import ArrayInfo, describe

Way: TypeAlias = Callable[[ArrayInfo, ArrayInfo | None], Callable[[Any], Any]]
"""What makes numbers NumPy's scalars, of an array and perhaps of one for the results."""
_MOST = 4096
_known: dict[Hashable, int | None] = {}
_ways: dict[Hashable, Callable[[Any], Any]] = {}


def bits_of(asked: tuple[Hashable, ...], value: Any, way: Way, x: Any, out: Any = None) -> int | None:
    """Return the bits of a number of a call, in the type that the kernel takes.

    `asked`: what that type follows from, beside the dtypes of arrays. `way`: how numbers become NumPy's scalars of that type.
    None: it has more than 8 bytes, or is none of the dtype, as the call says; or `prism.lib.plan` makes the call, for good.
    """
    if repeat.for_good():
        return None
    kind = type(value)
    exact = value or repr(value) if kind is int or kind is float else arguments.exactly(value)
    of_out = None if out is None else getattr(out, "dtype", "none")  # not as where there is none
    asked = *asked, getattr(x, "dtype", None), of_out
    key = asked, kind, exact
    try:
        return _known[key]
    except TypeError:  # what can't be looked up, as a list for a dtype, is wrong
        return None
    except KeyError:
        found = _known[key] = _bits(asked, value, way, x, out)
        return found


def _bits(asked: Hashable, value: Any, way: Way, x: Any, out: Any) -> int | None:
    for known in (_known, _ways):
        if len(known) >= _MOST:
            known.clear()
    try:
        if asked not in _ways:
            _ways[asked] = way(describe(x), None if out is None else describe(out))
        number = _ways[asked](value)
    except (AttributeError, TypeError, ValueError, OverflowError):
        return None
    return None if number.dtype.kind in "cV" else int.from_bytes(number.tobytes(), "little")
