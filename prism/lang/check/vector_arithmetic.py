"""Operators of vectors: what they take, and the intrinsic that each becomes."""

from __future__ import annotations

from prism.lang import tree
from prism.lang.check.conversion import convert
from prism.lang.check.env import Env, fail
from prism.lang.diagnostics import Fields, Span
from prism.lang.errors import types as errors
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.intrinsics.special import fma
from prism.lang.intrinsics.vector_arithmetic import FUSED, NEGATED, OPERATORS
from prism.lang.intrinsics.vectors import MAKE, SAME
from prism.lang.parse import syntax as s
from prism.lang.types import Scalar, Vector
from prism.lang.types.perspective import meet
from prism.lang.types.structs import Struct

FLOATS_ONLY = "only vectors of floats have operators: take the components, `v[0]`"
ALIKE = "make them vectors of one type, or numbers"


def vector_binary(env: Env, e: s.Binary, left: tree.Expr, right: tree.Expr) -> tree.Expr:
    """`a + b`, `a - b`, `a * b`, `a / b` of two vectors of one type, or of one and a number that stands for each component."""
    operator = OPERATORS.get(e.op)
    kind = left.type if isinstance(left.type, Vector) else right.type
    assert isinstance(kind, Vector)
    if operator is None or not has_operators(kind):
        hint = (
            FLOATS_ONLY
            if operator is not None
            else "vectors have `+`, `-`, `*`, `/` and `fma`: take the components, `v[0]`"
        )
        fail(errors.Operands(span=e.span, op=e.op, left=str(left.type), right=str(right.type), hint=hint))
    sides = []
    for side in (left, right):
        spread = of_type(env, side, kind)
        if spread is None:
            hint = ALIKE if isinstance(side.type, Vector) else f"convert the number: `{kind.element}(x)`"
            fail(errors.Operands(span=e.span, op=e.op, left=str(left.type), right=str(right.type), hint=hint))
        sides.append(spread)
    return application(env, operator, sides, kind, e.span)


def vector_negative(env: Env, e: s.Unary, operand: tree.Expr) -> tree.Expr:
    """`-a` of a vector."""
    kind = operand.type
    assert isinstance(kind, Vector)
    if e.op != "-" or not has_operators(kind):
        fail(errors.Operands(span=e.span, op=e.op, left=str(kind), right="nothing", hint=FLOATS_ONLY))
    return application(env, NEGATED, [operand], kind, e.span)


def vector_fused(env: Env, e: s.Call, operands: list[tree.Expr]) -> tree.Expr:
    """`fma(a, b, c)` where one is a vector."""
    kind = next(o.type for o in operands if isinstance(o.type, Vector))
    found = [of_type(env, operand, kind) for operand in operands]
    sides = [side for side in found if side is not None]
    if len(sides) != len(operands) or not fma.allows(kind.element):
        facts: Fields = {"left": str(operands[0].type), "right": " and ".join(str(o.type) for o in operands[1:])}
        hint = ALIKE if len(sides) != len(operands) else "`fma` takes vectors of float32 or float64"
        fail(errors.Operands(span=e.span, op="fma", hint=hint, **facts))
    return application(env, FUSED, sides, kind, e.span)


def has_operators(kind: Vector) -> bool:
    """Whether vectors of a type have operators."""
    return kind.element.kind == "float" and not kind.element.stored


def of_type(env: Env, value: tree.Expr, kind: Vector) -> tree.Expr | None:
    """Return a value as a vector: a number that its components' type holds stands for each; None for all else."""
    if isinstance(value.type, Vector):
        return value if value.type == kind else None
    if not isinstance(value.type, Scalar) or isinstance(value.type, Struct) or value.type.kind == "bool":
        return None
    other = value.type
    if other.kind == "float" and (other.stored or other.bits > kind.element.bits or other.short != kind.element.short):
        return None
    makes = SAME.get(kind.length, MAKE[1])
    return application(env, makes, [convert(value, kind.element)], kind, value.span, width=kind.length)


def application(
    env: Env, intrinsic: Intrinsic, operands: list[tree.Expr], kind: Vector, span: Span, **statics: object
) -> tree.Expr:
    """Return an intrinsic's application, as broad as what it is applied to."""
    facts: Fields = {"type": kind, "perspective": meet(*(operand.perspective for operand in operands)), "span": span}
    return tree.Apply(intrinsic=intrinsic, arguments=tuple(operands), statics=statics, code=env.code, **facts)
