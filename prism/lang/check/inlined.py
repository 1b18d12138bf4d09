"""Functions that take a whole shared tile, a ring or roles: each call is compiled into its caller.

How a tile lies in its bytes, whether it is a copy of a ring, whose turn that is, and what copies to it are under way belong to
its declaration, and barriers and waits are inferred for a function as a whole. So a call of such a function becomes the
function's body, with its parameters declared before it: numbers as variables, memory as aliases. Rings, arrays, fragments and
tensor maps keep their symbols; a role is the caller's, by another name.
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
    origins,
)
from prism.lang.check.body import check_body
from prism.lang.check.data import flat_view, make_view
from prism.lang.check.env import (
    Context,
    Env,
    Functions,
    Meaning,
    Nested,
    Poisoned,
    Role,
    Step,
    constant,
    declaration_label,
    fail,
)
from prism.lang.check.expressions import rank, tile_type, visible
from prism.lang.check.nested import kind_of, reason
from prism.lang.check.pieces import Piece, check_piece, piece_view, tile_of
from prism.lang.check.purity import evaluated_expressions, loaded_for_several, reads_only
from prism.lang.check.rings import no_ring
from prism.lang.check.roles import check_code, size_of
from prism.lang.check.signature import check_parameter, check_requires, check_result
from prism.lang.diagnostics import CompileError, Fields, Label, source_text
from prism.lang.errors import calls as call_errors
from prism.lang.errors import inlined as errors
from prism.lang.errors import ownership
from prism.lang.errors import roles as role_errors
from prism.lang.errors import types as type_errors
from prism.lang.parse import syntax as s
from prism.lang.tree.walk import statements, subexpressions
from prism.lang.types import VOID, Array, Fragment, Pointer, TensorMap
from prism.lang.types.perspective import Bound

Formal = tree.Symbol | Role
Value = tree.Expr | tree.Symbol | Piece | Role
Given = tuple[Formal, Value]
"""A parameter, and its value, the memory that it stands for, a part of a tile, or the role."""


def compile_in(
    env: Env, e: s.Call, kernel: surface.Kernel, passed: Passed, template: Mapping[str, object]
) -> tuple[tuple[tree.Stmt, ...], tree.Expr | None]:
    """Return what a call becomes: R13 to R15 as for any call; then the body, checked by the signature, where it stands.

    And the value that it has then, if the function gives one.
    """
    session = env.context.resolve
    with session.open_instance(kernel, template, e.span):
        function = session.instance(kernel, template)
        bound = check_signature(session, kernel, function, template)
        formals = tuple(read_formal(p, kernel, bound) for p in function.parameters)
    check_bound(env, function, bound, cooperative=kernel.cooperative, call=e)
    given = fill_defaults(formals, passed, e)
    pairs = [(formal, given_to(env, kernel, formal, actual)) for formal, actual in zip(formals, given, strict=True)]
    check_distinct(kernel, pairs, given)
    with session.open_instance(kernel, template, e.span):
        symbols = {formal.name: stands_for(env, formal, value) for formal, value in pairs}
        own = tuple(symbol for symbol in symbols.values() if isinstance(symbol, tree.Symbol))
        made = tree.Inlined(kernel.__name__, bound, own, template, function.span, e.span, env.context.inlined)
        inner = enter_inlined(env, kernel, function, made, pairs, symbols)
        # It is said of its statements that they are of the function's text; those of functions that it calls say so already.
        body = check_body(inner, function.body)
        body = tuple(replace(s, inlined=made) if s.inlined is None else s for s in body)
        env.context.scopes = inner.context.scopes
        if inner.context.errors:
            raise CompileError(*inner.context.errors)
        if inner.context.silent:
            raise Poisoned
        if inner.context.result not in (None, VOID) and inner.context.value is None:
            text = f"{inner.context.result} @ {inner.context.result_perspective}"
            fail(call_errors.ReturnMissing(span=function.span, name=function.name, result=text))
    check_trust(kernel, pairs, symbols, given, body)
    return assemble(env, e, pairs, symbols, made, body, inner.context)


def take_value(
    env: Env, e: s.Call, kernel: surface.Kernel, passed: Passed, template: Mapping[str, object]
) -> tree.Expr:
    """Return the value of a call that is compiled in, whose body stands before the statement that takes it."""
    expansion = env.context.expansion
    why = reason(env.context.resolve, kernel, template)
    if expansion is None:
        fail(errors.InlinedValue(span=e.span, name=kernel.__name__, why=why))
    body, value = compile_in(env, e, kernel, passed, template)
    if value is None:
        fail(type_errors.NoValue(span=e.span, name=kernel.__name__))
    if e is not expansion.whole and not is_quiet(body):
        fail(errors.InlinedOrder(span=e.span, name=kernel.__name__, why=why))
    expansion.before.extend(body)
    expansion.values[e] = value
    return value


def check_signature(
    session: Functions, kernel: surface.Kernel, function: s.Function, template: Mapping[str, object]
) -> Bound:
    """Return the bound of a function that is compiled in: its text is Prism, and it has no memory limit."""
    span = dict(function.decorators).get("requires", function.span)
    facts: Fields = {"name": function.name, "why": reason(session, kernel, template)}
    if kernel.external is not None or (function.extern and not isinstance(kernel, Nested)):
        fail(errors.InlinedExtern(span=function.span, **facts))
    if kernel.smem is not None:
        fail(errors.InlinedLimit(span=span, **facts))
    return check_requires(kernel, function, template, span)


def read_formal(parameter: s.Parameter, kernel: surface.Kernel, bound: Bound) -> Formal:
    """Return a parameter's symbol; of `loader: roles(warp, 1)`, the role that it is in the body, but for where it starts."""
    e = parameter.annotation
    if kind_of(e)[1] != "the role":
        return check_parameter(parameter, kernel.kind)
    if parameter.default is not None:
        problem = "is a role, which has no default"
        fail(call_errors.ParameterDefault(span=parameter.default.span, name=parameter.name, problem=problem))
    if parameter.place is not None:
        at = parameter.place.span
        fail(role_errors.RolePlace(span=at, name=parameter.name, place=source_text(at)))
    assert isinstance(e, s.Call)
    level, size = size_of(e)
    code, have = bound.code, bound.entry(level.level)
    return Role(parameter.name, parameter.span, level.level, 0, size, code, have, level.scale)


