"""Applying an intrinsic: its operands' kinds, types and perspectives against its declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NoReturn

from prism.lang import tree
from prism.lang.check import elements
from prism.lang.check.asynchronous import check_issue, copies_alone
from prism.lang.check.axes import refuse_run
from prism.lang.check.conversion import coerce
from prism.lang.check.env import (
    Env,
    declaration_label,
    evidence,
    fail,
    refuse_bound,
    refuse_const,
    refuse_write,
    require_own,
    why_here,
)
from prism.lang.check.expressions import (
    check_index,
    check_value,
    element,
    flatten,
    in_range,
    must_agree,
    read_element,
    visible,
)
from prism.lang.check.rings import copy_of, into_ring
from prism.lang.check.tiles import (
    fragment_operand,
    map_operand,
    origins,
    refuse_one_twice,
    same_elements,
    scalar_of,
    tensor_operand,
    tile_operand,
)
from prism.lang.check.vector_arithmetic import vector_fused
from prism.lang.diagnostics import Fields, Span
from prism.lang.errors import asynchronous, ownership
from prism.lang.errors import calls as errors
from prism.lang.errors import types as type_errors
from prism.lang.intrinsics.declaration import Intrinsic, Parameter
from prism.lang.intrinsics.special import fma
from prism.lang.parse import syntax as s
from prism.lang.tree.bind import binding_of
from prism.lang.types import VOID, Array, Mailbox, Pointer, Scalar, Type, Vector
from prism.lang.types.perspective import THREAD, Perspective, meet
from prism.lang.types.structs import Struct


def check_intrinsic(env: Env, e: s.Call, intrinsic: Intrinsic, target: Perspective, want: Type | None) -> tree.Expr:
    """Type an intrinsic's application."""
    if not env.bound.allows(intrinsic.requires):
        refuse_bound(env, intrinsic.name, intrinsic.requires, e.span, why_here(env))
    check_issue(env, intrinsic, e.span)
    given = bind(e, intrinsic)
    statics = {p.name: static(intrinsic, p, given.get(p.name)) for p in intrinsic.parameters if p.kind == "static"}
    operands = [p for p in intrinsic.parameters if p.kind != "static" and (p.name in given or not p.optional)]
    typed = check_operands(env, intrinsic, operands, given, target, want)
    if intrinsic is fma and any(isinstance(value.type, Vector) for value in typed.values()):
        return vector_fused(env, e, [typed[p.name] for p in operands])
    same_elements(intrinsic, operands, typed)
    refuse_one_twice(intrinsic, typed, e.span)
    of_numbers(intrinsic, operands, typed)
    scalar = type_variable(operands, typed)
    if isinstance(scalar, Struct) and not intrinsic.structs:
        what, hint = f"`{intrinsic.name}` takes numbers", f"apply it to a field, as `.{scalar.names[0]}`"
        fail(type_errors.StructUse(span=e.span, what=what, struct=str(scalar), found="a struct", hint=hint))
    if scalar is not None and not intrinsic.allows(scalar):
        fail(errors.IntrinsicType(span=e.span, name=intrinsic.name, allowed=intrinsic.allows_text, found=str(scalar)))
    arguments = tuple(finish(intrinsic, p, given[p.name], typed[p.name], scalar) for p in operands)
    found = tree.Apply(
        intrinsic=intrinsic, arguments=arguments, statics=statics, code=env.code,
        type=result_type(intrinsic, scalar, statics, arguments, e.span), perspective=result_perspective(intrinsic, arguments),
        span=e.span,
    )  # fmt: skip
    problem = intrinsic.problem(binding_of(found)) if intrinsic.problem is not None else ""
    if problem:
        labels = origins(arguments)
        fail(errors.IntrinsicProblem(span=e.span, name=intrinsic.name, problem=problem, labels=labels))
    return found


