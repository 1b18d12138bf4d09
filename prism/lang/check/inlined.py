"""Functions that take a whole shared tile: each call is compiled into its caller.

How a tile lies in its bytes, whether it is a copy of a ring, and what copies to it are under way belong to its declaration, and
barriers and waits are inferred for a function as a whole. So a call of such a function becomes the function's body, with its
parameters declared before it: numbers as variables, memory as aliases. Arrays, fragments and tensor maps keep their symbols.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from prism.lang import surface, tree
from prism.lang.check.arguments import (
    Passed,
    check_argument,
    check_bound,
    check_owners,
    fill_defaults,
    mismatch,
    not_trusted,
)
from prism.lang.check.body import check_body
from prism.lang.check.data import make_view
from prism.lang.check.elements import construct_of
from prism.lang.check.env import Env, Poisoned, declaration_label, fail
from prism.lang.check.expressions import visible
from prism.lang.check.purity import evaluated_expressions, loaded_for_several
from prism.lang.check.rings import no_ring
from prism.lang.check.signature import check_parameter, check_requires, is_none
from prism.lang.diagnostics import CompileError, Fields
from prism.lang.errors import inlined as errors
from prism.lang.errors import ownership
from prism.lang.parse import syntax as s
from prism.lang.types import VOID, Array, Fragment, Pointer, TensorMap
from prism.lang.types.perspective import Bound

Given = tuple[tree.Symbol, tree.Expr | tree.Symbol]
"""A parameter, and its value or the memory that it stands for."""


def takes_tiles(function: s.Function) -> s.Parameter | None:
    """Return a function's first parameter that is a shared tile; None where there is none."""
    return next((p for p in function.parameters if is_shared(p.annotation)), None)


def is_shared(e: s.Expr) -> bool:
    """Whether an annotation is `shared(...)` or `const(shared(...))`."""
    construct = construct_of(e)
    if construct is surface.const and isinstance(e, s.Call) and len(e.arguments) == 1:
        return is_shared(e.arguments[0])
    return construct is surface.shared


def compile_in(
    env: Env, e: s.Call, kernel: surface.Kernel, passed: Passed, template: Mapping[str, object]
) -> tuple[tree.Stmt, ...]:
    """Return what a call becomes: R13 to R15 as for any call; then the body, checked by the signature, where it stands."""
    session = env.context.resolve
    with session.open_instance(kernel, template, e.span):
        function = session.instance(kernel, template)
        bound = check_signature(kernel, function, template)
        formals = tuple(check_parameter(p, kernel.kind) for p in function.parameters)
    check_bound(env, function, bound, cooperative=kernel.cooperative, call=e)
    given = fill_defaults(formals, passed, e)
    pairs = [(formal, given_to(env, kernel, formal, actual)) for formal, actual in zip(formals, given, strict=True)]
    check_distinct(kernel, pairs, given)
    with session.open_instance(kernel, template, e.span):
        inner, symbols = enter_inlined(env, kernel, function, bound, pairs, template)
        body = check_body(inner, function.body)
        env.context.scopes = inner.context.scopes
        if inner.context.errors:
            raise CompileError(*inner.context.errors)
        if inner.context.silent:
            raise Poisoned
    check_trust(kernel, pairs, symbols, given, body)
    made = tree.Inlined(kernel.__name__, bound, tuple(symbols.values()), template, function.span, e.span)
    return assemble(env, e, pairs, symbols, made, body)


def check_signature(kernel: surface.Kernel, function: s.Function, template: Mapping[str, object]) -> Bound:
    """Return the bound of a function that is compiled in: its text is Prism, and it has no result, no memory limit."""
    span = dict(function.decorators).get("requires", function.span)
    if kernel.external is not None or function.extern:
        fail(errors.InlinedExtern(span=function.span, name=function.name))
    if kernel.smem is not None:
        fail(errors.InlinedLimit(span=span, name=function.name))
    if function.result is not None and not is_none(function.result):
        fail(errors.InlinedResult(span=function.result.span, name=function.name))
    return check_requires(kernel, function, template, span)


# -- arguments ------------------------------------------------------------------------------------------------------------


def given_to(env: Env, kernel: surface.Kernel, formal: tree.Symbol, actual: s.Expr) -> tree.Expr | tree.Symbol:
    """R14, R15: return a typed argument; the symbol of memory."""
    if not isinstance(formal.type, Pointer):
        return check_argument(env, kernel.__name__, frozenset(), formal, actual)
    if formal.type.shape is not None:
        return check_tile(env, kernel.__name__, formal, actual)
    value = check_argument(env, kernel.__name__, frozenset(), formal, actual)
    assert isinstance(value, tree.Var)
    return value.symbol


def check_tile(env: Env, name: str, formal: tree.Symbol, actual: s.Expr) -> tree.Symbol:
    """R15 CALL-PTR: a name that stands for the whole of a shared tile of this element, shape and swizzle."""
    wanted = formal.type
    assert isinstance(wanted, Pointer)
    symbol = visible(env, actual.name, actual.span, "open") if isinstance(actual, s.Name) else None
    if symbol is None or not isinstance(symbol.type, Pointer):
        mismatch(name, formal, actual, "an expression" if symbol is None else str(symbol.type))
    no_ring(symbol, actual.span)
    if replace(symbol.type, const=False) != replace(wanted, const=False):
        facts: Fields = {"parameter": formal.name, "name": name, "actual": symbol.name}
        labels = (declaration_label(symbol),)
        fail(errors.CallTile(span=actual.span, wanted=wanted, given=symbol.type, labels=labels, **facts))
    check_owners(name, formal, symbol, actual.span)
    return symbol


