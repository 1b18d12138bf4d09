"""What an annotation means: types, perspectives, and the template arguments that an actual argument's type implies."""

from __future__ import annotations

from math import prod

from prism.lang import surface
from prism.lang.check.elements import (
    NO_ELEMENT,
    construct_of,
    element,
    fragment,
    only,
    positive,
    swizzle_of,
    tensor_map,
)
from prism.lang.check.env import Role, fail
from prism.lang.diagnostics import Fields, source_text
from prism.lang.errors import asynchronous
from prism.lang.errors import axes as axes_errors
from prism.lang.errors import tiles as tile_errors
from prism.lang.errors import types as errors
from prism.lang.keep.bases import Value
from prism.lang.parse import syntax as s
from prism.lang.types import Array, Fragment, Mailbox, Pointer, Scalar, TensorMap, Type, Vector
from prism.lang.types.perspective import Perspective

LARGEST_SHARED = 227 << 10
"""Bytes of shared memory that a block has at most, on any GPU."""
WAITED_FOR = 16
"""Bytes that each copy of a ring takes beside its own: two mbarriers."""


class Annotation(Value):
    """A type as written, with its qualifiers: `const(T)` on a local, `shared(T[n], align=k)`.

    `length`: what is written for n, where it is no constant.
    """

    type: Type | Mailbox
    const: bool = False
    shared: bool = False
    align: int = 0
    length: s.Expr | None = None


def read_local(e: s.Expr) -> Annotation:
    """Return the meaning of a local's annotation: that of a shared object whose length is no constant too."""
    inner = e.arguments[0] if construct_of(e) is surface.shared and isinstance(e, s.Call) and e.arguments else None
    length = inner.indices[0] if isinstance(inner, s.Subscript) and len(inner.indices) == 1 else None
    if length is None or isinstance(length, s.Literal) or isinstance(inner.base, s.Subscript):  # type: ignore[union-attr]
        return read(e)
    assert isinstance(e, s.Call) and isinstance(inner, s.Subscript)
    for name, value in e.keywords:
        known = name in ("align", "ring", "swizzle")
        fail((tile_errors.SizedKeyword if known else tile_errors.SharedKeyword)(span=value.span, name=name))
    return Annotation(Pointer(scalar_or_vector(inner.base), space="shared"), shared=True, length=length)


def read(e: s.Expr) -> Annotation:
    """Return the annotation's meaning; fails with code `type`."""
    construct = construct_of(e)
    if construct is None and isinstance(e, s.Resolved) and e.value is surface.CUtensorMap:
        fail(tile_errors.MapArguments(span=e.span, fault=NO_ELEMENT))
    if construct is None:
        return Annotation(element(e) if not isinstance(e, s.Subscript) else array(e))
    assert isinstance(e, s.Call)
    if construct is surface.const:
        inner = read(only(e))
        return Annotation(inner.type, True, inner.shared, inner.align)
    if construct is surface.ptr:
        return Annotation(pointer(only(e)))
    if construct is surface.array:
        return Annotation(axes_of(e))
    if construct is surface.shared:
        return shared_object(e)
    if construct in (surface.vector, surface.mailbox):
        return Annotation(element(e))
    if construct is surface.fragment:
        return Annotation(fragment(e))
    if construct is surface.CUtensorMap:
        return Annotation(tensor_map(e))
    fail(errors.NotAType(span=e.span))


def array(e: s.Subscript, error: type[errors.ArrayExtent] = errors.ArrayExtent) -> Array:
    """Return the type that `T[n]` or `T[n][m]` names."""
    extents: list[int] = []
    base: s.Expr = e
    while isinstance(base, s.Subscript):
        for index in reversed(base.indices):
            if error is errors.SharedExtent and not isinstance(index, s.Literal):
                refuse_sized(e)
            if not (isinstance(index, s.Literal) and type(index.value) is int and index.value > 0):
                fail(error(span=index.span))
            extents.append(index.value)
        base = base.base
    if not extents:
        fail(error(span=e.span))
    inner = element(base)
    if isinstance(inner, Mailbox):
        fail(errors.NotAType(span=e.span))
    return Array(inner, tuple(reversed(extents)))