def bind(e: s.Call, intrinsic: Intrinsic) -> Mapping[str, s.Expr]:
    """Return the operands by parameter name."""
    names = [p.name for p in intrinsic.parameters]
    given = dict(zip(names, e.arguments, strict=False))
    required = [
        p.name for p in intrinsic.parameters if not (p.optional or (p.kind == "static" and p.default is not None))
    ]
    unknown = [k for k, _ in e.keywords if k not in names or k in given]
    given.update({k: v for k, v in e.keywords if k not in unknown})
    missing = [name for name in required if name not in given]
    if len(e.arguments) > len(names) or unknown or missing:
        problem = f"missing: {missing[0]}" if missing else f"{len(e.arguments)} given"
        problem = f"unknown: {unknown[0]}" if unknown else problem
        facts: Fields = {"wanted": f"{len(required)} argument(s)", "given": problem, "parameters": ", ".join(names)}
        fail(errors.CallArguments(span=e.span, name=intrinsic.name, **facts))
    return given


def static(intrinsic: Intrinsic, parameter: Parameter, given: s.Expr | None) -> object:
    """Return a compile-time argument's value."""
    if given is None:
        return parameter.default
    if parameter.type == "type":
        found = elements.element(given)
        return found if not isinstance(found, Mailbox) else fail(type_errors.NotAType(span=given.span))
    if not isinstance(given, s.Literal):
        fail(errors.StaticArgument(span=given.span, parameter=parameter.name, name=intrinsic.name))
    if parameter.choices and given.value not in parameter.choices:
        allowed = ", ".join(map(repr, parameter.choices))
        fail(errors.StaticChoice(span=given.span, parameter=parameter.name, name=intrinsic.name, allowed=allowed))
    return given.value


def check_operands(
    env: Env,
    intrinsic: Intrinsic,
    operands: list[Parameter],
    given: Mapping[str, s.Expr],
    target: Perspective,
    want: Type | None,
) -> dict[str, tree.Expr]:
    """Type the operands; literals last, as T."""
    typed: dict[str, tree.Expr] = {}
    for literals in (False, True):
        for p in operands:
            e = given[p.name]
            if isinstance(e, s.Literal) is not literals:
                continue
            if p.kind == "element":
                own = target if intrinsic.requires == THREAD else THREAD  # each thread of the unit gives an address
                typed[p.name] = address(env, intrinsic, p, e, own)
            elif p.kind in NAMED:
                typed[p.name] = NAMED[p.kind](env, intrinsic, p, e)
            else:
                hint: Type | None = p.type if isinstance(p.type, Scalar) else type_variable(operands, typed) or want
                typed[p.name] = check_value(env, e, p.unit if p.unit <= env.code else target, hint)
    return typed


def of_numbers(intrinsic: Intrinsic, operands: list[Parameter], typed: Mapping[str, tree.Expr]) -> None:
    """What takes or gives values of T has memory of T, not of vectors of T: any copy reads and writes those whole."""
    values = any(p.type == "T" and p.kind in ("value", "vector", "array") for p in intrinsic.parameters)
    if not values and intrinsic.result not in ("T", "vector"):
        return
    for p in operands:
        found = typed[p.name]
        if p.kind == "element" and p.type == "T" and isinstance(found, tree.Element) and isinstance(found.type, Vector):
            kind, labels = found.type, (declaration_label(found.symbol),)
            facts: Fields = {"memory": found.symbol.name, "element": str(kind.element)}
            facts |= {"length": kind.length, "found": str(kind)}
            fail(errors.VectorElement(span=found.span, name=intrinsic.name, labels=labels, **facts))


def type_variable(operands: list[Parameter], typed: Mapping[str, tree.Expr]) -> Scalar | None:
    """Return the scalar that T stands for: that of the memory or array operands, else the widest value's."""
    values: list[Scalar] = []
    for p in operands:
        found = typed.get(p.name)
        if p.type != "T" or found is None:
            continue
        kind = scalar_of(found)
        if kind is not None:
            if p.kind != "value":
                return kind
            values.append(kind)
    return max(values, key=lambda t: (t.kind == "float", t.bits, t.kind == "uint"), default=None)


