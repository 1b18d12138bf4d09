"""Calls: device functions (R13-R15, R26, R29), intrinsics, conversions."""

from __future__ import annotations

from collections.abc import Mapping

from prism.lang import surface, tree
from prism.lang import syntax as s
from prism.lang.check import annotation
from prism.lang.check.conversion import coerce
from prism.lang.check.env import Env, blame, evidence, fail, narrowed, why_here
from prism.lang.check.expressions import (
    check_expression,
    check_scalar,
    check_value,
    construct_called,
    visible,
)
from prism.lang.check.fragments import check_place
from prism.lang.check.ids import check_id
from prism.lang.check.intrinsics import check_intrinsic
from prism.lang.check.structs import make_struct
from prism.lang.check.vectors import make_vector, vector_load
from prism.lang.diagnostics import Label, Span
from prism.lang.errors import calls as errors
from prism.lang.errors import names as name_errors
from prism.lang.errors import ownership
from prism.lang.errors import tiles as tile_errors
from prism.lang.errors import types as type_errors
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.perspective import Level, Perspective, meet
from prism.lang.structs import Struct
from prism.lang.types import Array, Fragment, Pointer, Scalar, TensorMap, Type, Vector


def check_call(env: Env, e: s.Call, target: Perspective, want: Type | None) -> tree.Expr:
    """Type a call: of a type (a conversion), `id`/`count`, an intrinsic, a device function."""
    construct = construct_called(e)
    if construct in (surface.id, surface.count):
        return check_id(env, e, target, counting=construct is surface.count)
    if construct in (surface.row, surface.column):
        return check_place(env, e)
    if not isinstance(e.function, s.Resolved):
        text = e.function.name if isinstance(e.function, s.Name) else "this"
        fail(type_errors.NotCallable(span=e.function.span, text=text))
    callee = e.function.value
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
        return check_device_call(env, e, callee, target)
    fail(type_errors.NotCallable(span=e.function.span, text=e.function.text))


def check_conversion(env: Env, e: s.Call, to: Scalar, target: Perspective) -> tree.Expr:
    """`int64(x)`: as C converts."""
    if len(e.arguments) != 1 or e.keywords:
        fail(
            errors.CallArguments(
                span=e.span, name=str(to), wanted="one value", given=f"{len(e.arguments)} given", parameters="value"
            )
        )
    value = check_scalar(env, e.arguments[0], target)
    if isinstance(value, tree.Const) and not isinstance(value.value, bool) and to.kind != "bool":
        try:
            number = float(value.value) if to.kind == "float" else int(value.value)
        except (OverflowError, ValueError):
            fail(name_errors.NotFinite(span=value.span))
        literal = s.Literal(value=number, span=e.span)
        return check_expression(env, literal, target, to)
    return tree.Cast(operand=value, type=to, perspective=value.perspective, span=e.span)


# -- device functions -----------------------------------------------------------------------------------------------------


def check_device_call(env: Env, e: s.Call, kernel: surface.Kernel, target: Perspective) -> tree.Expr:
    """Type a call of a device function: instantiate it, then R13 and, argument by argument, R14 and R15."""
    if kernel.kind == "global":
        fail(errors.CallKernel(span=e.span, name=kernel.__name__))
    given, template = bind_arguments(env, e, kernel)
    function = env.context.resolve(kernel, template, e.span)
    check_bound(env, function, e)
    arguments = tuple(
        check_argument(env, function, formal, actual) for formal, actual in zip(function.parameters, given, strict=True)
    )
    perspective = function.result_perspective or env.code
    if function.pure and arguments:
        common = arguments[0].perspective
        for argument in arguments[1:]:
            common = meet(common, argument.perspective)
        perspective = common if perspective <= common else perspective  # both hold
    return tree.Call(
        function=function,
        arguments=arguments,
        code=env.code,
        type=function.result,
        perspective=perspective,
        span=e.span,
    )


def bind_arguments(env: Env, e: s.Call, kernel: surface.Kernel) -> tuple[tuple[s.Expr, ...], Mapping[str, object]]:
    """Return the arguments in the parameters' order, and the template arguments: given by keyword, or deduced."""
    parsed = env.context.resolve.parsed(kernel)  # type: ignore[attr-defined]
    names = [p.name for p in parsed.parameters]
    slots: dict[str, s.Expr] = dict(zip(names, e.arguments, strict=False))
    template: dict[str, object] = {}
    for name, value in e.keywords:
        if name == "template" and isinstance(value, s.Braces):
            template.update(zip(kernel.template, map(template_value, value.items), strict=False))
        elif name in kernel.template:
            template[name] = template_value(value)
        elif name in names and name not in slots:
            slots[name] = value
        else:
            have = ", ".join([*names, *kernel.template]) or "none"
            fail(name_errors.TemplateUnknown(span=value.span, name=name, function=kernel.__name__, have=have))
    if len(e.arguments) > len(names) or len(slots) < len(names):
        counted = f"{len(e.arguments) + len(slots) - min(len(e.arguments), len(names))} given"
        fail(
            errors.CallArguments(
                span=e.span,
                name=kernel.__name__,
                wanted=f"{len(names)} argument(s)",
                given=counted,
                parameters=", ".join(names) or "none",
            )
        )
    wanted = frozenset(kernel.template) - frozenset(template)
    if wanted:
        deduce_template(env, parsed, slots, template, wanted)
    return tuple(slots[name] for name in names), template


