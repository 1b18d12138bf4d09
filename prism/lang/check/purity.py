"""Which functions are functions of their arguments alone: operators, whose result is as broad as what they are given."""

from __future__ import annotations

import functools

from prism.lang import tree
from prism.lang.types import Scalar, Type, Vector


def is_pure(parameters: tuple[tree.Symbol, ...], result: Type, body: tree.Body) -> bool:
    """Whether the body only computes: no memory, no unit's index, no collective, no change of perspective."""
    if not isinstance(result, Scalar | Vector) or not parameters:
        return False
    if not all(isinstance(p.type, Scalar | Vector) for p in parameters):
        return False
    return all(pure_statement(statement) for statement in body)


def pure_statement(statement: tree.Stmt) -> bool:
    """Whether a statement only computes."""
    scopes = tree.Group | tree.Split | tree.Partition | tree.Claim | tree.SharedDeclare
    if isinstance(statement, scopes | tree.Unsafe | tree.Assert | tree.Print):
        return False
    if not all(pure_expression(e) for e in tree.expressions(statement)):
        return False
    return all(pure_statement(inner) for body in tree.children(statement) for inner in body)


def touches_memory(e: tree.Expr) -> bool:
    """Whether an expression calls something that reads or writes memory that threads share."""
    if isinstance(e, tree.Call) and function_touches(e.function):
        return True
    return isinstance(e, tree.Apply) and e.intrinsic.touches_memory


@functools.cache
def function_touches(function: tree.Function) -> bool:
    """Whether a function's body reads or writes memory that threads share."""

    def inside(e: tree.Expr) -> bool:
        return isinstance(e, tree.Element) or touches_memory(e) or any(inside(part) for part in tree.operands(e))

    def body(statements: tree.Body) -> bool:
        return any(
            (isinstance(st, tree.Unsafe) and bool(st.accesses))
            or any(inside(e) for e in tree.expressions(st))
            or any(body(inner) for inner in tree.children(st))
            for st in statements
        )

    return body(function.body)


def effect_conflict(statement: tree.Stmt) -> tree.Expr | None:
    """Return a call whose order with another access of the same statement is not defined, if there is one."""
    calls: list[tree.Expr] = []
    accesses = 0

    def walk(e: tree.Expr) -> None:
        nonlocal accesses
        if touches_memory(e):
            calls.append(e)
            if isinstance(e, tree.Apply):
                return
        elif isinstance(e, tree.Element):
            accesses += 1
        for part in tree.operands(e):
            walk(part)

    for e in tree.expressions(statement):
        if isinstance(statement, tree.Assign) and e is statement.target:
            continue
        walk(e)
    effectful = [c for c in calls if not (isinstance(c, tree.Apply) and reads_only(c))]
    return effectful[0] if effectful and len(calls) + accesses > 1 else None


def reads_only(e: tree.Apply) -> bool:
    """Whether an intrinsic only reads memory."""
    return not e.intrinsic.orders and all(p.effect == "read" for p in e.intrinsic.parameters if p.kind == "element")


def pure_expression(e: tree.Expr) -> bool:
    """Whether an expression is a function of values."""
    if isinstance(e, tree.Element | tree.Id | tree.Count):
        return False
    if isinstance(e, tree.Call) and not e.function.pure:
        return False
    if isinstance(e, tree.Apply) and not e.intrinsic.elementwise:
        return False
    return all(pure_expression(part) for part in tree.operands(e))
