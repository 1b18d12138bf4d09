"""Values of several parts: structs, `Affine(a, b)`; vectors, `float4(x, y, z, w)`, loaded whole, `float4_cast(p[i])`."""

from __future__ import annotations

from dataclasses import replace

from prism.lang import surface, tree
from prism.lang.check.env import Env, fail
from prism.lang.check.expressions import check_value, collective, flatten, visible
from prism.lang.check.intrinsics import check_intrinsic
from prism.lang.check.purity import touches_memory
from prism.lang.diagnostics import Span
from prism.lang.errors import types as errors
from prism.lang.intrinsics import load_vector, store_vector
from prism.lang.intrinsics.vectors import MAKE, SAME, constructor, other_precision
from prism.lang.parse import syntax as s
from prism.lang.types import INT32, Pointer, Scalar, Vector
from prism.lang.types.perspective import THREAD, Perspective
from prism.lang.types.structs import Struct


def is_vector_cast(e: s.Expr) -> bool:
    """Whether an expression is `float4_cast` or one like it."""
    return isinstance(e, s.Resolved) and isinstance(e.value, surface.VectorCast)


def make_vector(env: Env, e: s.Call, vector: Vector, target: Perspective) -> tree.Expr:
    """`float4(x, y, z, w)`: each component converted; `float4(x)` gives all the same, and `float4()` zeros."""
    if len(e.arguments) not in (0, 1, vector.length) or e.keywords:
        assert isinstance(e.function, s.Resolved)
        items = ", ".join("xyzw"[: vector.length] if vector.length <= 4 else (f"x{k}" for k in range(vector.length)))
        given = len(e.arguments) + len(e.keywords)
        fail(errors.VectorItems(span=e.span, name=e.function.text, length=vector.length, given=given, items=items))
    to = s.Resolved(value=vector.element, text=str(vector.element), span=e.span)
    converted = tuple(s.Call(function=to, arguments=(item,), keywords=(), span=item.span) for item in e.arguments)
    if not converted:
        converted = (s.Call(function=to, arguments=(), keywords=(), span=e.span),)
    makes = MAKE[vector.length]
    if len(converted) != vector.length:
        if calls_once(check_value(env, converted[0], target)):
            makes = SAME[vector.length]
        else:
            converted *= vector.length
    call = s.Call(function=e.function, arguments=converted, keywords=(), span=e.span)
    return check_intrinsic(env, call, makes, target, vector.element)


def calls_once(e: tree.Expr) -> bool:
    """Whether an expression calls what may be called only as often as it is written: it is more than a computation."""
    here = isinstance(e, tree.Call) and not e.function.pure
    return here or collective(e) is not None or touches_memory(e) or any(map(calls_once, tree.operands(e)))


def cast_element(env: Env, cast: s.Expr, operands: tuple[s.Expr, ...], span: Span) -> tuple[Vector, s.Expr]:
    """Return the vector type of a cast and the element of memory that it starts at; the types must agree."""
    assert isinstance(cast, s.Resolved) and isinstance(cast.value, surface.VectorCast)
    vector, name = cast.value.vector, cast.value.name
    element = operands[0] if len(operands) == 1 else None
    if not isinstance(element, s.Subscript):
        fail(errors.VectorCast(span=span, cast=name, element=str(vector.element), found="not an element of memory"))
    base, _ = flatten(element)
    symbol = visible(env, base.name, base.span) if isinstance(base, s.Name) else None
    if symbol is None or not isinstance(symbol.type, Pointer):
        fail(errors.VectorCast(span=span, cast=name, element=str(vector.element), found="not an element of memory"))
    if symbol.type.element != vector.element:
        found = f"`{symbol.name}` holds {symbol.type.element}"
        fail(errors.VectorCast(span=element.span, cast=name, element=str(vector.element), found=found))
    return vector, element


def vector_load(env: Env, cast: s.Expr, operands: tuple[s.Expr, ...], span: Span, target: Perspective) -> tree.Expr:
    """`float4_cast(p[i])`: the same as `load_vector(p[i], 4)`, and its rules."""
    vector, element = cast_element(env, cast, operands, span)
    width = s.Literal(value=vector.length, span=span)
    call = s.Call(function=cast, arguments=(element, width), keywords=(), span=span)
    return check_intrinsic(env, call, load_vector, target, None)


def vector_store(env: Env, target: s.Subscript, value: s.Expr, span: Span) -> tree.Expr:
    """`float4_cast[p[i]] = v`: the same as `store_vector(p[i], v)`, and its rules."""
    vector, element = cast_element(env, target.base, target.indices, target.span)
    found = check_value(env, value, THREAD)
    if found.type != vector:
        hint = "make one: `float4(x, y, z, w)`" if not isinstance(found.type, Vector) else "make the two types agree"
        fail(errors.Mismatch(span=value.span, expected=str(vector), found=str(found.type), hint=hint))
    call = s.Call(function=target.base, arguments=(element, value), keywords=(), span=span)
    return check_intrinsic(env, call, store_vector, env.code, None)


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
