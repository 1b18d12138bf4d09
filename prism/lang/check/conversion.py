"""Types of values: what an operator's operands have in common, and how a value becomes another type."""

from __future__ import annotations

import math
from dataclasses import replace

from prism.lang import tree
from prism.lang.check.env import fail
from prism.lang.diagnostics import Fields, Span, source_text
from prism.lang.errors import names
from prism.lang.errors import types as errors
from prism.lang.facts import budget
from prism.lang.parse import syntax as s
from prism.lang.types import Scalar, Type
from prism.lang.types.structs import Struct

STORED = "convert to float first: `float(x)`; floats of 8 bits are for storage, and have no operators"
INTEGER_ONLY = frozenset({"%", "<<", ">>", "&", "|", "^", "//"})


def holds(value: int, scalar: Scalar) -> bool:
    """Whether an integer type can hold a value."""
    if scalar.kind == "uint":
        return 0 <= value < 1 << scalar.bits
    return -(1 << (scalar.bits - 1)) <= value < 1 << (scalar.bits - 1)


def fit(value: int, scalar: Scalar, span: Span) -> int:
    """Return the value, or fail where the type can't hold it."""
    if not holds(value, scalar):
        fail(errors.LiteralRange(span=span, value=str(value), type=str(scalar)))
    return value


TOO_LARGE = {
    "float8_e4m3fn": 464.0, "float8_e5m2": 61440.0, "float16": 65520.0, "bfloat16": 2.0**128 - 2.0**119,
    "float32": 2.0**128 - 2.0**103,
}  # fmt: skip
"""From here on a number is no longer rounded to the largest one of the type: half a place above it."""


def fit_float(value: float, scalar: Scalar, span: Span) -> float:
    """Return the value, or fail where it is finite, and in the type would be infinite, or another number altogether."""
    if math.isfinite(value) and abs(value) >= TOO_LARGE.get(scalar.name, math.inf):
        fail(errors.FloatRange(span=span, value=f"{value:g}", type=str(scalar)))
    return value


def both_integers(e: s.Binary, left: tree.Expr, right: tree.Expr) -> None:
    """Shifts and bit operators take integers."""
    for side in (left, right):
        if not (isinstance(side.type, Scalar) and side.type.integral):
            hint = "convert to an integer first: `int(x)`"
            fail(errors.Operands(span=e.span, op=e.op, left=str(left.type), right=str(right.type), hint=hint))


def common_type(e: s.Binary, left: tree.Expr, right: tree.Expr) -> Scalar:
    """Return the type that both operands take: the wider; float over integer; unsigned at equal width, as in C."""
    a, b = left.type, right.type
    assert isinstance(a, Scalar) and isinstance(b, Scalar)
    if a.kind == "bool" and b.kind == "bool" and e.op in ("==", "!=", "&", "|", "^"):
        return a
    if "bool" in (a.kind, b.kind) or e.op == "@":
        hint = "convert a bool with `int(b)`" if e.op != "@" else "multiply matrices with a library function"
        fail(errors.Operands(span=e.span, op=e.op, left=str(a), right=str(b), hint=hint))
    if e.op in INTEGER_ONLY and not (a.integral and b.integral):
        hint = "divide floats with `/`" if e.op == "//" else "convert to an integer first: `int(x)`"
        fail(errors.Operands(span=e.span, op=e.op, left=str(a), right=str(b), hint=hint))
    if a.kind == "float" or b.kind == "float":
        widest = max((t for t in (a, b) if t.kind == "float"), key=lambda t: t.bits)
        if widest.stored:
            fail(errors.Operands(span=e.span, op=e.op, left=str(a), right=str(b), hint=STORED))
        if a.short and b.short and a != b:
            hint = "convert one, or both to float: `float(x)`"
            fail(errors.Operands(span=e.span, op=e.op, left=str(a), right=str(b), hint=hint))
        return widest
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return a if a.kind == "uint" else b


SIGNED = frozenset({"-", "//", "%", "<", "<=", ">", ">="})
"""Operators whose result depends on whether its operands are signed."""