# -- arguments ------------------------------------------------------------------------------------------------------------


def given_to(env: Env, kernel: surface.Kernel, formal: Formal, actual: s.Expr) -> Value:
    """R14, R15: return a typed argument; the symbol of memory; a role."""
    if isinstance(formal, Role):
        return check_role(env, kernel.__name__, formal, actual)
    if not isinstance(formal.type, Pointer):
        return check_argument(env, kernel.__name__, frozenset(), formal, actual)
    if formal.type.shape is not None:
        return check_tile(env, kernel.__name__, formal, actual)
    if formal.type.axes:
        return check_axes(env, kernel.__name__, formal, actual)
    value = check_argument(env, kernel.__name__, frozenset(), formal, actual)
    assert isinstance(value, tree.Var)
    return value.symbol


def check_tile(env: Env, name: str, formal: tree.Symbol, actual: s.Expr) -> tree.Symbol | Piece:
    """R15 CALL-PTR: a shared tile of this element, shape and swizzle, a ring of as many copies, or a part of a larger tile."""
    wanted = formal.type
    assert isinstance(wanted, Pointer)
    if tile_of(env, actual) is not None:
        return check_piece(env, name, formal, actual)
    symbol = visible(env, actual.name, actual.span, "open") if isinstance(actual, s.Name) else None
    if symbol is None or not isinstance(symbol.type, Pointer):
        mismatch(name, formal, actual, "an expression" if symbol is None else str(symbol.type))
    if not wanted.ring:
        no_ring(symbol, actual.span)
    given = tile_type(env, symbol)
    if given.shape is None and symbol.root().type.space == "shared":  # type: ignore[union-attr]
        return check_piece(env, name, formal, actual)
    if replace(given, const=False) != replace(wanted, const=False):
        facts: Fields = {"parameter": formal.name, "name": name, "actual": symbol.name}
        labels = (declaration_label(symbol),)
        fail(errors.CallTile(span=actual.span, wanted=wanted, given=given, labels=labels, **facts))
    check_owners(name, formal, symbol, actual.span)
    if constant(env, symbol) is not None and not wanted.const:
        both = origins(formal, symbol)
        facts = {"parameter": formal.name, "name": name, "actual": symbol.name}
        fail(call_errors.CallConst(span=actual.span, labels=both, **facts))
    return Piece(symbol, (), ()) if symbol in env.context.pieces else symbol


def check_axes(env: Env, name: str, formal: tree.Symbol, actual: s.Expr) -> tree.Symbol:
    """R15 CALL-PTR: an array of this element, or a part of one, of as many axes."""
    wanted = formal.type
    assert isinstance(wanted, Pointer)
    symbol = visible(env, actual.name, actual.span, "open") if isinstance(actual, s.Name) else None
    if symbol is None or not isinstance(symbol.type, Pointer):
        mismatch(name, formal, actual, "an expression" if symbol is None else str(symbol.type))
    if not symbol.root().axes or symbol.type.element != wanted.element or rank(symbol) != wanted.axes:
        part = f"a part of {rank(symbol)} axes" if symbol.root().axes and symbol.view is not None else str(symbol.type)
        mismatch(name, formal, actual, part)
    check_owners(name, formal, symbol, actual.span)
    return symbol


