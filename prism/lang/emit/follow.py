"""Where a kernel waits for the kernel before it in its stream: launched early, it must not see memory before that one is done.

Blocks of a kernel that follows another may begin while the other's last ones run (programmatic dependent launch, sm_90 on). What
comes before the first access to memory that is not the block's own needs nothing of the other kernel; from there on everything
comes after the wait. Every block waits, also one that returns early: a third kernel waits for this one alone, and may begin when
all blocks of this one have waited. So there are never blocks of more than two kernels of a stream on the GPU.

A prefetch is no access. It gives no value, and what it brings into the L2 stays coherent there: what the kernel before still
writes goes to the same lines. So it may come before the wait, where what it is told, how much of what, is not read from memory.
"""

from __future__ import annotations

from prism.lang.intrinsics.copies import prefetch_map
from prism.lang.intrinsics.memory import prefetch
from prism.lang.place import subexpressions
from prism.lang.tree import (
    Apply,
    Batch,
    Body,
    Expr,
    Function,
    Group,
    Partition,
    Return,
    Stmt,
    Symbol,
    Unsafe,
    children,
    expressions,
)
from prism.lang.types import Pointer, TensorMap

WAIT = "px_follow();"


def first_reach(function: Function) -> Stmt | None:
    """Return the statement of a kernel, which all threads run once, before which it must wait; None: it may wait at its end."""
    outside = frozenset(p for p in function.parameters if isinstance(p.type, Pointer | TensorMap))
    return _first(function.body, outside)


def _first(body: Body, outside: frozenset[Symbol]) -> Stmt | None:
    for statement in body:
        if any(_mentions(e, outside) for e in expressions(statement)):  # its own, as where a partition begins
            return statement
        if _reaches(statement, outside):
            inside = _first(statement.body, outside) if isinstance(statement, Batch | Group | Partition) else None
            return inside or statement
    return None


def _reaches(statement: Stmt, outside: frozenset[Symbol]) -> bool:
    """Whether a statement, or one inside it, may touch memory of the grid, make a pointer to it, or leave the kernel."""
    if isinstance(statement, Return | Unsafe) or any(_mentions(e, outside) for e in expressions(statement)):
        return True
    return any(_reaches(inner, outside) for body in children(statement) for inner in body)


def _mentions(expression: Expr, outside: frozenset[Symbol]) -> bool:
    """Whether an expression names memory of the grid, otherwise than as what is to be prefetched."""
    asked = None
    if isinstance(expression, Apply):
        if expression.intrinsic is prefetch_map:  # a parameter, which is there from the beginning
            return False
        asked = expression.arguments[0] if expression.intrinsic is prefetch else None
    named = (getattr(part, "symbol", None) for part in subexpressions(expression) if part is not asked)
    return any(isinstance(symbol, Symbol) and symbol.root() in outside for symbol in named)


__all__ = ["WAIT", "first_reach"]
