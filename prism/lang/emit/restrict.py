"""Which pointers C++ may be told that nothing else reaches their memory, and what may be read past the caches that keep up.

The compiler then moves and merges loads through such a pointer as if no other thread wrote there, also across barriers. So it
is told of memory that a kernel only reads, or only writes: what threads hand one another through is both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prism.lang.barriers.flow import pointer_change
from prism.lang.facts.touches import ATOMIC, NEAR, REDUCTION, uses
from prism.lang.keep.memo import memoize
from prism.lang.tree import Call, Element, Function, Symbol, Var
from prism.lang.tree.walk import calls, statements
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


def unwritten(program: Iterable[Function]) -> Mapping[Function, frozenset[Symbol]]:
    """Return of each function the parameters whose memory nobody writes while the kernel runs.

    That is what a kernel takes as const and under one name, and what its functions are given of it by all who call them. A
    function's `ptr(const(T))` alone says less: a kernel may pass it what it has just written.
    """
    functions = tuple(program)
    found = {
        function: frozenset(p for p in function.parameters if _is_only_read(function, p)) for function in functions
    }
    given = [
        (f, c) for f in functions for statement in statements(f.body) for c in calls(statement) if c.function in found
    ]
    changed = True
    while changed:
        changed = False
        for caller, call in given:
            pairs = zip(call.function.parameters, call.arguments, strict=False)
            kept = found[call.function].difference(p for p, a in pairs if not _is_of(a, found[caller]))
            changed |= kept != found[call.function]
            found[call.function] = kept
    return found


def _is_only_read(function: Function, parameter: Symbol) -> bool:
    const = isinstance(parameter.type, Pointer) and parameter.type.const
    return const and not any(parameter.name in names for names in function.may_alias)


def _is_of(argument: object, parameters: frozenset[Symbol]) -> bool:
    return isinstance(argument, Var | Element) and argument.symbol.root() in parameters
