"""What a function's signature and decorators say: its bound (R1), its limits (R16), its parameters, its result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import FunctionType

from prism.lang import surface, tree
from prism.lang.check import annotation
from prism.lang.check.conversion import coerce
from prism.lang.check.elements import construct_of
from prism.lang.check.env import Context, fail
from prism.lang.check.expressions import check_literal
from prism.lang.check.fragments import require_place
from prism.lang.check.tiles import check_map_parameter
from prism.lang.diagnostics import Fields, Span, source_text
from prism.lang.errors import axes as axes_errors
from prism.lang.errors import calls as call_errors
from prism.lang.errors import inlined, roles
from prism.lang.errors import names as name_errors
from prism.lang.errors import perspective as rules
from prism.lang.errors import types as type_errors
from prism.lang.facts.budget import MOST_THREADS
from prism.lang.keep.records import is_record_class, spell
from prism.lang.parse import syntax as s
from prism.lang.parse.instantiate import fold_attribute
from prism.lang.surface import bindings
from prism.lang.surface.templates import TemplateName, evaluate
from prism.lang.types import INT64, VOID, Array, Fragment, Mailbox, Pointer, Scalar, TensorMap, Type, Vector
from prism.lang.types.perspective import GRID, Bound, Level, Perspective
from prism.lang.types.structs import Struct, tuple_of

MOST_UNITS = {Level.THREAD: MOST_THREADS, Level.BLOCK: 16, Level.GRID: 1}
"""Threads of a block, and blocks of a cluster, on any GPU."""


def shorten_number(value: object) -> str:
    """Return a number as a message shows it: of a long one, about how long it is."""
    return f"some 10**{int(value.bit_length() * 0.30103)}" if isinstance(value, int) and value >= 10**30 else str(value)


def show(value: object) -> str:
    """Return a template argument as a message shows it."""
    if is_record_class(type(value)):
        return spell(value)
    return getattr(value, "__name__", None) or getattr(value, "name", None) or str(value)


class _Known(dict[str, object]):
    """What the names of a bound stand for: template arguments, and numbers of the function's file."""

    def __init__(self, python: FunctionType, template: Mapping[str, object], span: Span) -> None:
        super().__init__(template)
        self.python, self.span = python, span

    def __missing__(self, name: str) -> object:
        bindings.note(self.python, name)
        found = getattr(self.python, "__globals__", {}).get(name)
        if type(found) is not int:
            fail(name_errors.TemplateUnbound(span=self.span, name=name))
        return found


def shared_limit(kernel: surface.Kernel, template: Mapping[str, object], span: Span) -> int | None:
    """R16 CALL-SMEM: return what `smem=` says, a number of bytes or nothing."""
    limit = value_of(kernel, kernel.smem, template, span)
    if limit is not None and (type(limit) is not int or limit < 0):
        fail(call_errors.SharedLimit(span=span, text=show(limit)))
    return limit


def value_of(kernel: surface.Kernel, given: object, template: Mapping[str, object], span: Span) -> object:
    """Return what a decorator was given; for the name of a template parameter, its argument."""
    if not isinstance(given, TemplateName):
        return given
    known = _Known(kernel.python, template, span)
    try:
        return evaluate(given, known, lambda value, text, name: attribute_of(value, text, name, span))
    except ZeroDivisionError:
        fail(rules.BoundValue(span=span, text=str(given)))


def attribute_of(value: object, text: str, name: str, span: Span) -> object:
    """Return what an attribute of a template argument is, as in the body of a function."""
    found = fold_attribute(s.Attribute(base=s.Resolved(value=value, text=text, span=span), name=name, span=span))
    return found.value if isinstance(found, s.Literal | s.Resolved) else found


def check_requires(kernel: surface.Kernel, parsed: s.Function, template: Mapping[str, object], span: Span) -> Bound:
    """R1 BOUND-WF: at most one entry a level, positive constant sizes, threads below every broader entry."""
    if not kernel.requires:
        example = "grid[1], block[1], thread[32]" if kernel.kind == "global" else "thread[1]"
        fail(rules.BoundMissing(span=parsed.span, name=parsed.name, example=example))
    entries: dict[Level, int] = {}
    for entry in kernel.requires:
        if not isinstance(entry, Perspective):
            fail(rules.BoundValue(span=span, text=entry.name if isinstance(entry, surface.LevelName) else str(entry)))
        size = value_of(kernel, entry.size, template, span)
        check_hidden(entry, template, span)
        if not isinstance(size, int) or size < 1 or (entry.level == Level.GRID and size != 1):
            fail(rules.BoundValue(span=span, text=f"{entry.level}[{shorten_number(size)}]"))
        if size > (most := MOST_UNITS[entry.level]):
            whole = "block" if entry.level == Level.THREAD else "cluster"
            facts: Fields = {"whole": whole, "unit": str(entry.level), "most": most, "found": shorten_number(size)}
            fail(rules.BoundTooLarge(span=span, **facts))
        if entry.level in entries:
            fail(rules.BoundTwice(span=span, level=str(entry.level), first=entries[entry.level], second=size))
        entries[entry.level] = size
    grid, block, thread = (entries.get(level) for level in (Level.GRID, Level.BLOCK, Level.THREAD))
    if grid is not None and block is None:
        block = 1
    bound = Bound(grid, block, thread, whole=block is not None)
    if thread is None:
        bound = Bound(grid, block, 1)
    if kernel.kind == "global" and grid is None:
        fail(rules.BoundKernel(span=span, name=parsed.name, bound=str(bound)))
    return bound