def refuse_sized(e: s.Subscript) -> None:
    """R25: an object that is sized at launch has one axis; of a tile of two, say how one is written."""
    axes: list[s.Expr] = []
    base: s.Expr = e
    while isinstance(base, s.Subscript):
        axes, base = [*base.indices, *axes], base.base
    if len(axes) == 2:
        rows, columns = (source_text(axis.span) for axis in axes)
        facts: Fields = {"element": source_text(base.span), "rows": rows, "columns": columns}
        fail(tile_errors.SizedAxes(span=e.span, **facts))


def pointer(e: s.Expr) -> Pointer:
    """Return the type of `ptr(e)`."""
    if construct_of(e) is surface.const and isinstance(e, s.Call):
        return Pointer(element(only(e)), const=True)
    return Pointer(element(e))


MOST_AXES = 8


def axes_of(e: s.Call) -> Pointer:
    """Return the type of `array(T, 2)`: memory of the host's, of so many axes."""
    axes = e.arguments[1] if len(e.arguments) == 2 and not e.keywords else None
    if not (isinstance(axes, s.Literal) and type(axes.value) is int and 1 <= axes.value <= MOST_AXES):
        fail(axes_errors.ArrayAxes(span=e.span if axes is None else axes.span, most=MOST_AXES))
    found = pointer(e.arguments[0])
    if not isinstance(found.element, Scalar):
        fail(errors.NotAType(span=e.arguments[0].span))
    return Pointer(found.element, found.const, axes=axes.value)


def shared_object(e: s.Call) -> Annotation:
    """Return the meaning of `shared(T[n], align=k, ring=k, swizzle=k)`."""
    inner = only(e)
    given = dict(e.keywords)
    for name, value in e.keywords:
        if name not in ("align", "ring", "swizzle"):
            fail(tile_errors.SharedKeyword(span=value.span, name=name))
    align = positive(given.get("align"), errors.SharedExtent)
    ring = positive(given.get("ring"), asynchronous.RingCopies)
    kind = array(inner, errors.SharedExtent) if isinstance(inner, s.Subscript) else Array(scalar_or_vector(inner), (1,))
    size = prod(kind.shape) * kind.element.bytes
    if ring * (size + WAITED_FOR) > LARGEST_SHARED:
        span = given["ring"].span
        fail(asynchronous.RingTooLong(span=span, copies=ring, size=size, limit=LARGEST_SHARED, more=WAITED_FOR))
    swizzle = swizzle_of(given["swizzle"], kind) if "swizzle" in given else 0
    pointer = Pointer(kind.element, space="shared", shape=kind.shape, ring=ring, swizzle=swizzle)
    return Annotation(pointer, shared=True, align=align)


def scalar_or_vector(e: s.Expr) -> Scalar | Vector:
    """Return an element type that shared memory can hold."""
    inner = element(e)
    if isinstance(inner, Mailbox):
        fail(errors.NotAType(span=e.span))
    return inner


def place(e: s.Expr) -> Perspective:
    """Return the perspective that an expression names; fails with code `bound-wf`."""
    if isinstance(e, s.Resolved) and isinstance(e.value, Perspective):
        return e.value
    if isinstance(e, s.Subscript) and isinstance(e.base, s.Resolved) and isinstance(e.base.value, surface.Construct):
        level = "block" if e.base.value is surface.group else "thread"
        change = f"`{e.base.text}` is no level: write `{level}[k]`, or another level with a size"
        fail(errors.NotAPerspective(span=e.span, change=change))
    if isinstance(e, s.Braces):
        fail(errors.NotAPerspective(span=e.span, change="write one perspective, without the brackets around it"))
    fail(errors.NotAPerspective(span=e.span))


