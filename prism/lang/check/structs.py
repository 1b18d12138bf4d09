"""Structs: values made, `Affine(a, b)`, by position or by name; complex numbers of a number; fields read."""

from __future__ import annotations

from dataclasses import replace

from prism.lang import tree
from prism.lang.check.env import Env, fail
from prism.lang.check.expressions import check_value
from prism.lang.check.intrinsics import check_intrinsic
from prism.lang.diagnostics import Span
from prism.lang.errors import types as errors
from prism.lang.intrinsics.vectors import constructor, other_precision
from prism.lang.parse import syntax as s
from prism.lang.types import INT32, Scalar
from prism.lang.types.perspective import Perspective
from prism.lang.types.structs import Struct


def make_struct(env: Env, e: s.Call, struct: Struct, target: Perspective) -> tree.Expr:
    """A value of a struct: each field converted as an argument is; all of them zero in `T()`.

    `T(v)` of what is one already is `v`, as a conversion. A complex number is made of a real one too, or of another complex one.
    """
    if not e.arguments and not e.keywords:
        e = replace(e, arguments=tuple(_convert(field, (), e.span) for _, field in struct.fields))
    elif len(e.arguments) == 1 and not e.keywords and (struct.tag or not isinstance(e.arguments[0], s.Literal)):
        value = check_value(env, e.arguments[0], target)
        if value.type == struct:
            return value
        if struct.tag and isinstance(value.type, Struct) and value.type.tag:
            return check_intrinsic(env, e, other_precision(value.type, struct), target, None)
        if struct.tag and isinstance(value.type, Scalar) and not isinstance(value.type, Struct):
            real, imag = (field for _, field in struct.fields)
            e = replace(e, arguments=(_convert(real, e.arguments, e.span), _convert(imag, (), e.span)))
    return check_intrinsic(env, e, constructor(struct, str(struct)), target, None)


def _convert(to: Scalar, of: tuple[s.Expr, ...], span: Span) -> s.Expr:
    """Return `to(of)` as it would be written."""
    return s.Call(function=s.Resolved(value=to, text=str(to), span=span), arguments=of, keywords=(), span=span)


def struct_field(base: tree.Expr, struct: Struct, e: s.Attribute) -> tree.Expr:
    """`v.scale`: as broad as `v`."""
    at = struct.index(e.name)
    if at is None:
        names = ", ".join(f"`.{name}`" for name in struct.names)
        fail(errors.NoField(span=e.span, struct=str(struct), name=e.name, fields=names))
    place = tree.Const(value=at, type=INT32, span=e.span)
    field = struct.fields[at][1]
    return tree.Component(vector=base, index=place, type=field, perspective=base.perspective, span=e.span)
