"""Where a kernel waits for the kernel before it in its stream: launched early, it must not see memory before that one is done.

Blocks of a kernel that follows another may begin while the other's last ones run (programmatic dependent launch, sm_90 on). What
comes before the first access to memory that is not the block's own needs nothing of the other kernel; from there on everything
comes after the wait. Every block waits, also one that returns early: a third kernel waits for this one alone, and may begin when
all blocks of this one have waited. So there are never blocks of more than two kernels of a stream on the GPU.

Where roles part (rings), each role waits for itself, before its own first access, and a role that has none does not wait: what
it reads in shared memory was brought by one that did. A role's loop over tiles is entered, if the access is in a loop inside it:
what the first trip computes before, and the fetching of a tensor map's descriptor, are done by then. As such a loop may have no
trip, a second wait stands behind it. A wait that is over takes a few clocks.

A prefetch is no access. It gives no value, and what it brings into the L2 stays coherent there: what the kernel before still
writes goes to the same lines. So it may come before the wait, where what it is told, how much of what, is not read from memory.
"""

from __future__ import annotations

from prism.lang import tree
from prism.lang.intrinsics.memory import prefetch
from prism.lang.intrinsics.prefetches import prefetch_map, tma_prefetch
from prism.lang.keep.bases import Value
from prism.lang.keep.memo import memoize
from prism.lang.tree.walk import subexpressions
from prism.lang.types import Pointer, TensorMap

WAIT = "px_follow();"


class Waits(Value):
    """The statements before which, and behind which, whoever runs them waits; none at all: the kernel may wait at its end."""

    before: frozenset[tree.Stmt] = frozenset()
    behind: frozenset[tree.Stmt] = frozenset()


def waits(function: tree.Function) -> Waits:
    """Return where a kernel waits: all its threads once, or those of each role that reach memory of the grid."""
    outside = frozenset(p for p in function.parameters if isinstance(p.type, Pointer | TensorMap))
    return _waits(function.body, outside, roles=False)


def _waits(body: tree.Body, outside: frozenset[tree.Symbol], *, roles: bool) -> Waits:
    first = _first(body, outside)
    if isinstance(first, tree.Specialise):  # invariant: nobody reaches memory of the grid before a wait of its own role
        of = [_waits(role.body, outside, roles=True) for role in first.roles]
        return Waits(frozenset().union(*(w.before for w in of)), frozenset().union(*(w.behind for w in of)))
    if first is None:
        return Waits()
    inside = None
    if roles and isinstance(first, tree.For | tree.While) and not _names(first, outside):
        inside = _first(first.body, outside, claims=isinstance(first, tree.While))
    if isinstance(inside, tree.For):
        # `for tile: place = f(tile); for k: load(x, place, k)`: before `for k`, so `f` of the first tile need not wait; later
        # trips find the wait over. Behind `for tile` for a role that had no tile.
        return Waits(frozenset({inside}), frozenset({first}))
    return Waits(frozenset({first}))


def _first(body: tree.Body, outside: frozenset[tree.Symbol], *, claims: bool = False) -> tree.Stmt | None:
    """Return the first statement, of those that all threads of a body run once, that reaches memory of the grid.

    `claims`: or the first one inside a claim, which may wait for a ring's copy before.
    """
    for statement in body:
        if _names(statement, outside):  # its own expressions, as where a partition begins
            return statement
        if _reaches(statement, outside):
            # Not into a branch or a loop: who doesn't go there must wait too, so all of it comes after the wait.
            inside = None
            if isinstance(statement, _SCOPES) or (claims and isinstance(statement, tree.Claim)):
                inside = _first(statement.body, outside, claims=claims)
            return inside or statement
    return None


_SCOPES = tree.Batch | tree.Group | tree.Partition


def _names(statement: tree.Stmt, outside: frozenset[tree.Symbol]) -> bool:
    return any(_mentions(e, outside) for e in tree.expressions(statement))


def _reaches(statement: tree.Stmt, outside: frozenset[tree.Symbol]) -> bool:
    """Whether a statement, or one inside it, may touch memory of the grid, make a pointer to it, or leave the kernel."""
    if isinstance(statement, tree.Return | tree.Unsafe) or _names(statement, outside):
        return True
    return any(_reaches(inner, outside) for body in tree.children(statement) for inner in body)


def _mentions(expression: tree.Expr, outside: frozenset[tree.Symbol]) -> bool:
    """Whether an expression names memory of the grid, otherwise than as what is to be prefetched."""
    asked: tuple[tree.Expr, ...] = ()
    if isinstance(expression, tree.Apply):
        if expression.intrinsic is prefetch_map:  # a parameter, which is there from the beginning
            return False
        asked = expression.arguments[:1] if expression.intrinsic in (prefetch, tma_prefetch) else ()
    elif isinstance(expression, tree.Call) and _only_asks(expression.function):
        asked = tuple(e for e in expression.arguments if isinstance(e, tree.Var))
    named = (getattr(part, "symbol", None) for part in subexpressions(expression) if part not in asked)
    return any(isinstance(symbol, tree.Symbol) and symbol.root() in outside for symbol in named)


@memoize
def _only_asks(function: tree.Function) -> bool:
    """Whether a device function does no more to the memory that it is given than ask for it."""
    return waits(function) == Waits()
