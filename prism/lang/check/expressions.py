"""Expressions: types, and the perspective that a value lives at: the meet of what it was made of (R7, R19)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from prism.lang import tree
from prism.lang.check.conversion import (
    STORED,
    both_integers,
    common_type,
    convert,
    fit,
    fit_float,
    holds,
    shift_count,
    whole_numbers,
)
from prism.lang.check.env import Env, changing, declaration_label, describe, evidence, fail, in_parts, why_here
from prism.lang.check.purity import touches_memory
from prism.lang.check.rings import check_opened
from prism.lang.check.table import check_expression, expression_rule
from prism.lang.check.vector_arithmetic import vector_binary, vector_negative
from prism.lang.diagnostics import Label, Span, source_text
from prism.lang.errors import calls as call_errors
from prism.lang.errors import names, ownership, tiles
from prism.lang.errors import perspective as rules
from prism.lang.errors import types as errors
from prism.lang.parse import syntax as s
from prism.lang.types import (
    BOOL,
    FLOAT32,
    INT32,
    INT64,
    UINT64,
    Array,
    Fragment,
    Mailbox,
    Pointer,
    Scalar,
    TensorMap,
    Type,
    Vector,
)
from prism.lang.types.perspective import GRID, THREAD, Perspective, meet
from prism.lang.types.structs import Struct

COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
TEXT = "text stands only where an intrinsic asks for a keyword"
INFINITE = "write `math.inf` or `math.nan`, with `import math` at the top of the file"


def check_value(env: Env, e: s.Expr, target: Perspective, want: Type | None = None) -> tree.Expr:
    """Return a typed expression that is a number or vector: not a whole array, pointer or nothing."""
    value = check_expression(env, e, target, want)
    if isinstance(value.type, TensorMap):
        fail(tiles.MapUse(span=e.span, name=value.symbol.name if isinstance(value, tree.Var) else "this"))
    if isinstance(value.type, Array | Fragment | Pointer):
        name = value.symbol.name if isinstance(value, tree.Var) else "this"
        fail(errors.WholeArray(span=e.span, name=name, type=str(value.type), use="used"))
    if not isinstance(value.type, Scalar | Vector):
        what = getattr(value, "function", None) or getattr(value, "intrinsic", None)
        name = "it" if what is None else what.name
        fail(errors.NoValue(span=e.span, name=name))
    return value


def check_scalar(env: Env, e: s.Expr, target: Perspective, want: Type | None = None) -> tree.Expr:
    """Return a typed expression that is one number."""
    return one_number(check_value(env, e, target, want), e.span)


def one_number(value: tree.Expr, span: Span) -> tree.Expr:
    """Return the value where it is one number."""
    if not isinstance(value.type, Scalar) or isinstance(value.type, Struct):
        hint = "take one component, `v[0]`"
        if isinstance(value.type, Struct):
            hint = f"take a field, as `.{value.type.names[0]}`: structs have no operators"
        fail(errors.Mismatch(span=span, expected="a scalar", found=str(value.type), hint=hint))
    return value


def number_or_vector(env: Env, e: s.Expr, target: Perspective, want: Type | None) -> tree.Expr:
    """Return a typed operand of arithmetic."""
    value = check_value(env, e, target, want)
    return value if isinstance(value.type, Vector) else one_number(value, e.span)


def check_index(env: Env, e: s.Expr, target: Perspective) -> tree.Expr:
    """Return a typed integer."""
    value = check_scalar(env, e, target, INT32)
    no_effect(value)
    if not (isinstance(value.type, Scalar) and value.type.integral):
        hint = f"convert it: `int({source_text(e.span)})`"
        if value.type == BOOL:
            hint = f"a mask is an `if`: `if {source_text(e.span)}:`, and the element's own index in it"
        fail(errors.Mismatch(span=e.span, expected="an integer", found=str(value.type), hint=hint))
    return value


def no_effect(e: tree.Expr) -> None:
    """An index is repeated wherever a view is composed: it calls nothing that touches memory."""
    if touches_memory(e):
        fail(call_errors.IndexEffect(span=e.span))
    for part in tree.operands(e):
        no_effect(part)


# -- no values ---------------------------------------------------------------------------------------------------------------


@expression_rule(s.Resolved)
def check_resolved(env: Env, e: s.Resolved, target: Perspective, want: Type | None) -> tree.Expr:
    """An object of Python's is no value."""
    fail(errors.NotAValue(span=e.span, text=e.text, hint="call it, or use it in an annotation"))