def address(env: Env, intrinsic: Intrinsic, p: Parameter, e: s.Expr, target: Perspective) -> tree.Expr:
    """An element operand: R17 and R18 where it is written, R19 where it is read; atomics may use a broad pointer."""
    base, indices = flatten(e)
    if not isinstance(base, s.Name) or not indices:
        fail(errors.ElementArgument(span=e.span, parameter=p.name, name=intrinsic.name))
    symbol = visible(env, base.name, base.span, use_of(intrinsic) if p.effect != "read" else "")
    if not isinstance(symbol.type, Pointer) or isinstance(symbol.type.element, Mailbox) != p.mailbox:
        kind = " that holds mailboxes" if p.mailbox else ""
        fail(errors.ElementArgument(span=e.span, parameter=p.name, name=intrinsic.name, kind=kind))
    refuse_run(intrinsic, p, symbol, e.span)
    found = element(env, symbol, indices, e.span, target)
    if p.unit != THREAD:
        return check_joint_access(env, intrinsic, p, e, found)
    if p.effect == "read":
        return found if p.mailbox or p.atomic else read_element(env, found)
    if symbol.type.const:
        refuse_write(symbol, e.span, str(symbol.type))
    if env.code != THREAD:
        facts: Fields = {"span": e.span, "name": symbol.name, "code_perspective": env.code, "labels": why_here(env)}
        if p.atomic:
            fail(ownership.AtomicCode(intrinsic=intrinsic.name, **facts))
        fail(ownership.StoreCode(**facts))
    if intrinsic.asynchronous and not p.atomic:
        copies_alone(env, symbol, e.span)
        return in_flight_destination(env, intrinsic, found)
    if not p.atomic:
        require_own(symbol, e.span)
    return found


def use_of(intrinsic: Intrinsic) -> str:
    """Return how an intrinsic uses the memory that it writes: see `check_opened`."""
    return "load" if intrinsic.asynchronous == "remote" else "copy" if intrinsic.asynchronous else ""


def in_flight_destination(env: Env, intrinsic: Intrinsic, found: tree.Element) -> tree.Element:
    """R24 ASYNC: a `cp.async` writes to what `async_` opened, or to a copy of a ring."""
    symbol = found.symbol
    if intrinsic.asynchronous == "remote":
        into_ring(env, intrinsic.name, symbol, found.span)
    if intrinsic.asynchronous == "cp_async" and symbol not in env.context.flights and copy_of(symbol) is None:
        facts: Fields = {"function": intrinsic.name, "name": symbol.name}
        fail(asynchronous.AsyncDestination(span=found.span, labels=(declaration_label(symbol),), **facts))
    return found


def check_joint_access(env: Env, intrinsic: Intrinsic, p: Parameter, e: s.Expr, found: tree.Element) -> tree.Element:
    """R15, R18 of memory that a unit accesses together: it reads what is its own or broader, and writes what is its own."""
    symbol = found.symbol
    facts: Fields = {"name": intrinsic.name, "actual": symbol.name, "needed": p.unit, "has": symbol.perspective}
    facts |= {"span": e.span, "labels": (declaration_label(symbol),)}
    if p.effect == "read":
        if not p.unit <= symbol.perspective:
            change = f"read it through memory of {p.unit} or broader, before it is partitioned"
            fail(errors.MatrixNarrow(**facts, change=change))
        return found
    assert isinstance(symbol.type, Pointer)
    if symbol.type.const:
        refuse_write(symbol, e.span, str(symbol.type))
    if symbol.perspective != p.unit or env.code != p.unit:
        change = f"partition it for {p.unit}, and write in a group of {p.unit}"
        fail(errors.MatrixNarrow(**facts, change=change))
    return found


