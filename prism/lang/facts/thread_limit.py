"""How many threads a launch may have for what its kernel counts in 32 bits."""

from __future__ import annotations

from prism.lang.keep.memo import memoize
from prism.lang.tree import Count, Expr, Id, Scalar
from prism.lang.tree.plan import Program
from prism.lang.tree.walk import statements, terms
from prism.lang.types.perspective import Level


def of_grid(e: Expr) -> bool:
    """Whether an expression is an index or a count of units of threads through all blocks of the grid."""
    return isinstance(e, Id | Count) and e.code.level == Level.GRID and e.unit.level == Level.THREAD


@memoize
def most_threads(program: Program) -> int | None:
    """Return how many threads, of all blocks together, a launch may have; None: any number.

    `id()` and `count()` are int32, and made of the thread's number in the grid, of 32 bits without a sign. Where they become a
    variable of 64 bits at once they are counted in that.
    """
    narrow = [
        part
        for function in program.functions
        for statement in statements(function.body)
        for part in terms(statement)
        if of_grid(part) and isinstance(part.type, Scalar) and part.type.bits < 64
    ]
    return min(map(_most, narrow), default=None)


def _most(e: Expr) -> int:
    assert isinstance(e, Id | Count)
    if e.unit.size > 1:
        return 2**32 - 1
    return 2**31 if isinstance(e, Id) else 2**31 - 1
