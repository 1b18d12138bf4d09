"""Arguments of calls: the bound (R13), numbers (R14), memory, arrays and maps (R15); inlined.py has whole shared tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn, TypeAlias

from prism.lang import tree
from prism.lang.check.axes import refuse_pointer
from prism.lang.check.conversion import coerce
from prism.lang.check.env import Env, Role, constant, evidence, fail, refuse_bound, why_here
from prism.lang.check.expressions import check_value, flatten, rank, visible
from prism.lang.diagnostics import Fields, Label, Span, source_text
from prism.lang.errors import calls as errors
from prism.lang.errors import ownership
from prism.lang.errors import tiles as tile_errors
from prism.lang.facts.contiguous import shifts
from prism.lang.parse import syntax as s
from prism.lang.types import Array, Fragment, Pointer, TensorMap, Vector
from prism.lang.types.perspective import BLOCK, Bound, Level, Perspective

Passed: TypeAlias = tuple[s.Expr | None, ...]
"""The arguments of a call in the parameters' order; None for what has a default, and is left out."""


def fill_defaults(formals: Sequence[tree.Symbol | Role], given: Passed, call: s.Call) -> tuple[s.Expr, ...]:
    """Return the arguments, with the defaults of those that are left out, as if they were written in the call."""
    filled: list[s.Expr] = []
    for formal, actual in zip(formals, given, strict=True):
        if actual is None:
            assert isinstance(formal, tree.Symbol) and formal.default is not None
            actual = s.Literal(value=formal.default, span=call.span)
        filled.append(actual)
    return tuple(filled)


def check_argument(env: Env, name: str, trusts: frozenset[str], formal: tree.Symbol, actual: s.Expr) -> tree.Expr:
    """R14 CALL-SCALAR for numbers, R15 CALL-PTR for memory; arrays go by reference, at exactly the formal's perspective.

    `name` is the function's; `trusts` its parameters whose memory nobody may write meanwhile.
    """
    if isinstance(formal.type, Pointer):
        return check_pointer(env, name, trusts, formal, actual)
    if isinstance(formal.type, Array | Fragment):
        return check_array(env, name, formal, actual)
    if isinstance(formal.type, TensorMap):
        return check_map(env, name, formal, actual)
    value = check_value(env, actual, formal.perspective, formal.type)
    if isinstance(formal.type, Vector) or isinstance(value.type, Vector):
        if value.type != formal.type:
            mismatch(name, formal, actual, str(value.type))
    else:
        value = coerce(value, formal.type, actual.span)
    if not formal.perspective <= value.perspective:
        facts = evidence(value, formal.perspective, Label(formal.span, f"declared @ {formal.perspective}"))
        fail(errors.CallScalar(parameter=formal.name, name=name, needed=formal.perspective, **facts))
    return value


def mismatch(name: str, formal: tree.Symbol, actual: s.Expr, found: str) -> NoReturn:
    """Fail: an argument of another type."""
    hint = "pass an array, pointer or value of that type"
    facts: Fields = {"parameter": formal.name, "name": name, "wanted": str(formal.type), "found": found, "hint": hint}
    fail(errors.CallType(span=actual.span, labels=(Label(formal.span, "declared here"),), **facts))


def check_pointer(env: Env, name: str, trusts: frozenset[str], formal: tree.Symbol, actual: s.Expr) -> tree.Expr:
    """R15 CALL-PTR: a pointer's elements lie side by side, and are not swizzled."""
    wanted = formal.type
    assert isinstance(wanted, Pointer)
    if not isinstance(actual, s.Name):
        check_no_element(env, name, formal, actual)
        mismatch(name, formal, actual, "an expression")
    symbol = visible(env, actual.name, actual.span)
    if not isinstance(symbol.type, Pointer) or symbol.type.element != wanted.element:
        mismatch(name, formal, actual, str(symbol.type))
    if symbol.root().axes:
        refuse_pointer(name, formal, symbol, actual.span)
    check_owners(name, formal, symbol, actual.span)
    if formal.name in trusts and symbol.type.space == "global" and not symbol.type.const:
        not_trusted(name, formal, symbol, actual.span)
    refuse_swizzle(symbol, actual.span, tile_errors.SwizzlePointer)
    refuse_spread(symbol, actual.span, tile_errors.ClusterPointer)
    if not shifts(symbol):
        fail(errors.CallLambda(span=actual.span, actual=symbol.name, labels=(Label(symbol.span, "made here"),)))
    return tree.Var(symbol=symbol, type=symbol.type, perspective=symbol.perspective, span=actual.span)


def check_no_element(env: Env, name: str, formal: tree.Symbol, actual: s.Expr) -> None:
    """`f(s[r])`, `f(s[r, c])`: an element is a number; what begins there is a part, and gets a name by a partition."""
    if not isinstance(actual, s.Subscript):
        return
    base, indices = flatten(actual)
    if not isinstance(base, s.Name) or base.name not in env.names:
        return
    symbol = visible(env, base.name, base.span)
    if not isinstance(symbol.type, Pointer):
        return
    texts = [source_text(index.span) for index in indices]
    rows, first = (texts, "0") if len(texts) < rank(symbol) else (texts[:-1], texts[-1])
    column = "i" if first == "0" else f"{first} + i"
    index = f"({', '.join([*rows, column])})" if rows else column
    facts: Fields = {"parameter": formal.name, "memory": base.name, "unit": formal.perspective, "index": index}
    fail(errors.CallElement(span=actual.span, name=name, labels=origins(formal, symbol), **facts))


