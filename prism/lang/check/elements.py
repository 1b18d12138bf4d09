"""What an annotation holds, as written: scalars, vectors, mailboxes, tensor maps, fragments; and swizzles of tiles (R25)."""

from __future__ import annotations

from prism.lang import surface
from prism.lang.check.env import fail
from prism.lang.errors import asynchronous, tiles
from prism.lang.errors import types as errors
from prism.lang.parse import syntax as s
from prism.lang.types import SWIZZLES, Array, Fragment, Mailbox, Scalar, TensorMap, Vector
from prism.lang.types import tiles as layout
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


NO_ELEMENT = "does not say what it holds, and how large a tile is"
NO_BOX = "does not say how large a tile is"


def positive(e: s.Expr | None, error: type[errors.ArrayExtent] | type[asynchronous.RingCopies]) -> int:
    """Return the number that a keyword gives, 0 where it is absent."""
    if e is None:
        return 0
    if not (isinstance(e, s.Literal) and type(e.value) is int and e.value > 0):
        fail(error(span=e.span))
    return e.value


def swizzle_of(e: s.Expr, kind: Array) -> int:
    """R25: a span that the hardware has, of a tile whose rows are whole spans."""
    span = e.value if isinstance(e, s.Literal) and type(e.value) is int else -1
    if span not in SWIZZLES:
        fault, change = "there are spans of 32, 64 and 128 bytes", "write `swizzle=128`, `64`, `32`, or leave it out"
    elif span and len(kind.shape) < 2:
        fault = "a tile has rows and columns"
        change = f"give it two extents, `{kind.element}[rows, columns]`, or leave the swizzle out"
    elif fault := layout.shape_problem(kind.element, kind.shape, span):
        change = f"make a row {span // kind.element.bytes} elements, or a multiple of that, or take a smaller swizzle"
    else:
        return span
    text = str(span) if span >= 0 else "..."
    fail(tiles.Swizzle(span=e.span, swizzle=text, type=str(kind), fault=fault, change=change))


def tensor_map(e: s.Call) -> TensorMap:
    """Return the type that `CUtensorMap(T, rows, columns, swizzle=128)` names."""
    if len(e.arguments) < 2:
        fail(tiles.MapArguments(span=e.span, fault=NO_BOX if e.arguments else NO_ELEMENT))
    scalar = element(e.arguments[0])
    given = dict(e.keywords)
    written = given.pop("swizzle", None)
    for name in given:
        fail(tiles.MapArguments(span=e.span, fault=f"has no argument `{name}`"))
    if not isinstance(scalar, Scalar) or isinstance(scalar, Struct):
        fail(tiles.MapArguments(span=e.span, fault="holds no scalars"))
    box = tuple(positive(extent, errors.ArrayExtent) for extent in e.arguments[1:])
    span = 0 if written is None else written.value if isinstance(written, s.Literal) else None
    if type(span) is not int:
        fail(tiles.MapArguments(span=e.span, fault="has a swizzle that is no constant"))
    type_ = TensorMap(scalar, box, span)
    if fault := layout.map_problem(type_):
        fail(tiles.MapBox(span=e.span, type=str(type_), fault=fault))
    return type_


def fragment(e: s.Call) -> Fragment:
    """Return the type that `fragment(T, rows, columns)` names; its unit is known where it is placed."""
    if len(e.arguments) != 3 or any(name != "operand" for name, _ in e.keywords):
        fail(tiles.FragmentShape(span=e.span, type="such fragment", fault="it has an element, rows and columns"))
    written = dict(e.keywords).get("operand", s.Literal(value=False, span=e.span))
    if not isinstance(written, s.Literal) or not isinstance(written.value, bool):
        fail(tiles.FragmentShape(span=e.span, type="such fragment", fault="its `operand` is True or False"))
    scalar = element(e.arguments[0])
    if not isinstance(scalar, Scalar) or isinstance(scalar, Struct):
        fail(tiles.FragmentShape(span=e.span, type=f"fragment of {scalar}", fault="its element is a scalar"))
    rows, columns = (positive(extent, errors.ArrayExtent) for extent in e.arguments[1:])
    return Fragment(scalar, rows, columns, operand=written.value)
