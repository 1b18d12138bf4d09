"""Numbers of a call that its plan takes as memory, so that one plan does for all their values."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from prism.host import arguments, repeat

_MOST = 4096
_known: dict[Hashable, int | None] = {}


def bits_of(asked: tuple[Hashable, ...], value: Any, convert: Callable[[], Any]) -> int | None:
    """Return the bits of a number of a call, in the type that the kernel takes.

    `asked`: what that type follows from. `convert` gives the number as NumPy's scalar of it.
    None: it has more than 8 bytes, or is none of the dtype, as the call says; or `prism.lib.plan` makes the call, for good.
    """
    if repeat.for_good():
        return None
    kind = type(value)
    exact = value or repr(value) if kind is int or kind is float else arguments.exactly(value)
    key = asked, kind, exact
    try:
        return _known[key]
    except TypeError:  # what can't be looked up, as a list for a dtype, is wrong
        return None
    except KeyError:
        found = _known[key] = _bits(convert)
        return found


def _bits(convert: Callable[[], Any]) -> int | None:
    if len(_known) >= _MOST:
        _known.clear()
    try:
        number = convert()
    except (AttributeError, TypeError, ValueError, OverflowError):
        return None
    return None if number.dtype.kind in "cV" else int.from_bytes(number.tobytes(), "little")