NO_VALUES: dict[type[s.Expr], tuple[str, str]] = {
    s.Lambda: ("lambda", "a lambda stands only as the offset of a partition"),
    s.Braces: ("{...}", "braces stand only in an array's declaration, as `= {{0}}`"),
    s.Listed: ("[...]", "a list stands only as an array's value, `v: float32[2] = [a, b]` or `v = [a, b]`"),
    s.Tuple: ("(...)", "return one value, or declare a type for each"),
}


def refuse_value(env: Env, e: s.Expr, target: Perspective, want: Type | None) -> tree.Expr:
    """What stands only in certain places is no value."""
    text, hint = NO_VALUES[type(e)]
    fail(errors.NotAValue(span=e.span, text=text, hint=hint))


for kind in NO_VALUES:
    expression_rule(kind)(refuse_value)


# -- leaves ---------------------------------------------------------------------------------------------------------------


@expression_rule(s.Literal)
def literal_rule(env: Env, e: s.Literal, target: Perspective, want: Type | None) -> tree.Expr:
    """A literal stands for one value wherever it stands."""
    return check_literal(e, want)


def check_literal(e: s.Literal, want: Type | None) -> tree.Expr:
    """Type a literal: as wanted where it fits, else int (or int64) and float."""
    value = e.value
    if isinstance(value, str):
        hint = INFINITE if value.lstrip("+-").lower() in ("inf", "infinity", "nan") else TEXT
        fail(errors.NotAValue(span=e.span, text=repr(value), hint=hint))
    if isinstance(value, bool):
        return tree.Const(value=value, type=BOOL, span=e.span)
    scalar = want.element if isinstance(want, Vector) else want
    if isinstance(value, float):
        kind = scalar if isinstance(scalar, Scalar) and scalar.kind == "float" else FLOAT32
        return tree.Const(value=fit_float(value, kind, e.span), type=kind, span=e.span)
    if isinstance(scalar, Scalar) and scalar.kind == "float":
        return tree.Const(value=fit_float(as_float(value, e.span), scalar, e.span), type=scalar, span=e.span)
    if isinstance(scalar, Scalar) and scalar.integral:
        return tree.Const(value=fit(value, scalar, e.span), type=scalar, span=e.span)
    for kind in (INT32, INT64, UINT64):
        if holds(value, kind):
            return tree.Const(value=value, type=kind, span=e.span)
    fail(errors.LiteralRange(span=e.span, value=str(value), type="any integer type"))


def as_float(value: int, span: Span) -> float:
    """Return an integer as a float, or fail where it is larger than any."""
    try:
        return float(value)
    except OverflowError:
        fail(names.NotFinite(span=span))


@expression_rule(s.Name)
def check_name(env: Env, e: s.Name, target: Perspective, want: Type | None) -> tree.Expr:
    """Type a local's use (R21: not one that a partition or claim hides; R23: a claim's name in one arm)."""
    symbol = visible(env, e.name, e.span)
    return tree.Var(symbol=symbol, type=symbol.type, perspective=symbol.perspective, span=e.span)


def visible(env: Env, name: str, span: Span, use: str = "", indices: Sequence[s.Expr] = ()) -> tree.Symbol:
    """Return the symbol of a name that may be used here (R21, R23), and so (R24).

    `use`: `open` for the source of a scope, `copy` for the destination of an asynchronous copy, `load` for that of a load,
    `store` for an element that is written. `indices`: of the element that is meant.
    """
    symbol = env.lookup(name, span)
    labels: list[Label] = []
    now = symbol
    while (view := env.hidden.get(now)) is not None:
        labels.append(Label(view.span, f"`{now.name}` goes by this name here"))
        now = view
    if now is not symbol:
        other = ownership.HiddenStore if use == "store" else ownership.HiddenRead
        kind = other if indices and not may_be_own(now, indices) else ownership.Hidden
        fail(kind(span=span, name=name, view=now.name, meaning=part_of(now), labels=tuple(labels)))
    check_opened(env, symbol, span, use)
    if symbol.view is not None:
        check_claimed(env, symbol, span)
    return symbol


