"""Calls: device functions (R26, R29), intrinsics, conversions; arguments.py has R13 to R15."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

from prism.lang import surface, tree
from prism.lang.check import annotation
from prism.lang.check.arguments import Passed, check_argument, check_bound, fill_defaults
from prism.lang.check.conversion import convert
from prism.lang.check.elements import construct_of, element
from prism.lang.check.env import Env, Nested, Role, fail
from prism.lang.check.expressions import check_scalar, tile_type, visible
from prism.lang.check.fragments import check_place
from prism.lang.check.ids import check_id
from prism.lang.check.inlined import compile_in, take_value
from prism.lang.check.intrinsics import check_intrinsic
from prism.lang.check.nested import kind_of
from prism.lang.check.pieces import tile_of
from prism.lang.check.table import check_expression, expression_rule
from prism.lang.check.vectors import make_struct, make_vector, vector_load
from prism.lang.diagnostics import Fields, source_text
from prism.lang.errors import calls as errors
from prism.lang.errors import names as name_errors
from prism.lang.errors import types as type_errors
from prism.lang.facts import budget
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.parse import syntax as s
from prism.lang.parse.instantiate import fold_in_part
from prism.lang.types import Array, Pointer, Scalar, Type, Vector
from prism.lang.types.perspective import Perspective, meet
from prism.lang.types.structs import Struct


@expression_rule(s.Call)
def check_call(env: Env, e: s.Call, target: Perspective, want: Type | None) -> tree.Expr:
    """Type a call: of a type (a conversion), `id`/`count`, an intrinsic, a device function."""
    if (construct := construct_of(e)) in (surface.id, surface.count):
        return check_id(env, e, target, counting=construct is surface.count)
    if construct in (surface.row, surface.column):
        return check_place(env, e)
    if env.context.expansion is not None and e in env.context.expansion.values:
        return env.context.expansion.values[e]
    e, callee = resolve_callee(env, e)
    if isinstance(callee, Struct):
        return make_struct(env, e, callee, target)
    if isinstance(callee, Scalar):
        return check_conversion(env, e, callee, target)
    if isinstance(callee, Vector):
        return make_vector(env, e, callee, target)
    if isinstance(callee, surface.VectorCast):
        return vector_load(env, e.function, e.arguments, e.span, target)
    if isinstance(callee, Intrinsic):
        return check_intrinsic(env, e, callee, target, want)
    if isinstance(callee, surface.Kernel):
        return check_device_call(env, e, callee)
    fail(type_errors.NotCallable(span=e.function.span, text=source_text(e.function.span)))


def resolve_callee(env: Env, e: s.Call) -> tuple[s.Call, object]:
    """Return a call with what it calls: an object, a function around it, or a type that is written out, as `vector(T, 4)`."""
    function, span = e.function, e.function.span
    if (nested := function_called(env, function)) is not None:
        return e, nested
    if construct_of(function) is surface.vector:
        function = s.Resolved(value=element(function), text=source_text(span), span=span)
    if not isinstance(function, s.Resolved):
        fail(type_errors.NotCallable(span=span, text=source_text(span, "this")))
    return e if function is e.function else replace(e, function=function), function.value


def function_called(env: Env, e: s.Expr) -> Nested | None:
    """Return the function, defined inside another one, that a name stands for."""
    found = env.names.get(e.name) if isinstance(e, s.Name) else None
    return found if isinstance(found, Nested) else None


def check_conversion(env: Env, e: s.Call, to: Scalar, target: Perspective) -> tree.Expr:
    """`int64(x)`: as C converts; `int64()` is 0."""
    if not e.arguments and not e.keywords:
        zero: bool | float = False if to.kind == "bool" else 0.0 if to.kind == "float" else 0
        return tree.Const(value=zero, type=to, span=e.span)
    if len(e.arguments) != 1 or e.keywords:
        facts: Fields = {"wanted": "one value", "given": f"{len(e.arguments)} given", "parameters": "value"}
        fail(errors.CallArguments(span=e.span, name=str(to), **facts))
    value = check_scalar(env, e.arguments[0], target)
    if isinstance(value, tree.Const) and not isinstance(value.value, bool) and to.kind != "bool":
        try:
            number = float(value.value) if to.kind == "float" else int(value.value)
        except (OverflowError, ValueError):
            fail(name_errors.NotFinite(span=value.span))
        literal = s.Literal(value=number, span=e.span)
        return check_expression(env, literal, target, to)
    if budget.of_grid(value):
        return replace(convert(value, to), span=e.span)
    return tree.Cast(operand=value, type=to, perspective=value.perspective, span=e.span)


# -- device functions -----------------------------------------------------------------------------------------------------


def check_device_call(env: Env, e: s.Call, kernel: surface.Kernel) -> tree.Expr:
    """Type a call of a device function: instantiate it, then R13 and, argument by argument, R14 and R15."""
    if kernel.kind == "global":
        fail(errors.CallKernel(span=e.span, name=kernel.__name__))
    given, template = bind_arguments(env, e, kernel)
    if (every := env.context.resolve.compiled_in(kernel, template, e.span)) is not None:
        return take_value(env, e, kernel, given, every)
    function = env.context.resolve(kernel, template, e.span)
    check_bound(env, function, function.bound, cooperative=function.cooperative, call=e)
    arguments = tuple(
        check_argument(env, function.name, function.trusts, formal, actual)
        for formal, actual in zip(function.parameters, fill_defaults(function.parameters, given, e), strict=True)
    )
    perspective = function.result_perspective or env.code
    if function.pure and arguments:
        common = meet(*(argument.perspective for argument in arguments))
        perspective = common if perspective <= common else perspective  # both hold
    facts: Fields = {"code": env.code, "type": function.result, "perspective": perspective, "span": e.span}
    return tree.Call(function=function, arguments=arguments, **facts)


def check_inlined(env: Env, e: s.Call) -> tuple[tree.Stmt, ...] | None:
    """Return what a call becomes that is a statement of its own, of a function that takes a shared tile; None for any other."""
    kernel = e.function.value if isinstance(e.function, s.Resolved) else function_called(env, e.function)
    if not isinstance(kernel, surface.Kernel) or kernel.kind == "global":
        return None
    given, template = bind_arguments(env, e, kernel)
    every = env.context.resolve.compiled_in(kernel, template, e.span)
    return None if every is None else compile_in(env, e, kernel, given, every)[0]


def bind_arguments(env: Env, e: s.Call, kernel: surface.Kernel) -> tuple[Passed, Mapping[str, object]]:
    """Return the arguments in the parameters' order, and the template arguments: given by keyword, or deduced.

    An argument that has a default, and is left out, is None.
    """
    parsed = env.context.resolve.syntax_of(kernel)
    names = [p.name for p in parsed.parameters]
    slots: dict[str, s.Expr] = dict(zip(names, e.arguments, strict=False))
    template: dict[str, object] = {}
    for name, value in e.keywords:
        if name == "template" and isinstance(value, s.Braces):
            given = (template_value(env, item) for item in value.items)
            template.update(zip(kernel.template, given, strict=False))
        elif name in kernel.template:
            template[name] = template_value(env, value)
        elif name in names and name not in slots:
            slots[name] = value
        else:
            have = ", ".join([*names, *kernel.template]) or "none"
            meant = next((one for one in (*kernel.template, *names) if one.lower() == name.lower()), "")
            facts: Fields = {"span": value.span, "name": name, "function": kernel.__name__, "have": have}
            fail(name_errors.TemplateUnknown(**facts, meant=meant and f"{meant}={source_text(value.span)}"))
    required = [p.name for p in parsed.parameters if p.default is None]
    if len(e.arguments) > len(names) or not slots.keys() >= {*required}:
        count = len(names) if len(required) == len(names) else f"{len(required)} to {len(names)}"
        total = len(e.arguments) + len(slots) - min(len(e.arguments), len(names))
        missing = [name for name in required if name not in slots]
        counted = f"and not without `{missing[0]}`" if len(required) <= total <= len(names) else f"{total} given"
        facts = {"wanted": f"{count} argument(s)", "given": counted, "parameters": ", ".join(names) or "none"}
        by_name = next((one for one in kernel.template if kernel.template[one] is surface.function), "")
        extra = e.arguments[len(names) :]
        if by_name and by_name not in template and len(extra) == 1 and isinstance(extra[0], s.Resolved):
            facts["named"] = f"{by_name}={source_text(extra[0].span)}"
        fail(errors.CallArguments(span=e.span, name=kernel.__name__, **facts))
    wanted = frozenset(kernel.template) - frozenset(template)
    if wanted:
        deduce_template(env, kernel, parsed, slots, template, wanted)
    return tuple(map(slots.get, names)), template


def deduce_template(
    env: Env,
    kernel: surface.Kernel,
    parsed: s.Function,
    slots: Mapping[str, s.Expr],
    found: dict[str, object],
    wanted: frozenset[str],
) -> None:
    """Add the template arguments that the actual arguments' types imply; literals imply nothing unless all else fails."""
    given = [p for p in parsed.parameters if p.name in slots]
    literals = [p for p in given if isinstance(slots[p.name], s.Literal)]
    for parameter in (*(p for p in given if p not in literals), *literals):
        actual = slots[parameter.name]
        if isinstance(actual, s.Name) and isinstance(role := env.names.get(actual.name), Role):
            annotation.deduce_role(fold_in_part(kernel, parsed, found, parameter.annotation), role, found, wanted)
            continue
        if isinstance(actual, s.Name):
            type_ = memory_type(
                env, visible(env, actual.name, actual.span, "open")
            )  # what it may be used for, the call says
        elif (whole := tile_of(env, actual)) is not None and kind_of(
            fold_in_part(kernel, parsed, found, parameter.annotation)
        )[0]:
            type_ = replace(memory_type(env, whole), shape=None)
        else:
            type_ = check_expression(env, actual, env.code).type
        annotation.deduce(parameter.annotation, type_, found, wanted)
        if isinstance(parameter.annotation, s.Name) and isinstance(type_, Array | Pointer):
            one_element(kernel, parameter, actual, type_)


