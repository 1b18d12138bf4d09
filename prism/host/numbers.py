"""Numbers of a call that its plan takes as memory, so that one plan does for all their values."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from prism.host import arguments, repeat
from prism.runtime.arrays import ArrayInfo, describe

_MOST = 4096
_known: dict[Hashable, int | None] = {}


def bits_of(
    asked: tuple[Hashable, ...], value: Any, x: Any, out: Any, convert: Callable[[ArrayInfo, ArrayInfo | None], Any]
) -> int | None:
    """Return the bits of a number of a call on an array `x`, in the type that the kernel takes.

    `asked`: what its type follows from beside the dtypes of `x` and `out`. `convert` gives it as NumPy's scalar of that type.
    None: it has more than 8 bytes, or is none of the dtype (the call says so); `x` has no elements, so that the result may follow
    from the number; or `prism.lib.plan` makes the call, for good.
    """
    if repeat.for_good():
        return None
    try:
        if 0 in x.shape:
            return None
        kind = type(value)
        exact = value or repr(value) if kind is int or kind is float else arguments.exactly(value)
        key = asked, kind, exact, x.dtype, None if out is None else out.dtype
        return _known[key]
    except (AttributeError, TypeError, ValueError):
        return None
    except KeyError:
        found = _known[key] = _bits(x, out, convert)
        return found


def _bits(x: Any, out: Any, convert: Callable[[ArrayInfo, ArrayInfo | None], Any]) -> int | None:
    if len(_known) >= _MOST:
        _known.clear()
    try:
        number = convert(describe(x), None if out is None else describe(out))
    except (AttributeError, TypeError, ValueError, OverflowError):
        return None
    return None if number.dtype.kind in "cV" else int.from_bytes(number.tobytes(), "little")