def part_of(symbol: tree.Symbol) -> str:
    """Say which elements a part has, `: part[i] is x[offset + i]`; nothing where its text is not on one line."""
    view = symbol.view
    if view is None or (isinstance(view.source.type, Pointer) and view.source.type.ring):
        return ""
    names = [param.name for param in view.params]
    places = names
    if view.offset is not None:
        offset = source_text(view.offset[1].span)
        names = [next(n for n in (names[0], *"kejmn", "place") if not re.search(rf"\b{n}\b", offset))]
        places = [f"{offset} + {names[0]}"]
    elif not all(isinstance(index, tree.Var) for index in view.index):
        places = [source_text(index.span) for index in view.index]
    if any("..." in place for place in places):
        return ""
    return f": `{symbol.name}[{', '.join(names)}]` is `{view.source.name}[{', '.join(places)}]`"


def may_be_own(symbol: tree.Symbol, indices: Sequence[s.Expr]) -> bool:
    """Whether elements of a part's source, by their text, may be the unit's own: of a thread those at its offset, or behind."""
    view = symbol.view
    if view is None or view.unit != THREAD:
        return True
    if view.offset is not None:
        starts: list[str | None] = [source_text(view.offset[1].span)]
    elif all(isinstance(index, tree.Var) for index in view.index):
        return True
    else:
        starts = [
            start_of(source_text(index.span), param.name) for index, param in zip(view.index, view.params, strict=False)
        ]
    if len(starts) != len(indices) or len(view.params) != len(indices):
        return True
    texts = [source_text(index.span) for index in indices]
    return all(
        start is not None and (not start or text == start or text.startswith(f"{start} + "))
        for start, text in zip(starts, texts, strict=True)
    )


def start_of(index: str, param: str) -> str | None:
    """Return where a part starts, by an index that adds its parameter to that; None of any other index."""
    if index == param:
        return ""
    found = re.fullmatch(rf"(?P<before>.+) \+ {param}|{param} \+ (?P<after>.+)", index)
    return None if found is None else found["before"] or found["after"]


def check_claimed(env: Env, symbol: tree.Symbol, span: Span) -> None:
    """R23 CLAIM-ONE: a claimed name is used in one arm only, of exactly the claim's unit, and under no group outside it.

    One that a role claims is used in arms of that role.
    """
    start = max(
        (i for i, step in enumerate(env.path) if step.kind == "claim" and step.span == symbol.span), default=None
    )
    if start is None:
        return
    unit, role = symbol.perspective, env.path[start].role
    arm = None
    for step in env.path[start + 1 :]:
        if step.kind == "group" and arm is None:
            labels: tuple[Label, ...] = (Label(step.span, "all units run this"),)
            fail(ownership.ClaimGroup(span=span, name=symbol.name, unit=unit, labels=labels))
        if step.kind == "arm" and step.unit == unit:
            arm = step
            break
    if role is not None and not (arm is not None and arm.role is not None and arm.role.is_like(role)):
        labels = (declaration_label(symbol), *(() if arm is None else (Label(arm.span, "another arm"),)))
        fail(ownership.ClaimRole(span=span, name=symbol.name, role=role.name, labels=labels))
    if arm is None:
        fail(ownership.ClaimNoArm(span=span, name=symbol.name, unit=unit, labels=(declaration_label(symbol),)))
    first = env.context.claims.setdefault(symbol, arm)
    if first is not arm and role is None:
        labels = (Label(first.span, "used by this arm first"), declaration_label(symbol))
        fail(ownership.ClaimTwice(span=span, name=symbol.name, unit=unit, labels=labels))


# -- operators ------------------------------------------------------------------------------------------------------------