def check_role(env: Env, name: str, formal: Role, actual: s.Expr) -> Role:
    """R3: a role of as many units as the parameter, of what the function's code divides."""
    if not isinstance(actual, s.Name):
        fail(role_errors.NotARole(span=actual.span, name=source_text(actual.span), found="an expression"))
    role = env.role(actual.name, actual.span)
    if role.unit != formal.unit:
        labels = (Label(formal.span, f"stands for {formal.unit}"), Label(role.span, f"`{role.name}` is {role.unit}"))
        facts: Fields = {"parameter": formal.name, "actual": role.name, "unit": role.unit, "needed": formal.unit}
        fail(role_errors.CallRole(span=actual.span, name=name, labels=labels, **facts))
    check_code(env, role, actual.span)
    if formal.code != env.code:
        labels = (Label(role.span, f"divides {role.code}"), Label(formal.span, f"divides {formal.code}"))
        facts = {"name": name, "role": role.name, "place": role.code, "code_perspective": formal.code}
        fail(role_errors.RoleOfCaller(span=actual.span, labels=labels, **facts))
    return role


def check_distinct(kernel: surface.Kernel, pairs: list[Given], given: tuple[s.Expr, ...]) -> None:
    """R21 HIDE: no memory has two names in a function that may write it."""
    seen: list[tuple[tree.Symbol, tree.Symbol]] = []
    for (formal, value), actual in zip(pairs, given, strict=True):
        value = value.source if isinstance(value, Piece) else value
        if not isinstance(value, tree.Symbol):
            continue
        assert isinstance(formal, tree.Symbol)
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
    symbols: Mapping[str, Meaning],
    given: tuple[s.Expr, ...],
    body: tree.Body,
) -> None:
    """R19 PTR-READ: global memory that is loaded once for several threads, as const, is const."""
    loaded = [symbol for part in evaluated_expressions(body) for symbol in loaded_for_several(part)]
    for (formal, value), actual in zip(pairs, given, strict=True):
        if not isinstance(value, tree.Symbol) or not isinstance(value.type, Pointer):
            continue
        alias = symbols[formal.name]
        assert isinstance(formal, tree.Symbol) and isinstance(alias, tree.Symbol)
        changing = value.type.space == "global" and not value.type.const and readonly(formal)
        if changing and any(is_alias(symbol, alias) for symbol in loaded):
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
    made: tree.Inlined,
    pairs: list[Given],
    symbols: Mapping[str, Meaning],
) -> Env:
    """Return the environment of the body: the function's bound, and its parameters' names alone.

    A function that is defined inside another one has the names around it, too, and is where it is called.
    """
    last = function.body[-1] if function.body else None
    context = replace(
        env.context, kernel=kernel, template=made.template, into=env.context.host, inlined=made,
        why=reason(env.context.resolve, kernel, made.template), errors=[], silent=False, entry=made.bound.code,
        first=env.context.first or env.context.entry, result=None, result_perspective=None, result_declared=False,
        last=last if isinstance(last, s.Return) and last.value is not None else None, value=None,
        bound_span=dict(function.decorators).get("requires"), fixed={**env.context.fixed, **fixed_by(pairs)},
    )  # fmt: skip
    check_result(context, function)
    if isinstance(context.result, Pointer):
        assert function.result is not None
        fail(errors.InlinedResult(span=function.result.span, name=function.name, why=context.why))
    scope = (*env.scope, context.scopes + 1)  # that of the body, checked next
    hidden = dict(env.hidden)
    for symbol in symbols.values():
        if isinstance(symbol, tree.Symbol) and symbol.view is not None and symbol.view.alias:
            context.lives[symbol] = scope
            if symbol.view.source in context.flights:
                context.flights.add(symbol)
            if not readonly(symbol):
                hidden[symbol.view.source] = symbol
    if not isinstance(kernel, Nested):
        batch = tuple(step for step in env.path if step.kind == "batch")  # a call in a batch of wgmmas is part of it
        return Env(context, made.bound, symbols, hidden, batch, env.scope, (*env.outside, *env.path))
    context.entry, context.template = context.first, kernel.env.context.template
    inner = Env(context, env.bound, {**kernel.env.names, **symbols}, hidden, (*env.outside, *env.path), env.scope)
    if made.bound.code == env.code:
        return inner
    unit = made.bound.code
    return inner.enter(Step("group", made.call, unit, f"the call of {kernel.__name__}"), env.bound.narrow(unit))


def fixed_by(pairs: list[Given]) -> dict[tree.Symbol, tree.Symbol]:
    """Return what keeps its symbol and is not changed by a function, each with the parameter that says so."""
    consts = ((p, referent(value)) for p, value in pairs if isinstance(p, tree.Symbol) and (p.const or readonly(p)))
    return {symbol: p for p, symbol in consts if symbol is not None}