def check_distinct(kernel: surface.Kernel, pairs: list[Given], given: tuple[s.Expr, ...]) -> None:
    """R21 HIDE: no memory has two names in a function that may write it."""
    seen: list[tuple[tree.Symbol, tree.Symbol]] = []
    for (formal, value), actual in zip(pairs, given, strict=True):
        if not isinstance(value, tree.Symbol):
            continue
        for other, earlier in seen:
            if value.root() is earlier.root() and not (readonly(formal) and readonly(other)):
                facts: Fields = {"function": kernel.__name__, "one": other.name, "other": formal.name}
                fail(errors.InlinedTwice(span=actual.span, name=value.root().name, **facts))
        seen.append((formal, value))


def readonly(formal: tree.Symbol) -> bool:
    """Whether a function does not write what a parameter stands for."""
    return isinstance(formal.type, Pointer) and formal.type.const


def check_trust(
    kernel: surface.Kernel,
    pairs: list[Given],
    symbols: Mapping[str, tree.Symbol],
    given: tuple[s.Expr, ...],
    body: tree.Body,
) -> None:
    """R19 PTR-READ: global memory that is loaded once for several threads, as const, is const."""
    loaded = [symbol for part in evaluated_expressions(body) for symbol in loaded_for_several(part)]
    for (formal, value), actual in zip(pairs, given, strict=True):
        if not isinstance(value, tree.Symbol) or not isinstance(value.type, Pointer) or not readonly(formal):
            continue
        changing = value.type.space == "global" and not value.type.const
        if changing and any(is_alias(symbol, symbols[formal.name]) for symbol in loaded):
            not_trusted(kernel.__name__, formal, value, actual.span)


def is_alias(symbol: tree.Symbol | None, alias: tree.Symbol) -> bool:
    """Whether a name is an alias, or a view of it."""
    while symbol is not None and symbol is not alias:
        symbol = None if symbol.view is None else symbol.view.source
    return symbol is not None


# -- the body -------------------------------------------------------------------------------------------------------------


def enter_inlined(
    env: Env,
    kernel: surface.Kernel,
    function: s.Function,
    bound: Bound,
    pairs: list[Given],
    template: Mapping[str, object],
) -> tuple[Env, dict[str, tree.Symbol]]:
    """Return the environment of the body: the function's bound, its parameters' names alone, and what they stand for."""
    context = replace(
        env.context, kernel=kernel, template=template, into=env.context.host, errors=[], silent=False, rings=[], entry=bound.code,
        result=VOID, result_perspective=None, result_declared=True, bound_span=dict(function.decorators).get("requires"),
        fixed={**env.context.fixed, **{array: p for p, value in pairs if p.const and (array := referent(value))}},
    )  # fmt: skip
    symbols = {formal.name: stands_for(env, formal, value) for formal, value in pairs}
    scope = (*env.scope, context.scopes + 1)  # that of the body, checked next
    for symbol in symbols.values():
        if symbol.view is not None:
            context.lives[symbol] = scope
            if symbol.view.source in context.flights:
                context.flights.add(symbol)
    batch = tuple(step for step in env.path if step.kind == "batch")  # a call in a batch of wgmmas is part of it
    return Env(context, bound, symbols, {}, path=batch, scope=env.scope), symbols


def referent(value: tree.Expr | tree.Symbol) -> tree.Symbol | None:
    """Return the array, the fragment or the tensor map that an argument is; None for numbers and memory."""
    if isinstance(value, tree.Var) and isinstance(value.type, Array | Fragment | TensorMap):
        return value.symbol
    return None


def stands_for(env: Env, formal: tree.Symbol, value: tree.Expr | tree.Symbol) -> tree.Symbol:
    """Return what a parameter's name means in the body."""
    if isinstance(value, tree.Symbol):
        view = make_view(env, value, formal.perspective, None, "check", ownership.PartitionOffset)
        return replace(formal, parameter=False, view=replace(view, alias=True))
    return referent(value) or replace(formal, parameter=False)


def assemble(
    env: Env, e: s.Call, pairs: list[Given], symbols: Mapping[str, tree.Symbol], made: tree.Inlined, body: tree.Body
) -> tuple[tree.Stmt, ...]:
    """Return the body inside its aliases, entered as by a group, behind the declarations of its numbers."""
    before: list[tree.Stmt] = []
    inlined: tree.Inlined | None = made
    for formal, value in pairs:
        symbol = symbols[formal.name]
        if symbol.view is not None and symbol.view.alias and isinstance(value, tree.Symbol):
            body = (tree.Partition(view=symbol, code=made.bound.code, body=body, inlined=inlined, span=e.span),)
            inlined = None
        elif not isinstance(value, tree.Symbol) and referent(value) is None:
            before.append(tree.Declare(symbol=symbol, value=value, span=e.span))
    if made.bound.code != env.code:
        body = (tree.Group(unit=made.bound.code, code=env.code, body=body, span=e.span),)
    return (*before, *body)