def check_owners(name: str, formal: tree.Symbol, symbol: tree.Symbol, span: Span) -> None:
    """R15 CALL-PTR: memory that may be written is of exactly the formal's perspective; const memory at least of it."""
    wanted, given = formal.type, symbol.type
    assert isinstance(wanted, Pointer) and isinstance(given, Pointer)
    facts: Fields = {"span": span, "parameter": formal.name, "name": name, "actual": symbol.name}
    facts["labels"] = origins(formal, symbol)
    if given.const and not wanted.const:
        fail(errors.CallConst(**facts))
    if wanted.const and not formal.perspective <= symbol.perspective:
        fail(errors.CallPointerNarrow(**facts, needed=formal.perspective, has=symbol.perspective))
    if not wanted.const and formal.perspective != symbol.perspective:
        fail(errors.CallPointer(**facts, needed=formal.perspective, has=symbol.perspective))


def origins(formal: tree.Symbol, symbol: tree.Symbol) -> tuple[Label, Label]:
    """Return labels for a parameter and for what it is given."""
    return (
        Label(formal.span, f"declared @ {formal.perspective}"),
        Label(symbol.span, f"`{symbol.name}` lives at {symbol.perspective}"),
    )


def not_trusted(name: str, formal: tree.Symbol, symbol: tree.Symbol, span: Span) -> NoReturn:
    """Fail: memory that others may write, where the function loads it once for several threads."""
    facts: Fields = {"name": name, "parameter": formal.name, "memory": symbol.name}
    fail(ownership.LoadTrusting(span=span, labels=origins(formal, symbol), **facts))


def refuse_swizzle(symbol: tree.Symbol, span: Span, error: type[tile_errors.SwizzlePointer]) -> None:
    """A pointer knows nothing of a swizzle: no swizzled tile decays to one."""
    root = symbol.root()
    if isinstance(root.type, Pointer) and root.type.swizzle:
        label = Label(root.span, f"`{root.name}` is declared here")
        fail(error(span=span, actual=symbol.name, swizzle=root.type.swizzle, labels=(label,)))


def refuse_spread(symbol: tree.Symbol, span: Span, error: type[tile_errors.ClusterPointer]) -> None:
    """A pointer knows nothing of blocks: no object of a cluster decays to one, nor does a part of it."""
    root = symbol.root()
    if isinstance(root.type, Pointer) and root.type.shape is not None and root.perspective > BLOCK:
        label = Label(root.span, f"`{root.name}` is declared here")
        fail(error(span=span, actual=symbol.name, blocks=root.perspective.size, labels=(label,)))


def check_map(env: Env, name: str, formal: tree.Symbol, actual: s.Expr) -> tree.Expr:
    """A tensor map goes by reference, to a parameter of the same type; a const one to a const one."""
    symbol = visible(env, actual.name, actual.span) if isinstance(actual, s.Name) else None
    if symbol is None or symbol.type != formal.type:
        mismatch(name, formal, actual, "an expression" if symbol is None else str(symbol.type))
    if constant(env, symbol) is not None and not formal.const:
        labels = origins(formal, symbol)
        fail(errors.CallConst(span=actual.span, parameter=formal.name, name=name, actual=symbol.name, labels=labels))
    return tree.Var(symbol=symbol, type=symbol.type, perspective=symbol.perspective, span=actual.span)


def check_array(env: Env, name: str, formal: tree.Symbol, actual: s.Expr) -> tree.Expr:
    """An array goes by reference: its owners are exactly those that the callee writes for."""
    if not isinstance(actual, s.Name):
        mismatch(name, formal, actual, "an expression")
    symbol = visible(env, actual.name, actual.span)
    if symbol.type != formal.type:
        mismatch(name, formal, actual, str(symbol.type))
    facts: Fields = {"span": actual.span, "parameter": formal.name, "name": name, "actual": symbol.name}
    if constant(env, symbol) is not None and not formal.const:
        fail(errors.CallConst(**facts, labels=origins(formal, symbol)))
    if symbol.perspective != formal.perspective:
        facts |= {"needed": formal.perspective, "has": symbol.perspective, "labels": origins(formal, symbol)}
        fail(errors.CallArray(**facts))
    return tree.Var(symbol=symbol, type=symbol.type, perspective=symbol.perspective, span=actual.span)


# -- the bound ------------------------------------------------------------------------------------------------------------


def check_bound(
    env: Env, function: tree.Function | s.Function, bound: Bound, *, cooperative: bool, call: s.Call
) -> None:
    """R13 CALL-BOUND: every entry of the callee's bound can be had here; the broadest is entered as by a group."""
    for level in (Level.GRID, Level.BLOCK, Level.THREAD):
        size = bound.entry(level)
        if size is not None and not env.bound.allows(Perspective(level, size)):
            labels = (*why_here(env), Label(function.span, f"`{function.name}` requires {bound}"))
            refuse_bound(env, function.name, Perspective(level, size), call.span, labels)
    caller = env.context.kernel
    if cooperative and not caller.cooperative:
        labels = (Label(function.span, f"`{function.name}` requires it"),)
        fail(errors.CallCooperative(span=call.span, name=function.name, caller=caller.__name__, labels=labels))
