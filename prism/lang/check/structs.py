"""Structs: values made, `Affine(a, b)`, by position or by name; fields read."""

from __future__ import annotations

from prism.lang import syntax as s
from prism.lang import tree
from prism.lang.check.env import Env, fail
from prism.lang.check.expressions import check_value
from prism.lang.check.intrinsics import check_intrinsic
from prism.lang.errors import types as errors
from prism.lang.intrinsics.vectors import made
from prism.lang.perspective import Perspective
from prism.lang.structs import Struct
from prism.lang.types import INT32


def make_struct(env: Env, e: s.Call, struct: Struct, target: Perspective) -> tree.Expr:
    """A value of a struct: each field converted as an argument is. `T(v)` of what is one already is `v`, as a conversion."""
    if len(e.arguments) == 1 and not e.keywords and not isinstance(e.arguments[0], s.Literal):
        value = check_value(env, e.arguments[0], target)
        if value.type == struct:
            return value
    return check_intrinsic(env, e, made(struct, str(struct)), target, None)


def struct_field(base: tree.Expr, struct: Struct, e: s.Attribute) -> tree.Expr:
    """`v.scale`: as broad as `v`."""
    at = struct.index(e.name)
    if at is None:
        names = ", ".join(f"`.{name}`" for name in struct.names)
        fail(errors.NoField(span=e.span, struct=str(struct), name=e.name, fields=names))
    place = tree.Const(value=at, type=INT32, span=e.span)
    field = struct.fields[at][1]
    return tree.Component(vector=base, index=place, type=field, perspective=base.perspective, span=e.span)
