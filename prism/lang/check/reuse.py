"""Device functions of this package that were looked at before, for another program: nothing about them is found out twice.

All about a function follows from its text, its template arguments and what it calls, but for its name in C++, which counts the
program's functions that are called so. What free names of its text stand for never changes in this package; in a user's function
it may, so those are looked at anew for each program.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping
from typing import Any

from prism.lang.keep.bases import Frozen
from prism.lang.keep.keys import exact_items
from prism.lang.surface import Kernel
from prism.lang.tree import Function

Key = tuple[object, ...]
"""A kernel, and its template arguments by name."""
MOST = 1024
"""Functions that are remembered: a process that builds all kernels of the library has some thousands."""


class Checked(Frozen):
    """A checked function, and all that it reaches, callees first."""

    function: Function
    reached: Mapping[Key, Checked]


def earlier_checks(kernel: Kernel, template: Mapping[str, object]) -> list[Checked]:
    """Return a device function as it was checked before: once for each name in C++ that it, or what it reaches, has had.

    Whoever checks it appends to the list. Of what is not wholly of this package nothing is remembered.
    """
    if kernel.kind != "device" or not all(map(_ours, (kernel, *template.values()))):
        return []
    return _earlier_checks(kernel, exact_items(template.items()))


@functools.lru_cache(maxsize=MOST)
def _earlier_checks(kernel: Kernel, template: tuple[Hashable, ...]) -> list[Checked]:
    return []


def _ours(value: object) -> bool:
    """Whether a value is no function, or one of this package that is found there by its name."""
    own = not isinstance(value, Kernel) or str(value.__module__).startswith("prism.")
    return own and "<locals>" not in getattr(value, "__qualname__", "")


def notes(function: Function) -> dict[Any, Any]:
    """Return what was found out about a device function, by what was asked; whoever finds it out writes it there."""
    return function.notes