def whole_numbers(e: s.Binary, left: tree.Expr, right: tree.Expr, common: Scalar) -> None:
    """What two whole numbers may not do: `/`, which says not what is meant; a division by 0; what of two signs misleads."""
    if not common.integral:
        return
    if e.op == "/":
        one, two = e.left.span, e.right.span
        between = source_text(replace(one, column=one.end_column, end_column=two.column))
        fail(errors.IntegerDivision(augmented="/=" in between, **operands(e, left, right)))
    if e.op in ("//", "%") and isinstance(right, tree.Const) and right.value == 0:
        fail(names.DivisionByZero(span=e.right.span))
    signed = any(isinstance(side.type, Scalar) and side.type.kind == "int" for side in (left, right))
    if e.op in SIGNED and common.kind == "uint" and signed and tree.Const not in (type(left), type(right)):
        fail(errors.MixedSigns(op=e.op, common=str(common), **operands(e, left, right)))


def operands(e: s.Binary, left: tree.Expr, right: tree.Expr) -> Fields:
    """Return what an error says of an operator's operands."""
    texts = source_text(e.left.span), source_text(e.right.span)
    return {"span": e.span, "left": str(left.type), "right": str(right.type), "texts": texts}


def shift_count(count: tree.Expr, of: Type) -> None:
    """A shift by a constant is by less than the type has bits."""
    if isinstance(count, tree.Const) and isinstance(of, Scalar) and not 0 <= int(count.value) < of.bits:
        fail(names.ShiftBeyond(span=count.span, count=int(count.value), type=str(of), last=of.bits - 1))


def convert(value: tree.Expr, to: Scalar) -> tree.Expr:
    """Return the value cast to a scalar type; literals simply take it."""
    if value.type == to:
        return value
    if isinstance(value, tree.Const) and to.kind in ("int", "uint", "float") and not isinstance(value.value, bool):
        number = (
            fit_float(float(value.value), to, value.span)
            if to.kind == "float"
            else fit(int(value.value), to, value.span)
        )
        return replace(value, value=number, type=to)
    if budget.of_grid(value) and to.integral and to.bits == 64:
        return replace(value, type=to)  # counted in 64 bits: a grid may have more threads than 32 hold
    return tree.Cast(operand=value, type=to, perspective=value.perspective, span=value.span)


def coerce(value: tree.Expr, to: Type, span: Span) -> tree.Expr:
    """Return the value as a target's type takes it: numbers convert as in C, but a float never to an integer unasked."""
    if value.type == to:
        return value
    if isinstance(to, Struct) or isinstance(value.type, Struct):
        hint = "make the two types agree"
        if isinstance(to, Struct):
            hint = f"make one: `{to}({', '.join(to.names)})`"
        fail(errors.Mismatch(span=span, expected=str(to), found=str(value.type), hint=hint))
    if isinstance(to, Scalar) and isinstance(value.type, Scalar):
        if to.kind == "bool":
            fail(errors.Mismatch(span=span, expected="bool", found=str(value.type), hint="compare it: `x != 0`"))
        if value.type.kind == "float" and to.integral:
            fail(errors.Mismatch(span=span, expected=str(to), found=str(value.type), hint=whole(value, to, span)))
        return convert(value, to)
    fail(errors.Mismatch(span=span, expected=str(to), found=str(value.type), hint="make the two types agree"))


def whole(value: tree.Expr, to: Scalar, span: Span) -> str:
    """Say how a float becomes an integer; of a constant, as which number it is written. Fail where it doesn't fit."""
    number = value.value if isinstance(value, tree.Const) else None
    if isinstance(number, float) and number.is_integer():
        return f"write it without a point: `{fit(int(number), to, span)}`"
    return f"convert it, which drops the fraction: `{short(to)}({source_text(span)})`"


def short(scalar: Scalar) -> str:
    """Return how a kernel would usually write a scalar type."""
    return {"int32": "int", "float32": "float", "float64": "double", "float16": "half", "bfloat16": "bf16"}.get(
        scalar.name, scalar.name
    )