@expression_rule(s.Unary)
def check_unary(env: Env, e: s.Unary, target: Perspective, want: Type | None) -> tree.Expr:
    """`-x`, `~x`, `not x`."""
    operand = number_or_vector(env, e.operand, target, operand_type(want))
    if isinstance(operand.type, Vector):
        return vector_negative(env, e, operand)
    kind = operand.type
    assert isinstance(kind, Scalar)
    if e.op == "not":
        operand = need_bool(operand)
    elif kind.kind == "bool" or (e.op == "~" and not kind.integral):
        hint = "use `not`" if kind.kind == "bool" else "only integers have bits"
        fail(errors.Operands(span=e.span, op=e.op, left=str(operand.type), right="nothing", hint=hint))
    elif kind.stored:
        fail(errors.Operands(span=e.span, op=e.op, left=str(kind), right="nothing", hint=STORED))
    return tree.Unary(op=e.op, operand=operand, type=operand.type, perspective=operand.perspective, span=e.span)


def operand_type(want: Type | None) -> Type | None:
    """Return the type that a literal operand takes from what is wanted of the result: none from a type without operators."""
    return None if isinstance(want, Scalar) and want.stored else want


def need_bool(value: tree.Expr) -> tree.Expr:
    """Return the value where it is a bool, else fail with code `cond`."""
    if value.type != BOOL:
        fail(errors.ConditionType(span=value.span, found=str(value.type), text=source_text(value.span)))
    return value


@expression_rule(s.Binary)
def check_binary(env: Env, e: s.Binary, target: Perspective, want: Type | None) -> tree.Expr:
    """Arithmetic, comparison, `and`/`or`: operands take their common type, as in C but with no promotion to int."""
    if e.op in ("and", "or"):
        left = need_bool(check_scalar(env, e.left, target))
        with in_parts(env):
            right = need_bool(check_scalar(env, e.right, target))
        no_collectives(env, left, (right,))
        perspective = meet(left.perspective, right.perspective)
        return tree.Binary(op=e.op, left=left, right=right, type=BOOL, perspective=perspective, span=e.span)
    hint = None if e.op in COMPARISONS else operand_type(want)
    if isinstance(e.left, s.Literal):
        right = number_or_vector(env, e.right, target, hint)
        left = number_or_vector(env, e.left, target, right.type)
    else:
        left = number_or_vector(env, e.left, target, hint)
        right = number_or_vector(env, e.right, target, left.type if e.op not in ("<<", ">>") else INT32)
    if isinstance(left.type, Vector) or isinstance(right.type, Vector):
        return vector_binary(env, e, left, right)
    perspective = meet(left.perspective, right.perspective)
    if e.op in ("<<", ">>"):
        both_integers(e, left, right)
        shift_count(right, left.type)
        return tree.Binary(op=e.op, left=left, right=right, type=left.type, perspective=perspective, span=e.span)
    common = common_type(e, left, right)
    whole_numbers(e, left, right, common)
    left, right = convert(left, common), convert(right, common)
    op = "/" if e.op == "//" else e.op
    return tree.Binary(
        op=op, left=left, right=right, type=BOOL if op in COMPARISONS else common, perspective=perspective, span=e.span
    )


@expression_rule(s.Conditional)
def check_conditional(env: Env, e: s.Conditional, target: Perspective, want: Type | None) -> tree.Expr:
    """`a if c else b`: the three parts' meet; a collective in either side needs a condition that the code agrees on (R9)."""
    condition = need_bool(check_scalar(env, e.condition, target))
    with in_parts(env):
        then, otherwise = check_value(env, e.then, target, want), check_value(env, e.otherwise, target, want)
    if then.type != otherwise.type:
        scalars = isinstance(then.type, Scalar) and isinstance(otherwise.type, Scalar)
        if not scalars or isinstance(then.type, Struct) or isinstance(otherwise.type, Struct):
            hint = "make the two sides' types agree"
            fail(errors.Mismatch(span=e.otherwise.span, expected=str(then.type), found=str(otherwise.type), hint=hint))
        if isinstance(e.then, s.Literal):
            then = check_value(env, e.then, target, otherwise.type)
        common = common_type(s.Binary(op="+", left=e.then, right=e.otherwise, span=e.span), then, otherwise)
        then, otherwise = convert(then, common), convert(otherwise, common)
    no_collectives(env, condition, (then, otherwise))
    perspective = meet(condition.perspective, then.perspective, otherwise.perspective)
    return tree.Select(
        condition=condition, then=then, otherwise=otherwise, type=then.type, perspective=perspective, span=e.span
    )