def one_element(kernel: surface.Kernel, parameter: s.Parameter, actual: s.Expr, type_: Array | Pointer) -> NoReturn:
    """Fail: an array, or memory, where a number of a type that is to be deduced is asked for."""
    text = source_text(actual.span)
    hint = f"pass one element, `{text}[{', '.join('i' for _ in (type_.shape or (1,)))}]`"
    if isinstance(type_, Array):
        hint += "; a thread's own elements are combined in a loop before"
    facts: Fields = {"parameter": parameter.name, "name": kernel.__name__, "wanted": "a number", "hint": hint}
    fail(errors.CallType(span=actual.span, found=str(type_), **facts))


def memory_type(env: Env, symbol: tree.Symbol) -> Any:
    """Return a name's type; of a part of a tile, with the swizzle of the whole."""
    root = symbol.root().type
    if not isinstance(symbol.type, Pointer) or not isinstance(root, Pointer):
        return symbol.type
    type_ = tile_type(env, symbol)
    return type_ if type_.shape is not None else replace(type_, swizzle=root.swizzle)


def template_value(env: Env, e: s.Expr) -> object:
    """Return a template argument's value: what isn't a compile-time value is left for the kind check to report."""
    if (nested := function_called(env, e)) is not None:
        return nested
    if isinstance(e, s.Literal | s.Resolved):
        return e.value
    return e
