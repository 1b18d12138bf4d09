"""Tiles as annotations name them: tensor maps, fragments, and the swizzle of shared ones (R25)."""

from __future__ import annotations

from prism.lang.check.elements import element
from prism.lang.check.env import fail
from prism.lang.errors import asynchronous
from prism.lang.errors import tiles as errors
from prism.lang.errors import types as type_errors
from prism.lang.parse import syntax as s
from prism.lang.types import SWIZZLES, Array, Fragment, Scalar, TensorMap
from prism.lang.types import tiles as layout
from prism.lang.types.structs import Struct

NO_ELEMENT = "does not say what it holds, and how large a tile is"
NO_BOX = "does not say how large a tile is"


def positive(e: s.Expr | None, error: type[type_errors.ArrayExtent] | type[asynchronous.RingCopies]) -> int:
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
    fail(errors.Swizzle(span=e.span, swizzle=text, type=str(kind), fault=fault, change=change))


def tensor_map(e: s.Call) -> TensorMap:
    """Return the type that `CUtensorMap(T, rows, columns, swizzle=128)` names."""
    if len(e.arguments) < 2:
        fail(errors.MapArguments(span=e.span, fault=NO_BOX if e.arguments else NO_ELEMENT))
    scalar = element(e.arguments[0])
    given = dict(e.keywords)
    written = given.pop("swizzle", None)
    for name in given:
        fail(errors.MapArguments(span=e.span, fault=f"has no argument `{name}`"))
    if not isinstance(scalar, Scalar) or isinstance(scalar, Struct):
        fail(errors.MapArguments(span=e.span, fault="holds no scalars"))
    box = tuple(positive(extent, type_errors.ArrayExtent) for extent in e.arguments[1:])
    span = 0 if written is None else written.value if isinstance(written, s.Literal) else None
    if type(span) is not int:
        fail(errors.MapArguments(span=e.span, fault="has a swizzle that is no constant"))
    type_ = TensorMap(scalar, box, span)
    if fault := layout.map_problem(type_):
        fail(errors.MapBox(span=e.span, type=str(type_), fault=fault))
    return type_


def fragment(e: s.Call) -> Fragment:
    """Return the type that `fragment(T, rows, columns)` names; its unit is known where it is placed."""
    if len(e.arguments) != 3 or e.keywords:
        fail(errors.FragmentShape(span=e.span, type="such fragment", fault="it has an element, rows and columns"))
    scalar = element(e.arguments[0])
    if not isinstance(scalar, Scalar) or isinstance(scalar, Struct):
        fail(errors.FragmentShape(span=e.span, type=f"fragment of {scalar}", fault="its element is a scalar"))
    rows, columns = (positive(extent, type_errors.ArrayExtent) for extent in e.arguments[1:])
    return Fragment(scalar, rows, columns)