def refuse_type(intrinsic: Intrinsic, p: Parameter, e: s.Expr, wanted: str, found: str, hint: str) -> NoReturn:
    """Fail: an operand of another type."""
    facts: Fields = {"parameter": p.name, "name": intrinsic.name, "wanted": wanted, "found": found, "hint": hint}
    fail(errors.CallType(span=e.span, **facts))


def array_operand(env: Env, intrinsic: Intrinsic, e: s.Expr) -> tree.Expr | None:
    """A local array, or a row of one of several dimensions: `c` or `c[i]`."""
    base, indices = flatten(e)
    symbol = visible(env, base.name, base.span) if isinstance(base, s.Name) else None
    if symbol is None or not isinstance(symbol.type, Array) or len(indices) >= len(symbol.type.shape):
        return None
    if not indices:
        return tree.Var(symbol=symbol, type=symbol.type, perspective=symbol.perspective, span=e.span)
    typed = tuple(check_index(env, index, env.code) for index in indices)
    for index, extent in zip(typed, symbol.type.shape, strict=False):
        in_range(index, extent, symbol.name)
        if not intrinsic.requires <= index.perspective:
            must_agree(env, index, intrinsic.requires, f"index of `{symbol.name}`")
    rest = Array(symbol.type.element, symbol.type.shape[len(typed) :])
    return tree.Item(symbol=symbol, indices=typed, type=rest, perspective=symbol.perspective, span=e.span)


def whole_array(env: Env, intrinsic: Intrinsic, p: Parameter, e: s.Expr) -> tree.Expr:
    """An array operand: a local array at the parameter's perspective, of its type and one of its lengths."""
    value = array_operand(env, intrinsic, e)
    symbol = value.symbol if isinstance(value, tree.Var | tree.Item) else None
    kind = value.type if value is not None else None
    fits = isinstance(kind, Array) and (not isinstance(p.type, Scalar) or kind.element == p.type)
    fits = fits and isinstance(kind, Array) and (not p.length or kind.shape in [(n,) for n in p.length])
    if symbol is None or not fits or symbol.perspective != p.unit:
        found = "this" if symbol is None else f"{kind} @ {symbol.perspective}"
        lengths = " or ".join(f"{p.type}[{n}]" for n in p.length)
        wanted = f"a local array {lengths + ' ' if lengths else ''}@ {p.unit}"
        hint = f"declare one: `values: {f'{p.type}[{p.length[0]}]' if p.length else 'T[4]'} @ {p.unit}`"
        refuse_type(intrinsic, p, e, wanted, found, hint)
    if p.effect != "read":
        refuse_const(env, symbol, e.span)
    assert value is not None
    return value


NAMED: dict[str, Callable[[Env, Intrinsic, Parameter, s.Expr], tree.Expr]] = {
    "array": whole_array,
    "tile": tile_operand,
    "tensor": tensor_operand,
    "map": map_operand,
    "fragment": fragment_operand,
}
"""What makes an operand that is given by its name, by the kind of the parameter."""


def finish(intrinsic: Intrinsic, p: Parameter, e: s.Expr, value: tree.Expr, scalar: Scalar | None) -> tree.Expr:
    """Convert a value operand to the parameter's type, and check that its threads agree."""
    if p.kind == "vector":
        if not isinstance(value.type, Vector):
            refuse_type(intrinsic, p, e, "a vector", str(value.type), "declare one: `v: vector(T, 4) @ thread[1]`")
        return value
    if p.kind != "value":
        return value
    wanted = p.type if isinstance(p.type, Scalar) else scalar
    if (isinstance(value.type, Vector) and not p.vectors) or wanted is None:
        refuse_type(intrinsic, p, e, str(wanted or "a number"), str(value.type), "take one component, `v[0]`")
    if not intrinsic.elementwise and not p.unit <= value.perspective:
        facts = evidence(value, p.unit)
        fail(errors.IntrinsicScalar(parameter=p.name, name=intrinsic.name, needed=p.unit, **facts))
    if p.below and isinstance(value, tree.Const) and not 0 <= value.value < p.below:
        facts = {"parameter": p.name, "name": intrinsic.name, "value": f"{value.value}", "last": p.below - 1}
        fail(errors.OperandRange(span=e.span, **facts))
    return value if isinstance(value.type, Vector) else coerce(value, wanted, e.span)