def no_collectives(env: Env, condition: tree.Expr, sides: tuple[tree.Expr, ...]) -> None:
    """R9 for expressions evaluated on a condition: a collective inside needs a condition as broad as the code."""
    if env.code <= condition.perspective:
        return
    for side in sides:
        found = collective(side)
        if found is not None:
            facts = evidence(condition, env.code, Label(found.span, "all threads must meet here"))
            fail(rules.ConditionCollective(code_perspective=env.code, collective=describe(found), **facts))


def collective(e: tree.Expr) -> tree.Expr | None:
    """Return a part that several threads must run together, if there is one."""
    if isinstance(e, tree.Call) and not e.function.pure:
        return e
    if isinstance(e, tree.Apply) and e.intrinsic.requires != THREAD:
        return e
    for part in tree.operands(e):
        found = collective(part)
        if found is not None:
            return found
    return None


# -- elements -------------------------------------------------------------------------------------------------------------


def rank(symbol: tree.Symbol) -> int:
    """Return how many indices an element of memory takes."""
    if symbol.view is not None:
        return len(symbol.view.params)
    return symbol.type.rank if isinstance(symbol.type, Pointer) else 1


def tile_type(env: Env, symbol: tree.Symbol) -> Pointer:
    """Return the type of memory; of a part of a tile, that of the parameter that it is given to."""
    assert isinstance(symbol.type, Pointer)
    return env.context.pieces.get(symbol, symbol.type)


def flatten(e: s.Expr) -> tuple[s.Expr, tuple[s.Expr, ...]]:
    """Return the base of `a[i][j]` and all its indices; of what has no subscript itself, and none."""
    indices: tuple[s.Expr, ...] = ()
    while isinstance(e, s.Subscript):
        indices, e = (*e.indices, *indices), e.base
    return e, indices


def in_range(index: tree.Expr, extent: int, name: str) -> None:
    """Constant indices are checked now; the reference machine checks the others."""
    if isinstance(index, tree.Const) and not 0 <= int(index.value) < extent:
        fail(errors.IndexRange(span=index.span, index=int(index.value), name=name, extent=extent, last=extent - 1))


def element(
    env: Env, symbol: tree.Symbol, indices: tuple[s.Expr, ...], span: Span, target: Perspective
) -> tree.Element:
    """The element of memory that `p[i]` names: its perspective is that of the pointer and the indices."""
    assert isinstance(symbol.type, Pointer)
    wanted = rank(symbol)
    if len(indices) != wanted:
        fail(errors.Indices(span=span, name=symbol.name, wanted=wanted, given=len(indices)))
    typed = tuple(check_index(env, index, target) for index in indices)
    for index, extent in zip(typed, tile_type(env, symbol).shape or (), strict=False):
        in_range(index, extent, symbol.name)
    perspective = meet(symbol.perspective, *(index.perspective for index in typed))
    kind = symbol.type.element
    type_: Type = kind.element if isinstance(kind, Mailbox) else kind
    return tree.Element(symbol=symbol, indices=typed, type=type_, perspective=perspective, span=span)


def read_element(env: Env, e: tree.Element) -> tree.Element:
    """R19 PTR-READ: global memory that may change meanwhile varies per thread. (Only a block's code sees shared memory.)

    Not so what the grid loads for itself in a cooperative launch: barriers of the grid part it from all that write.
    """
    assert isinstance(e.symbol.type, Pointer)
    if isinstance(e.symbol.type.element, Mailbox):
        fail(ownership.MailboxPlain(span=e.span, name=e.symbol.name))
    if e.symbol.type.space == "global" and not e.symbol.type.const:
        together = env.context.kernel.cooperative and env.code == e.perspective == GRID
        return e if together else replace(e, perspective=meet(e.perspective, THREAD))
    return e


# -- perspectives of uses -------------------------------------------------------------------------------------------------


def must_agree(env: Env, value: tree.Expr, needed: Perspective, construct: str) -> None:
    """R7, R9, R10: the value is as broad as `needed`, else fail saying what varies."""
    if needed <= value.perspective:
        return
    facts = evidence(value, needed, *why_here(env))
    facts |= {"memory": changing(value), "code_perspective": needed}
    if construct == "loop bound":
        fail(rules.LoopBound(**facts))
    fail(rules.Condition(construct=construct, **facts))
