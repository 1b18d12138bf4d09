"""Which functions are functions of their arguments alone: operators, whose result is as broad as what they are given."""

from __future__ import annotations

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
    if isinstance(statement, tree.Group | tree.Split | tree.Partition | tree.Claim | tree.SharedDeclare):
        return False
    if not all(pure_expression(e) for e in tree.expressions(statement)):
        return False
    return all(pure_statement(inner) for body in tree.children(statement) for inner in body)


def pure_expression(e: tree.Expr) -> bool:
    """Whether an expression is a function of values."""
    if isinstance(e, tree.Element | tree.Id | tree.Count):
        return False
    if isinstance(e, tree.Call) and not e.function.pure:
        return False
    if isinstance(e, tree.Apply) and not e.intrinsic.elementwise:
        return False
    return all(pure_expression(part) for part in tree.operands(e))