def deduce_template(
    env: Env, parsed: s.Function, slots: Mapping[str, s.Expr], found: dict[str, object], wanted: frozenset[str]
) -> None:
    """Add the template arguments that the actual arguments' types imply; literals imply nothing unless all else fails."""
    literals = []
    for parameter in parsed.parameters:
        actual = slots[parameter.name]
        if isinstance(actual, s.Literal):
            literals.append((parameter, actual))
        else:
            annotation.deduce(parameter.annotation, check_expression(env, actual, env.code).type, found, wanted)
    for parameter, actual in literals:
        annotation.deduce(parameter.annotation, check_expression(env, actual, env.code).type, found, wanted)


def template_value(e: s.Expr) -> object:
    """Return a template argument's value: what isn't a compile-time value is left for the kind check to report."""
    if isinstance(e, s.Literal | s.Resolved):
        return e.value
    return e


def check_bound(env: Env, function: tree.Function, e: s.Call) -> None:
    """R13 CALL-BOUND: every entry of the callee's bound can be had here; the broadest is entered as by a group."""
    for level in (Level.GRID, Level.BLOCK, Level.THREAD):
        size = function.bound.entry(level)
        if size is not None and not env.bound.allows(Perspective(level, size)):
            labels = (*why_here(env), Label(function.span, f"`{function.name}` requires {function.bound}"))
            fail(
                errors.CallBound(
                    span=e.span,
                    name=function.name,
                    needs=str(Perspective(level, size)),
                    bound=str(env.bound),
                    code_perspective=env.code,
                    narrowed=narrowed(env),
                    labels=labels,
                )
            )
    caller = env.context.kernel
    if function.cooperative and not caller.cooperative:
        labels = (Label(function.span, f"`{function.name}` requires it"),)
        fail(errors.CallCooperative(span=e.span, name=function.name, caller=caller.__name__, labels=labels))


def check_argument(env: Env, function: tree.Function, formal: tree.Symbol, actual: s.Expr) -> tree.Expr:
    """R14 CALL-SCALAR for numbers, R15 CALL-PTR for memory; arrays go by reference, at exactly the formal's perspective."""
    if isinstance(formal.type, Pointer):
        return check_pointer(env, function, formal, formal.type, actual)
    if isinstance(formal.type, Array | Fragment):
        return check_array(env, function, formal, actual)
    if isinstance(formal.type, TensorMap):
        return check_map(env, function, formal, actual)
    value = check_value(env, actual, formal.perspective, formal.type)
    if isinstance(formal.type, Vector) or isinstance(value.type, Vector):
        if value.type != formal.type:
            mismatch(function.name, formal, actual, str(value.type))
    else:
        value = coerce(value, formal.type, actual.span)
    if not formal.perspective <= value.perspective:
        what, labels = evidence(value, formal.perspective)
        labels = (*labels, Label(formal.span, f"declared @ {formal.perspective}"))
        fail(
            errors.CallScalar(
                span=blame(value, formal.perspective),
                parameter=formal.name,
                name=function.name,
                needed=formal.perspective,
                what=what,
                has=value.perspective,
                labels=labels,
            )
        )
    return value


def mismatch(name: str, formal: tree.Symbol, actual: s.Expr, found: str) -> None:
    """Fail: an argument of another type."""
    hint = "pass an array, pointer or value of that type"
    fail(
        errors.CallType(
            span=actual.span,
            parameter=formal.name,
            name=name,
            wanted=str(formal.type),
            found=found,
            hint=hint,
            labels=(Label(formal.span, "declared here"),),
        )
    )


