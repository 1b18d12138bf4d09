"""Which functions are functions of their arguments alone: operators, whose result is as broad as what they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prism.lang import tree
from prism.lang.keep.memo import memoize
from prism.lang.tree.bind import operands_of
from prism.lang.tree.walk import statements, terms
from prism.lang.types import Pointer, Scalar, Type, Vector
from prism.lang.types.perspective import THREAD

MEMORY = ("element", "tile", "tensor")
"""Kinds of an intrinsic's operands that are memory."""


def is_pure(parameters: tuple[tree.Symbol, ...], result: Type, body: tree.Body) -> bool:
    """Whether the body only computes: no memory, no unit's index, no collective, no change of perspective."""
    if not isinstance(result, Scalar | Vector) or not parameters:
        return False
    if not all(isinstance(p.type, Scalar | Vector) for p in parameters):
        return False
    scopes = tree.Group | tree.Split | tree.Partition | tree.Claim | tree.Async | tree.Batch | tree.Turns
    other = scopes | tree.SharedDeclare | tree.Unsafe | tree.Assert | tree.Print
    return not any(isinstance(s, other) or not all(map(only_computes, terms(s))) for s in statements(body))


def only_computes(e: tree.Expr) -> bool:
    """Whether an expression, but for its parts, is a function of values."""
    if isinstance(e, tree.Call):
        return e.function.pure
    if isinstance(e, tree.Apply):
        return e.intrinsic.elementwise
    return not isinstance(e, tree.Element | tree.Id | tree.Count | tree.Place)


def touches_memory(e: tree.Expr) -> bool:
    """Whether an expression calls something that reads or writes memory that threads share."""
    if isinstance(e, tree.Call) and function_touches(e.function):
        return True
    return isinstance(e, tree.Apply) and e.intrinsic.touches_memory


@memoize
def function_touches(function: tree.Function) -> bool:
    """Whether a function's body reads or writes memory that threads share."""
    return any(
        isinstance(s, tree.Unsafe)
        and s.accesses
        or any(isinstance(e, tree.Element) or touches_memory(e) for e in terms(s))
        for s in statements(function.body)
    )


def trusted_pointers(parameters: tuple[tree.Symbol, ...], body: tree.Body) -> frozenset[str]:
    """Return the const pointers to global memory that are loaded at a perspective broader than thread[1], here or in a callee."""
    named = [symbol.root() for e in evaluated_expressions(body) for symbol in loaded_for_several(e)]
    return frozenset(
        root.name
        for root in named
        if root in parameters and isinstance(root.type, Pointer) and root.type.const and root.type.space == "global"
    )


def loaded_for_several(e: tree.Expr) -> list[tree.Symbol]:
    """Return the names through which an expression itself loads once for several threads."""
    if isinstance(e, tree.Element):
        return [] if e.perspective <= THREAD else [e.symbol]
    if isinstance(e, tree.Call):
        pairs = zip(e.function.parameters, e.arguments, strict=True)
        return [a.symbol for formal, a in pairs if formal.name in e.function.trusts and isinstance(a, tree.Var)]
    return []


def evaluated_expressions(body: tree.Body) -> Iterator[tree.Expr]:
    """Yield all expressions of a body but the addresses that intrinsics are given."""
    for statement in statements(body):
        for e in tree.expressions(statement):
            yield from _evaluated_parts(e)


def _evaluated_parts(e: tree.Expr) -> Iterator[tree.Expr]:
    yield e
    places = [a for p, a in operands_of(e) if p.kind in MEMORY] if isinstance(e, tree.Apply) else []
    for part in tree.operands(e):
        if not (isinstance(part, tree.Element) and any(part is place for place in places)):
            yield from _evaluated_parts(part)


def effect_conflict(
    statement: tree.Stmt, unwritten: Callable[[tree.Element], bool]
) -> tuple[tree.Expr, tree.Element | None] | None:
    """Return a call whose order with another access of the same statement is not defined, if there is one.

    With an element that it is given the value of, if that is the other access. `unwritten`: what nobody writes, whose reads have
    no order with anything.
    """
    made: list[tree.Expr] = []
    for e in tree.expressions(statement):
        if not (isinstance(statement, tree.Assign) and e is statement.target):
            _gather_accesses(e, made)
    calls = [e for e in made if not reads_only(e)]
    others = [e for e in made if not (isinstance(e, tree.Element) and unwritten(e))]
    if not calls or len(others) < 2:
        return None
    given = (
        (e for part in tree.operands(calls[0]) for e in _evaluated_parts(part))
        if isinstance(calls[0], tree.Call)
        else ()
    )
    elements = [e for e in given if isinstance(e, tree.Element) and not unwritten(e)]
    return calls[0], elements[0] if len(elements) == len(others) - 1 == 1 else None


def _gather_accesses(e: tree.Expr, made: list[tree.Expr]) -> None:
    """Add the elements of an expression, and its calls that touch memory, which stand for what they are given."""
    calls = touches_memory(e)
    if calls or isinstance(e, tree.Element):
        made.append(e)
    if not (calls and isinstance(e, tree.Apply)):
        for part in tree.operands(e):
            _gather_accesses(part, made)


def reads_only(e: tree.Expr) -> bool:
    """Whether a call touches memory only to read it: an intrinsic, or a function with no stores, barriers or order of its own."""
    if isinstance(e, tree.Call):
        return not function_touches(e.function) or function_reads_only(e.function)
    if not isinstance(e, tree.Apply):
        return True
    return not e.intrinsic.orders and all(p.effect == "read" for p in e.intrinsic.parameters if p.kind in MEMORY)


@memoize
def function_reads_only(function: tree.Function) -> bool:
    """Whether a function of one thread touches memory only to read it."""
    return function.bound.code == THREAD and not any(
        isinstance(s, tree.Unsafe | tree.Print | tree.Assert)
        or (isinstance(s, tree.Assign) and is_store(s))
        or not all(map(reads_only, terms(s)))
        for s in statements(function.body)
    )


def is_store(st: tree.Assign) -> bool:
    """Whether an assignment is to memory."""
    target: tree.Expr = st.target
    while isinstance(target, tree.Component):
        target = target.vector
    return isinstance(target, tree.Element)
