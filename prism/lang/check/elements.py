"""What an annotation holds: a scalar, a vector or a mailbox, as written; and the construct that it applies."""

from __future__ import annotations

from prism.lang import surface
from prism.lang.check.env import fail
from prism.lang.errors import types as errors
from prism.lang.parse import syntax as s
from prism.lang.types import Mailbox, Scalar, Vector
from prism.lang.types.structs import Struct


def construct_of(e: s.Expr) -> surface.Construct | None:
    """Return the construct that an expression applies, as `ptr` in `ptr(T)`."""
    if isinstance(e, s.Call) and isinstance(e.function, s.Resolved) and isinstance(e.function.value, surface.Construct):
        return e.function.value
    return None


def only(e: s.Call) -> s.Expr:
    """Return the one argument of a construct."""
    if len(e.arguments) != 1:
        fail(errors.NotAType(span=e.span))
    return e.arguments[0]


def element(e: s.Expr) -> Scalar | Vector | Mailbox:
    """Return a scalar, vector or mailbox type."""
    if isinstance(e, s.Resolved) and isinstance(e.value, Scalar):
        return e.value
    if isinstance(e, s.Resolved) and isinstance(e.value, Vector):
        return e.value
    construct = construct_of(e)
    if construct is surface.mailbox and isinstance(e, s.Call):
        inner = element(only(e))
        if isinstance(inner, Struct) and inner.bytes > 16:
            what, hint = "a mailbox holds 16 bytes at most", "publish it in parts, each in a mailbox of its own"
            fail(errors.StructUse(span=e.span, what=what, struct=str(inner), found=f"of {inner.bytes}", hint=hint))
        if isinstance(inner, Scalar):
            return Mailbox(inner)
    if construct is surface.vector and isinstance(e, s.Call) and len(e.arguments) == 2:
        inner, length = element(e.arguments[0]), e.arguments[1]
        if isinstance(inner, Scalar) and isinstance(length, s.Literal) and type(length.value) is int:
            if length.value not in (1, 2, 4, 8, 16) or inner.bytes * length.value not in (1, 2, 4, 8, 16):
                fail(errors.VectorSize(span=e.span, element=str(inner), length=length.value))
            return Vector(inner, length.value)
    fail(errors.NotAType(span=e.span))
