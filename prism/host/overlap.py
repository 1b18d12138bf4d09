"""Whether the arrays of a launch lie apart, as a kernel takes its pointers to: what overlaps must be said to."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from typing import TypeAlias

from prism.runtime.arrays import ArrayInfo
from prism.runtime.entry import EntryParameter

Spans: TypeAlias = tuple[tuple[int, int, bool], ...]
"""Of each argument: the bytes that it takes before and behind where it begins, and whether the result may be that very memory."""


def require_apart(
    parameters: tuple[EntryParameter, ...], arrays: Mapping[str, ArrayInfo], may_alias: Collection[frozenset[str]]
) -> None:
    """Check that no array that a kernel writes shares memory with another of its arrays, but where `may_alias` names both.

    Raises:
        ValueError: two do; both are named.
    """
    if len(arrays) < 2:
        return
    found = [(p, arrays[p.name]) for p in parameters if p.name in arrays]
    for (one, first), (other, second) in itertools.combinations(found, 2):
        if (one.const and other.const) or not overlap(first, second):
            continue
        if not any({one.name, other.name} <= names for names in may_alias):
            raise ValueError(_refusal(one.name, other.name))


def _refusal(one: str, other: str) -> str:
    from prism.lang.parse.views import leaf_owner  # not before: a call that is warm needs no parser

    first, second = (leaf_owner(name) for name in (one, other))
    if first or second:
        names = " and ".join(
            f"what `{of}` is computed from" if of else f"`{name}`" for of, name in ((first, one), (second, other))
        )
        return f"{names} overlap in memory, and the kernel writes it: pass prism.lib.evaluate of the lazy array"
    return (
        f"`{one}` and `{other}` overlap in memory, and the kernel writes at least one of them: pass arrays "
        f'that lie apart, or put @may_alias("{one}", "{other}") on it'
    )


def overlap(one: ArrayInfo, two: ArrayInfo) -> bool:
    """Whether the bytes from the first to the last of two arrays overlap; those of an empty one overlap nothing."""
    (before, behind), (above, below) = span(one), span(two)
    return overlapping((one.pointer, two.pointer - above), ((before, behind, False),), above + below) >= 0


def span(info: ArrayInfo) -> tuple[int, int]:
    """Return how many bytes an array takes before its first element, and from there on; none where it is empty."""
    if not info.size:
        return 0, 0
    reaches = [(extent - 1) * stride for extent, stride in zip(info.shape, info.strides, strict=True)]
    return -sum(r for r in reaches if r < 0), sum(r for r in reaches if r > 0) + info.dtype.itemsize


def overlapping(pointers: tuple[int, ...], spans: Spans, room: int) -> int:
    """Return the number of an array that shares memory with the result, the last, and may not be that very array; or -1."""
    target = pointers[-1]
    for number, (source, (before, behind, in_place)) in enumerate(zip(pointers[:-1], spans, strict=True)):
        if target < source + behind and source - before < target + room and not (in_place and source == target):
            return number
    return -1
