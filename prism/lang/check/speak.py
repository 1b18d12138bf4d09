"""`assert_(condition, "text")` and `print_("format", values...)`: once for each unit that the code speaks for. And `assume`."""

from __future__ import annotations

import functools
import re

from prism.lang import surface, tree
from prism.lang.check.elements import construct_of
from prism.lang.check.env import Env, fail
from prism.lang.check.expressions import check_scalar, must_agree, need_bool
from prism.lang.check.signature import show
from prism.lang.diagnostics import source_text
from prism.lang.errors import demands
from prism.lang.errors import types as errors
from prism.lang.parse import syntax as s
from prism.lang.tree.walk import subexpressions
from prism.lang.types.perspective import THREAD, Level, Perspective, meet

_FIELDS = re.compile(r"\{\{|\}\}|\{\}|[{}]")


def speaks(e: s.Expr) -> bool:
    """Whether an expression is `static_assert(...)`, `assert_(...)`, `assume(...)`, `print_(...)` or `breakpoint()`."""
    duration = (surface.static_assert, surface.assert_, surface.assume, surface.print_, surface.BREAKPOINT)
    return isinstance(e, s.Call) and construct_of(e) in duration


def check_speech(env: Env, e: s.Call) -> tuple[tree.Stmt, ...]:
    """Type one of these statements; a demand of constants leaves nothing."""
    if construct_of(e) is surface.static_assert:
        check_demand(env, e)
        return ()
    return (_spoken(env, e),)


def check_demand(env: Env, e: s.Call) -> None:
    """`static_assert`: the condition is made of constants, and holds."""
    text = literal(e.arguments[1]) if len(e.arguments) == 2 else None
    if text is None or e.keywords:
        fail(errors.Speech(span=e.span, name="static_assert", usage='static_assert(condition, "what must hold")'))
    held = check_scalar(env, e.arguments[0], env.code)
    if (threads := _of_block(held)) is not None:
        env.context.demands.append((threads, e.span))
        return
    if not isinstance(held, tree.Const):
        fail(demands.NoConstant(span=held.span))
    need_bool(held)
    if not held.value:
        condition = source_text(e.arguments[0].span)
        given = {
            name: show(value) for name, value in env.context.template.items() if re.search(rf"\b{name}\b", condition)
        }
        listed = ", ".join(f"{name}={value}" for name, value in given.items())
        fail(
            demands.Demand(span=e.span, text=text, condition=condition, given=listed, name=env.context.kernel.__name__)
        )


def _of_block(e: tree.Expr) -> int | None:
    """Return the number of `count(thread[1]) == number`, in a block's code: what its launch decides."""
    match e:
        case tree.Binary(op="==", left=tree.Count(unit=unit, code=code), right=tree.Const(value=value)):
            whole = code == Perspective(Level.BLOCK, 1) and unit == THREAD
            return int(value) if whole else None
        case _:
            return None


def _spoken(env: Env, e: s.Call) -> tree.Stmt:
    if construct_of(e) is surface.BREAKPOINT:
        if e.arguments or e.keywords:
            fail(errors.Speech(span=e.span, name="breakpoint", usage="breakpoint()", rest=""))
        return tree.Breakpoint(code=env.code, span=e.span)
    if construct_of(e) is surface.assume:
        return check_assume(env, e)
    return check_assert(env, e) if construct_of(e) is surface.assert_ else check_print(env, e)


def literal(e: s.Expr | None) -> str | None:
    """Return a literal text, or None."""
    return e.value if isinstance(e, s.Literal) and isinstance(e.value, str) else None


def check_assert(env: Env, e: s.Call) -> tree.Stmt:
    """R9 COND: the threads of the code's unit agree on the condition."""
    text = literal(e.arguments[1]) if len(e.arguments) == 2 else "" if len(e.arguments) == 1 else None
    if text is None or e.keywords:
        fail(errors.Speech(span=e.span, name="assert_", usage='assert_(condition, "what must hold")'))
    condition = need_bool(check_scalar(env, e.arguments[0], env.code))
    must_agree(env, condition, env.code, "`assert_`")
    return tree.Assert(condition=condition, text=text, code=env.code, span=e.span)


def check_assume(env: Env, e: s.Call) -> tree.Stmt:
    """Each thread that comes here has a condition of its own; it is a function of values, for it is never computed on a GPU."""
    if len(e.arguments) != 1 or e.keywords:
        fail(errors.Speech(span=e.span, name="assume", usage="assume(condition)", rest=""))
    if isinstance(e.arguments[0], s.Call) and construct_of(e.arguments[0]) is surface.distinct:
        return check_distinct(env, e, e.arguments[0])
    condition = need_bool(check_scalar(env, e.arguments[0], env.code))
    found = next((part for part in subexpressions(condition) if not _plain(part)), None)
    if found is not None:
        fail(errors.AssumedMemory(span=found.span))
    return tree.Assume(condition=condition, code=env.code, span=e.span)


def check_distinct(env: Env, e: s.Call, claim: s.Call) -> tree.Stmt:
    """`assume(distinct(values))`: integers; it is claimed of the units that agree on all of them, of a level below the grid."""
    if not claim.arguments or claim.keywords:
        fail(errors.Speech(span=claim.span, name="distinct", usage="assume(distinct(value))", rest=""))
    values = tuple(check_scalar(env, value, env.code) for value in claim.arguments)
    for value in values:
        if not (isinstance(value.type, tree.Scalar) and value.type.integral):
            fail(errors.DistinctValue(span=value.span, type=str(value.type)))
        found = next((part for part in subexpressions(value) if not _plain(part)), None)
        if found is not None:
            fail(errors.AssumedMemory(span=found.span))
    unit = functools.reduce(meet, (value.perspective for value in values))
    if unit.level == Level.GRID:
        fail(errors.DistinctNowhere(span=claim.span))
    return tree.Distinct(values=values, unit=unit, code=env.code, span=e.span)


def _plain(e: tree.Expr) -> bool:
    """Whether an expression itself only computes, from values and indices of units."""
    if isinstance(e, tree.Call):
        return e.function.pure
    return not isinstance(e, tree.Element) and not (isinstance(e, tree.Apply) and not e.intrinsic.elementwise)


def check_print(env: Env, e: s.Call) -> tree.Stmt:
    """Each `{}` of the format is one value, on which the threads of the code's unit agree."""
    form = literal(e.arguments[0]) if e.arguments else None
    if form is None or e.keywords:
        fail(errors.Speech(span=e.span, name="print_", usage='print_("x = {}", x)'))
    pieces = tuple(_pieces(form))
    if any(piece in ("{", "}") for piece in pieces) or pieces.count("{}") != len(e.arguments) - 1:
        fail(errors.PrintFields(span=e.span, fields=pieces.count("{}"), given=len(e.arguments) - 1))
    values = tuple(check_scalar(env, value, env.code) for value in e.arguments[1:])
    for value in values:
        must_agree(env, value, env.code, "`print_`")
    texts = tuple({"{{": "{", "}}": "}"}.get(piece, piece) if piece != "{}" else None for piece in pieces)
    return tree.Print(texts=texts, values=values, code=env.code, span=e.span)


def _pieces(form: str) -> list[str]:
    """Return a format's texts and fields, in order."""
    found, at = [], 0
    for field in _FIELDS.finditer(form):
        found += [form[at : field.start()], field[0]]
        at = field.end()
    return [piece for piece in (*found, form[at:]) if piece]
