"""Whether the arrays of a launch lie apart, as a kernel takes its pointers to: what overlaps must be said to."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping

from prism.runtime.arrays import ArrayInfo
from prism.runtime.entry import EntryParameter


def require_apart(
    parameters: tuple[EntryParameter, ...], arrays: Mapping[str, ArrayInfo], may_alias: Collection[frozenset[str]]
) -> None:
    """Check that no array that a kernel writes shares memory with another of its arrays, but where `may_alias` names both.

    Raises:
        ValueError: two do; both are named.
    """
    if len(arrays) < 2:
        return
    spans = [(p, *_span(arrays[p.name])) for p in parameters if p.name in arrays and arrays[p.name].size]
    for (one, first, last), (other, start, end) in itertools.combinations(spans, 2):
        if (one.const and other.const) or first >= end or start >= last:
            continue
        if not any({one.name, other.name} <= names for names in may_alias):
            raise ValueError(
                f"`{one.name}` and `{other.name}` overlap in memory, and the kernel writes at least one of them: pass arrays "
                f'that lie apart, or put @may_alias("{one.name}", "{other.name}") on it'
            )


def _span(info: ArrayInfo) -> tuple[int, int]:
    """Return the addresses of an array's first byte, and of the one behind its last."""
    reaches = [(extent - 1) * stride for extent, stride in zip(info.shape, info.strides, strict=True)]
    before, behind = sum(r for r in reaches if r < 0), sum(r for r in reaches if r > 0)
    return info.pointer + before, info.pointer + behind + info.dtype.itemsize