def check_pointer(env: Env, function: tree.Function, formal: tree.Symbol, wanted: Pointer, actual: s.Expr) -> tree.Expr:
    """R15 CALL-PTR: memory that may be written is of exactly the formal's perspective; const memory at least of it."""
    if not isinstance(actual, s.Name):
        mismatch(function.name, formal, actual, "an expression")
    assert isinstance(actual, s.Name)
    symbol = visible(env, actual.name, actual.span)
    if not isinstance(symbol.type, Pointer) or symbol.type.element != wanted.element:
        mismatch(function.name, formal, actual, str(symbol.type))
    assert isinstance(symbol.type, Pointer)
    labels = (
        Label(formal.span, f"declared @ {formal.perspective}"),
        Label(symbol.span, f"`{symbol.name}` lives at {symbol.perspective}"),
    )
    facts = {
        "span": actual.span,
        "parameter": formal.name,
        "name": function.name,
        "actual": symbol.name,
        "labels": labels,
    }
    if symbol.type.const and not wanted.const:
        fail(errors.CallConst(**facts))  # type: ignore[arg-type]
    if wanted.const and not formal.perspective <= symbol.perspective:
        fail(errors.CallPointerNarrow(**facts, needed=formal.perspective, has=symbol.perspective))  # type: ignore[arg-type]
    if not wanted.const and formal.perspective != symbol.perspective:
        fail(errors.CallPointer(**facts, needed=formal.perspective, has=symbol.perspective))  # type: ignore[arg-type]
    if formal.name in function.trusts and symbol.type.space == "global" and not symbol.type.const:
        fail(
            ownership.LoadTrusting(
                span=actual.span, name=function.name, parameter=formal.name, memory=symbol.name, labels=labels
            )
        )
    swizzled(symbol, actual.span, tile_errors.SwizzlePointer)
    if not shifts(symbol):
        fail(errors.CallLambda(span=actual.span, actual=symbol.name, labels=(Label(symbol.span, "made here"),)))
    return tree.Var(symbol=symbol, type=symbol.type, perspective=symbol.perspective, span=actual.span)


def swizzled(symbol: tree.Symbol, span: Span, error: type[tile_errors.SwizzlePointer]) -> None:
    """A pointer knows nothing of a swizzle: no swizzled tile decays to one."""
    root = symbol.root()
    if isinstance(root.type, Pointer) and root.type.swizzle:
        label = Label(root.span, f"`{root.name}` is declared here")
        fail(error(span=span, actual=symbol.name, swizzle=root.type.swizzle, labels=(label,)))


def shifts(symbol: tree.Symbol) -> bool:
    """Whether a name's elements lie side by side in memory: every view behind it is `offset + i`."""
    view = symbol.view
    if view is None:
        return True
    return (
        len(view.params) == 1 and len(view.index) == 1 and shift(view.index[0], view.params[0]) and shifts(view.source)
    )


def shift(e: tree.Expr, param: tree.Symbol) -> bool:
    """Whether an index is its parameter plus something that does not depend on it."""
    match e:
        case tree.Var():
            return e.symbol is param
        case tree.Cast():
            return shift(e.operand, param)
        case tree.Binary() if e.op == "+":
            return (shift(e.left, param) and not mentions(e.right, param)) or (
                shift(e.right, param) and not mentions(e.left, param)
            )
        case tree.Binary() if e.op == "-":
            return shift(e.left, param) and not mentions(e.right, param)
        case _:
            return False


def mentions(e: tree.Expr, symbol: tree.Symbol) -> bool:
    """Whether an expression uses a symbol."""
    return (isinstance(e, tree.Var) and e.symbol is symbol) or any(mentions(part, symbol) for part in tree.operands(e))


def check_map(env: Env, function: tree.Function, formal: tree.Symbol, actual: s.Expr) -> tree.Expr:
    """A tensor map goes by reference, to a parameter of the same type."""
    symbol = visible(env, actual.name, actual.span) if isinstance(actual, s.Name) else None
    if symbol is None or symbol.type != formal.type:
        mismatch(function.name, formal, actual, "an expression" if symbol is None else str(symbol.type))
    assert symbol is not None
    return tree.Var(symbol=symbol, type=symbol.type, perspective=symbol.perspective, span=actual.span)


def check_array(env: Env, function: tree.Function, formal: tree.Symbol, actual: s.Expr) -> tree.Expr:
    """An array goes by reference: its owners are exactly those that the callee writes for."""
    if not isinstance(actual, s.Name):
        mismatch(function.name, formal, actual, "an expression")
    assert isinstance(actual, s.Name)
    symbol = visible(env, actual.name, actual.span)
    if symbol.type != formal.type:
        mismatch(function.name, formal, actual, str(symbol.type))
    if symbol.perspective != formal.perspective:
        labels = (
            Label(formal.span, f"declared @ {formal.perspective}"),
            Label(symbol.span, f"`{symbol.name}` lives at {symbol.perspective}"),
        )
        fail(
            errors.CallArray(
                span=actual.span,
                parameter=formal.name,
                name=function.name,
                needed=formal.perspective,
                actual=symbol.name,
                has=symbol.perspective,
                labels=labels,
            )
        )
    return tree.Var(symbol=symbol, type=symbol.type, perspective=symbol.perspective, span=actual.span)
