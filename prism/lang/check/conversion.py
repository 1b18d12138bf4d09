"""Types of values: what an operator's operands have in common, and how a value becomes another type."""

from __future__ import annotations

from dataclasses import replace

from prism.lang import tree
from prism.lang.check.env import fail
from prism.lang.diagnostics import Span, source_text
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


def convert(value: tree.Expr, to: Scalar) -> tree.Expr:
    """Return the value cast to a scalar type; literals simply take it."""
    if value.type == to:
        return value
    if isinstance(value, tree.Const) and to.kind in ("int", "uint", "float") and not isinstance(value.value, bool):
        number = float(value.value) if to.kind == "float" else fit(int(value.value), to, value.span)
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
            hint = f"convert it: `{short(to)}({source_text(span)})`"
            fail(errors.Mismatch(span=span, expected=str(to), found=str(value.type), hint=hint))
        return convert(value, to)
    fail(errors.Mismatch(span=span, expected=str(to), found=str(value.type), hint="make the two types agree"))


def short(scalar: Scalar) -> str:
    """Return how a kernel would usually write a scalar type."""
    return {"int32": "int", "float32": "float", "float64": "double", "float16": "half", "bfloat16": "bf16"}.get(
        scalar.name, scalar.name
    )