# -- deduction ------------------------------------------------------------------------------------------------------------


def deduce(e: s.Expr, actual: Type, found: dict[str, object], wanted: frozenset[str]) -> None:  # noqa: C901
    """Match an unresolved annotation against an actual type, adding to `found` the template arguments that it implies."""
    match e:
        case s.Name() if e.name in wanted:
            if isinstance(actual, Scalar):
                found.setdefault(e.name, actual)
        case s.Call() if isinstance(e.function, s.Name | s.Attribute) and e.arguments:
            if isinstance(actual, Pointer):
                deduce_memory(e, e.arguments[0], actual, found, wanted)
                if actual.axes and len(e.arguments) > 1:
                    deduce_number(e.arguments[1], actual.axes, found, wanted)
            elif isinstance(actual, Mailbox):
                deduce(e.arguments[0], actual.element, found, wanted)
            elif isinstance(actual, Vector):
                deduce(e.arguments[0], actual.element, found, wanted)
                if len(e.arguments) > 1:
                    deduce_number(e.arguments[1], actual.length, found, wanted)
            elif isinstance(actual, TensorMap) and len(e.arguments) == 1:
                deduce(e.arguments[0], actual, found, wanted)  # const(...)
            elif isinstance(actual, Fragment | TensorMap):
                deduce(e.arguments[0], actual.element, found, wanted)
                extents = actual.box if isinstance(actual, TensorMap) else (actual.rows, actual.columns)
                for written, extent in zip(e.arguments[1:], extents, strict=False):
                    deduce_number(written, extent, found, wanted)
            elif isinstance(actual, Scalar | Array):
                deduce(e.arguments[0], actual, found, wanted)
        case s.Subscript() if isinstance(actual, Array | Pointer) and actual.shape is not None:
            rest = list(actual.shape)
            base: s.Expr = e
            while isinstance(base, s.Subscript):
                for index in reversed(base.indices):
                    if rest:
                        deduce_number(index, rest.pop(), found, wanted)
                base = base.base
            deduce(base, actual.element, found, wanted)  # type: ignore[arg-type]
        case s.Subscript() if isinstance(actual, Pointer):  # a part of a tile, which says not how large it is
            deduce(e.base, actual.element if not isinstance(e.base, s.Subscript) else actual, found, wanted)  # type: ignore[arg-type]
        case _:
            pass


def deduce_memory(e: s.Call, inner: s.Expr, actual: Pointer, found: dict[str, object], wanted: frozenset[str]) -> None:
    """Match `ptr(T)`, `ptr(const(T))`, `shared(T[n, m], ring=r, swizzle=k)` or `const(shared(...))`."""
    whole = isinstance(inner, s.Call) and inner.arguments and isinstance(inner.arguments[0], s.Subscript)
    deduce(inner, actual if whole or isinstance(inner, s.Subscript) else actual.element, found, wanted)  # type: ignore[arg-type]
    for name, value in e.keywords:
        if name in ("swizzle", "ring"):
            deduce_number(value, actual.swizzle if name == "swizzle" else actual.ring, found, wanted)


def deduce_role(e: s.Expr, role: Role, found: dict[str, object], wanted: frozenset[str]) -> None:
    """Match `roles(level, n)` against a role."""
    if construct_of(e) is surface.roles and isinstance(e, s.Call) and len(e.arguments) == 2:
        level = e.arguments[0].value if isinstance(e.arguments[0], s.Resolved) else None
        if isinstance(level, surface.LevelName) and level.level == role.level and role.size % level.scale == 0:
            deduce_number(e.arguments[1], role.size // level.scale, found, wanted)


def deduce_number(e: s.Expr, actual: int, found: dict[str, object], wanted: frozenset[str]) -> None:
    """Bind a constexpr parameter that stands alone as an extent."""
    if isinstance(e, s.Name) and e.name in wanted:
        found.setdefault(e.name, actual)