def referent(value: Value) -> tree.Symbol | None:
    """Return the ring, the array, the fragment or the tensor map that an argument is; None for numbers and other memory."""
    if isinstance(value, tree.Symbol) and isinstance(value.type, Pointer) and value.type.ring:
        return value
    if isinstance(value, tree.Var) and isinstance(value.type, Array | Fragment | TensorMap):
        return value.symbol
    return None


def stands_for(env: Env, formal: Formal, value: Value) -> tree.Symbol | Role:
    """Return what a parameter's name means in the body."""
    if isinstance(formal, Role):
        assert isinstance(value, Role)
        return replace(formal, first=value.first)
    if isinstance(value, Piece):
        made, wanted = piece_view(formal, value), formal.type
        assert isinstance(wanted, Pointer)
        env.context.pieces[made] = wanted
        return made
    if isinstance(value, tree.Symbol) and referent(value) is None:
        plain = isinstance(formal.type, Pointer) and formal.type.shape is None and not formal.type.axes
        if plain and value.view is None and rank(value) > 1:
            view = flat_view(value, formal.perspective)
        else:
            view = make_view(env, value, formal.perspective, None, "check", ownership.PartitionOffset)
        return replace(formal, parameter=False, view=replace(view, alias=True), axes=())
    return referent(value) or replace(formal, parameter=False)


def assemble(
    env: Env,
    e: s.Call,
    pairs: list[Given],
    symbols: Mapping[str, Meaning],
    made: tree.Inlined,
    body: tree.Body,
    context: Context,
) -> tuple[tuple[tree.Stmt, ...], tree.Expr | None]:
    """Return the body inside its aliases, entered as by a group, behind the declarations of its numbers; and its value."""
    before: list[tree.Stmt] = []
    aliases: list[tree.Symbol] = []
    for formal, value in pairs:
        symbol = symbols[formal.name]
        if not isinstance(symbol, tree.Symbol) or referent(value) is not None:
            continue
        if isinstance(value, tree.Symbol | Piece):
            aliases.append(symbol)
            before += value.before if isinstance(value, Piece) else ()
        elif not isinstance(value, Role):
            before.append(tree.Declare(symbol=symbol, value=value, span=e.span))
    narrower = made.bound.code != env.code
    found = context.value
    if found is not None and (aliases or narrower or not is_settled(found, (*before, *body))):
        place = context.result_perspective or found.perspective
        place = place if place <= env.code else env.code
        symbol = tree.Symbol(f"{made.name}_result", found.type, place, made.span)
        result = tree.Var(symbol=symbol, type=found.type, perspective=place, span=e.span)
        if aliases or narrower:
            before.append(tree.Declare(symbol=symbol, value=None, span=e.span))
            body = (*body, tree.Assign(target=result, value=found, span=found.span, inlined=made))
        else:
            body = (*body, tree.Declare(symbol=symbol, value=found, span=found.span, inlined=made))
        found = result
    for symbol in aliases:
        body = (tree.Partition(view=symbol, code=made.bound.code, body=body, span=e.span),)
    if narrower:
        body = (tree.Group(unit=made.bound.code, code=env.code, body=body, span=e.span),)
    return (*before, *body), found


def is_settled(value: tree.Expr, before: tree.Body) -> bool:
    """Whether a value is the same wherever it is evaluated from here on: of constants, and of what the body alone declares."""
    own = {s.symbol for s in before if isinstance(s, tree.Declare)}
    for part in subexpressions(value):
        named = isinstance(part, tree.Var | tree.Item) and part.symbol not in own
        if (
            named
            or isinstance(part, tree.Element | tree.Call | tree.Place)
            or (isinstance(part, tree.Apply) and not part.intrinsic.elementwise)
        ):
            return False
    return True


def is_quiet(body: tree.Body) -> bool:
    """Whether it does not matter when statements are executed, beside the other parts of one statement: they only compute."""
    every = tuple(statements(body))
    own = {s.symbol for s in every if isinstance(s, tree.Declare | tree.For)}
    for statement in every:
        match statement:
            case tree.Declare() | tree.If() | tree.While() | tree.For() | tree.Group() | tree.Break() | tree.Continue():
                pass
            case tree.Evaluate() | tree.Assume() | tree.Distinct():
                pass
            case tree.Assign(target=tree.Var(symbol=symbol) | tree.Item(symbol=symbol)) if symbol in own:
                pass
            case tree.Partition(view=view) if view.view is not None and view.view.alias:
                pass
            case _:
                return False
        if not all(reads_only(part) for e in tree.expressions(statement) for part in subexpressions(e)):
            return False
    return True
