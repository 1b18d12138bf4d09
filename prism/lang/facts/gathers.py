"""Gathers of a cluster (`all_gather`): which functions have them, and how many."""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang import tree
from prism.lang.keep.memo import memoize
from prism.lang.tree.walk import calls, statements, terms


def is_gather(part: tree.Expr) -> bool:
    """Whether a part of a statement gathers."""
    return isinstance(part, tree.Apply) and part.intrinsic.clusters


@memoize
def has_gathers(function: tree.Function) -> bool:
    """Whether a function gathers, or calls one that does."""
    if any(True for _ in own_gathers(function)):
        return True
    return any(has_gathers(call.function) for s in statements(function.body) for call in calls(s))


def own_gathers(function: tree.Function) -> Iterator[tree.Apply]:
    """Yield a function's gathers, without those of its callees."""
    for s in statements(function.body):
        for part in terms(s):
            if isinstance(part, tree.Apply) and is_gather(part):
                yield part


@memoize
def many_gathers(function: tree.Function) -> int:
    """Return how many gathers a function comes to at most, with those of its callees; 2 for more."""
    return min(2, _count(function.body))


def _count(body: tree.Body) -> int:
    found = 0
    for s in body:
        here = sum(map(is_gather, terms(s)))
        here += sum(many_gathers(call.function) for call in calls(s))  # a loop's condition may call, too
        here += sum(map(_count, tree.children(s)))
        found += 2 * here if isinstance(s, tree.For | tree.While) else here
    return found