def check_hidden(entry: Perspective, template: Mapping[str, object], span: Span) -> None:
    """R1: a size that names a template parameter is none that Python took from a number of the file."""
    if isinstance(entry.size, TemplateName) or not template:
        return
    for names, size in re.findall(r"\b(warp|warpgroup|thread|block|grid)\[([^]\"']+)\]", source_text(span, "")):
        if Level[{"warp": "thread", "warpgroup": "thread"}.get(names, names).upper()] == entry.level:
            for name in re.findall(r"(?<![.\w])[A-Za-z_]\w*", size):
                if name in template:
                    found = shorten_number(entry.size)
                    fail(rules.BoundHidden(span=span, name=name, unit=str(entry.level), size=found))


def check_parameter(parameter: s.Parameter, kind: str) -> tree.Symbol:
    """Return a parameter's symbol. Roles are no values: `check/inlined.py` reads them."""
    if construct_of(parameter.annotation) is surface.roles:
        fail(roles.RoleParameter(span=parameter.annotation.span, name=parameter.name))
    meaning = annotation.read(parameter.annotation)
    if parameter.place is None:
        fail(type_errors.MissingPlace(span=parameter.span, name=parameter.name, type=str(meaning.type)))
    if isinstance(meaning.type, Mailbox):
        fail(type_errors.NotAType(span=parameter.annotation.span))
    place, type_ = annotation.place(parameter.place), meaning.type
    if meaning.shared:
        type_ = check_tile(parameter, meaning, kind)
    if isinstance(type_, TensorMap):
        check_map_parameter(parameter.name, place, parameter.place.span)
    if isinstance(type_, Array | Fragment) and kind == "global":
        fail(type_errors.KernelParameter(span=parameter.annotation.span, name=parameter.name, type=str(type_)))
    if isinstance(type_, Fragment):
        type_ = require_place(type_, parameter.name, place, parameter.annotation.span, parameter.place.span)
    default = None if parameter.default is None else check_default(parameter, parameter.default, type_)
    axes = axes_of(parameter, type_, place) if isinstance(type_, Pointer) and type_.axes and kind == "global" else ()
    return tree.Symbol(
        parameter.name, type_, place, parameter.span, parameter=True, const=meaning.const, default=default, axes=axes
    )


def axes_of(parameter: s.Parameter, type_: Pointer, place: Perspective) -> tuple[tuple[tree.Symbol, tree.Symbol], ...]:
    """Return the extents and strides of a kernel's array: more parameters, which each launch computes."""
    if place != GRID:
        assert parameter.place is not None
        fail(axes_errors.ArrayOwner(span=parameter.place.span, name=parameter.name))

    def number(what: str, axis: int) -> tree.Symbol:
        return tree.Symbol(f"{parameter.name}.{what}[{axis}]", INT64, GRID, parameter.span, parameter=True, const=True)

    return tuple((number("shape", axis), number("strides", axis)) for axis in range(type_.axes))


def hidden_parameters(parameters: tuple[tree.Symbol, ...]) -> tuple[tree.Symbol, ...]:
    """Return what a launch computes of its arrays: of each the extents, then the strides."""
    return tuple(one for p in parameters for part in zip(*p.axes, strict=True) for one in part)


def check_default(parameter: s.Parameter, default: s.Expr, type_: Type) -> bool | int | float:
    """Return what a parameter is where a call leaves it out: a number or a bool of its type."""
    plain = isinstance(type_, Scalar) and not isinstance(type_, Struct)
    if not plain or not isinstance(default, s.Literal) or isinstance(default.value, str):
        problem = "has a default that is no number" if plain else f"is {type_}, which has no default"
        fail(call_errors.ParameterDefault(span=default.span, name=parameter.name, problem=problem))
    value = coerce(check_literal(default, type_), type_, default.span)
    if not isinstance(value, tree.Const):
        problem = f"is {type_}, and has a bool as its default"
        fail(call_errors.ParameterDefault(span=default.span, name=parameter.name, problem=problem))
    return value.value


def check_tile(parameter: s.Parameter, meaning: annotation.Annotation, kind: str) -> Pointer:
    """Return the type of a parameter that is a whole shared tile, or a ring: the caller's, so it is not laid out here."""
    tile = meaning.type
    assert isinstance(tile, Pointer)
    span = parameter.annotation.span
    if kind == "global":
        fail(type_errors.SharedParameter(span=span, name=parameter.name))
    if meaning.align:
        fail(inlined.TileParameter(span=span, name=parameter.name))
    return replace(tile, const=meaning.const)


def check_result(context: Context, function: s.Function) -> None:
    """Read the declared result, if there is one."""
    if function.result is None:
        return
    context.result_declared = True
    if isinstance(function.result, s.Literal) or (  # `None`
        isinstance(function.result, s.Resolved) and function.result.value is None
    ):
        context.result = VOID
        return
    found = (
        tuple_type(function.result) if isinstance(function.result, s.Tuple) else annotation.read(function.result).type
    )
    if not isinstance(found, Scalar | Vector | Pointer) or (isinstance(found, Pointer) and found.axes):
        fail(type_errors.NotAType(span=function.result.span))
    context.result = found
    if function.result_place is None:
        name = f"the result of {function.name}"
        fail(type_errors.MissingPlace(span=function.result.span, name=name, type=str(context.result)))
    context.result_perspective = annotation.place(function.result_place)


def tuple_type(result: s.Tuple) -> Struct:
    """Return the type of a result of several values, which are scalars."""
    elements: list[Scalar] = []
    for item in result.items:
        found = annotation.read(item).type
        if not isinstance(found, Scalar) or isinstance(found, Struct):
            fail(type_errors.TupleItem(span=item.span, found=str(found)))
        elements.append(found)
    return tuple_of(tuple(elements))
