"""Which pointers C++ may be told that nothing else reaches their memory.

The compiler then moves and merges loads through such a pointer as if no other thread wrote there, also across barriers. So it
is told of memory that a kernel only reads, or only writes: what threads hand one another through is both.
"""

from __future__ import annotations

from collections.abc import Mapping

from prism.lang.barriers.flow import pointer_change
from prism.lang.facts.touches import ATOMIC, NEAR, REDUCTION, uses
from prism.lang.keep.memo import memoize
from prism.lang.tree import Call, Element, Function, Symbol, Var
from prism.lang.tree.walk import statements
from prism.lang.types import Pointer

BOTH = frozenset({"read", "write"})


def is_restrict(function: Function, pointer: Symbol) -> bool:
    """Whether a kernel's parameter is a pointer through which alone its memory is reached, and only read or only written."""
    if function.kind != "global" or not isinstance(pointer.type, Pointer):
        return False
    if any(pointer.name in names for names in function.may_alias):
        return False
    return kinds(function).get(pointer, frozenset()) != BOTH


@memoize
def kinds(function: Function) -> Mapping[Symbol, frozenset[str]]:
    """Return what a function does to the memory of each object: it reads, it writes. To assign a pointer counts for both."""
    found: dict[Symbol, frozenset[str]] = {}

    def note(symbol: Symbol, more: frozenset[str]) -> None:
        root = symbol.root()
        found[root] = found.get(root, frozenset()) | more

    for statement in statements(function.body):
        change = pointer_change(statement)
        for symbol in () if change is None else (change[0], *change[1]):
            note(symbol, BOTH)
        for use in uses(statement):
            if isinstance(use.expression, Call):
                inner = kinds(use.expression.function)
                for formal, argument in zip(use.expression.function.parameters, use.expression.arguments, strict=False):
                    if isinstance(argument, Var | Element):
                        note(argument.symbol, inner.get(formal, frozenset()))
            else:
                note(use.expression.symbol, BOTH if use.kind in (ATOMIC, NEAR, REDUCTION) else frozenset({use.kind}))
    return found