def result_type(
    intrinsic: Intrinsic,
    scalar: Scalar | None,
    statics: Mapping[str, object],
    arguments: tuple[tree.Expr, ...],
    span: Span,
) -> Type:
    """Return the application's type."""
    if intrinsic.result is None:
        return VOID
    if isinstance(intrinsic.result, Scalar | Vector):
        return intrinsic.result
    named = statics.get(intrinsic.result)
    if isinstance(named, Scalar | Vector):
        return named
    assert scalar is not None
    if intrinsic.result == "vector":
        width = statics["width"]
        assert isinstance(width, int)
        if scalar.bytes * width not in (1, 2, 4, 8, 16):
            fail(type_errors.VectorSize(span=span, element=str(scalar), length=width))
        return Vector(scalar, width)
    return next((a.type for a in arguments if isinstance(a.type, Vector)), scalar)


def result_perspective(intrinsic: Intrinsic, arguments: tuple[tree.Expr, ...]) -> Perspective:
    """An elementwise function's result is as broad as its operands; another's as declared."""
    if intrinsic.result_unit is not None:
        return intrinsic.result_unit
    return meet(*(argument.perspective for argument in arguments)) if arguments else THREAD


# -- results --------------------------------------------------------------------------------------------------------------


def results_of(e: s.Call) -> s.Expr | None:
    """Return what `out=` names, where the call is of an intrinsic that has no operand of that name."""
    intrinsic = e.function.value if isinstance(e.function, s.Resolved) else None
    if not isinstance(intrinsic, Intrinsic) or any(p.name == "out" for p in intrinsic.parameters):
        return None
    return dict(e.keywords).get("out")


def check_results(
    env: Env, e: s.Call, out: s.Expr, assign: Callable[[Env, s.Expr, s.Expr, Span], tree.Stmt]
) -> tuple[tree.Stmt, ...]:
    """`intrinsic.mma(..., out=[d[0], d[1], d[2], d[3]])`: its result in a name of its own, then an assignment for each target."""
    call = replace(e, keywords=tuple((k, v) for k, v in e.keywords if k != "out"))
    assert isinstance(e.function, s.Resolved) and isinstance(e.function.value, Intrinsic)
    intrinsic = e.function.value
    value = check_intrinsic(env, call, intrinsic, THREAD if intrinsic.requires != THREAD else env.code, None)
    targets = out.items if isinstance(out, s.Braces) else (out,)
    count = value.type.length if isinstance(value.type, Vector) else 1 if isinstance(value.type, Scalar) else 0
    if len(targets) != count:
        gives = f"{count} results" if count > 1 else "one result" if count else "no result"
        fail(errors.IntrinsicResults(span=out.span, name=intrinsic.name, gives=gives, given=len(targets)))
    result = tree.Symbol(
        f"{intrinsic.name} result", value.type, value.perspective, e.span
    )  # no name of the user's has a space
    inner = env.bind(result)
    name = s.Name(name=result.name, span=e.span)
    parts: list[s.Expr] = [name]
    if isinstance(value.type, Vector):
        parts = [s.Subscript(base=name, indices=(s.Literal(value=k, span=e.span),), span=e.span) for k in range(count)]
    assigned = (assign(inner, target, part, e.span) for target, part in zip(targets, parts, strict=True))
    return (tree.Declare(symbol=result, value=value, span=e.span), *assigned)
