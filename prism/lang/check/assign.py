"""Declarations and assignments: what a name or memory is given, and who may give it (R6, R8, R17, R18, R25, R28)."""

from __future__ import annotations

from prism.lang import tree
from prism.lang.check import annotation
from prism.lang.check.conversion import coerce
from prism.lang.check.env import (
    Env,
    changing,
    declaration_label,
    evidence,
    fail,
    opaque,
    refuse_const,
    refuse_write,
    require_no_broader,
    require_own,
    why_here,
)
from prism.lang.check.expressions import check_scalar, check_value, element, flatten, visible
from prism.lang.check.fragments import fill, fragment_item, require_place
from prism.lang.check.lists import Given, assigned_list, declared_list, list_elements
from prism.lang.check.parts import check_field
from prism.lang.check.pointers import assign_pointer, declare_pointer
from prism.lang.check.shared import check_shared
from prism.lang.check.table import check_expression, declaration_rule, statement_rule
from prism.lang.check.vectors import is_vector_cast, vector_store
from prism.lang.diagnostics import Fields, Span
from prism.lang.errors import axes, ownership, tiles
from prism.lang.errors import names as name_errors
from prism.lang.errors import perspective as rules
from prism.lang.errors import types as errors
from prism.lang.parse import syntax as s
from prism.lang.types import Array, Fragment, Mailbox, Pointer, Scalar, TensorMap, Type, Vector
from prism.lang.types.perspective import THREAD, Perspective
from prism.lang.types.structs import Struct

# -- declarations ---------------------------------------------------------------------------------------------------------


@declaration_rule(s.Declare)
def check_declare(env: Env, st: s.Declare) -> tuple[tuple[tree.Stmt, ...], Env]:
    """R6 DECL, R25 SHARED-ALLOC: no broader than the code; shared memory in a block's code."""
    meaning = annotation.read_local(st.annotation)
    place = annotation.place(st.place) if st.place is not None else env.code
    if meaning.shared:
        return check_shared(env, st, meaning, place)
    if isinstance(meaning.type, Mailbox):
        fail(errors.NotAType(span=st.annotation.span))
    if isinstance(meaning.type, TensorMap):
        fail(tiles.MapPlace(span=st.annotation.span, name=st.name, what="declared inside a function"))
    at = st.place.span if st.place else st.span
    facts: Fields = {"span": at, "name": st.name, "place": place, "labels": why_here(env)}
    if not place <= env.code:
        fail(rules.DeclareBroader(code_perspective=env.code, **facts))
    if not env.bound.allows(place):
        fail(rules.DeclareUnits(bound=str(env.bound), size=place.size, level=str(place.level), **facts))
    if isinstance(meaning.type, Pointer) and meaning.type.axes:
        fail(axes.ArrayPlace(span=st.annotation.span, name=st.name))
    if isinstance(meaning.type, Pointer):
        return declare_pointer(env, st, meaning, place)
    type_: Type = meaning.type
    if isinstance(type_, Fragment):
        type_ = require_place(type_, st.name, place, st.annotation.span, at)
    symbol = tree.Symbol(st.name, type_, place, st.name_span, const=meaning.const)
    if isinstance(st.value, s.Listed) and isinstance(symbol.type, Array):
        return declared_list(symbol, whole(env, symbol, st.value), st.span), env.bind(symbol)
    value = initial(env, symbol, st)
    return (tree.Declare(symbol=symbol, value=value, span=st.span),), env.bind(symbol)


def initial(env: Env, symbol: tree.Symbol, st: s.Declare) -> tree.Expr | None:
    """Return the typed initial value; `{0}` zeroes an array, spelled as a Const of the element type."""
    if st.value is None:
        return None
    if isinstance(symbol.type, Array):
        zero = st.value.items[0] if isinstance(st.value, s.Braces) and len(st.value.items) == 1 else None
        if not isinstance(zero, s.Literal) or zero.value != 0:
            fail(errors.ArrayInitial(span=st.value.span, name=st.name, type=str(symbol.type)))
        return zeros(env, symbol, symbol.type.element, zero)
    if isinstance(symbol.type, Fragment):
        return fill(symbol, st.value)
    if isinstance(symbol.type, Vector) and isinstance(st.value, s.Braces) and len(st.value.items) == 1:
        return zeros(env, symbol, symbol.type, st.value.items[0])
    value = check_value(env, st.value, symbol.perspective, symbol.type)
    fits(symbol, value)
    return coerce(value, symbol.type, st.value.span)


def whole(env: Env, symbol: tree.Symbol, value: s.Listed) -> tuple[Given, ...]:
    """R8 WRITE-DOWN of each element of a list."""
    given = list_elements(env, symbol, value)
    for _, given_value in given:
        fits(symbol, given_value)
    return given


def zeros(env: Env, symbol: tree.Symbol, element: Scalar | Vector, zero: s.Expr) -> tree.Expr:
    """`{0}`: what every element of an array starts as."""
    if isinstance(element, Scalar) and not isinstance(element, Struct):
        return check_scalar(env, zero, symbol.perspective, element)
    made = s.Resolved(value=element, text=str(element), span=zero.span)
    fields = isinstance(element, Struct) or isinstance(element, Vector) and isinstance(element.element, Struct)
    call = s.Call(function=made, arguments=() if fields else (zero,), keywords=(), span=zero.span)
    return check_value(env, call, symbol.perspective, element)


def fits(symbol: tree.Symbol, value: tree.Expr) -> None:
    """R8 WRITE-DOWN: the value is at least as broad as what it is assigned to."""
    if symbol.perspective <= value.perspective:
        return
    facts = evidence(value, symbol.perspective, declaration_label(symbol))
    facts |= {"name": symbol.name, "place": symbol.perspective}
    loaded = varying_load(value, symbol.perspective)
    if loaded is None:
        fail(rules.WriteDown(**facts))
    del facts["what"]
    memory = loaded.symbol
    if not symbol.perspective <= memory.perspective:
        error: type[ownership.LoadVaries] = ownership.LoadPart
    elif changing(loaded) and all(symbol.perspective <= index.perspective for index in loaded.indices):
        error = ownership.LoadChanging
    else:
        error = ownership.LoadIndex
    fail(error(memory=memory.name, **facts))


def varying_load(value: tree.Expr, needed: Perspective) -> tree.Element | None:
    """R19 PTR-READ: return the load from memory that makes a value narrower than `needed`, if it is one that does."""
    if isinstance(value, tree.Element):
        return value
    parts = [] if opaque(value) else [part for part in tree.operands(value) if not needed <= part.perspective]
    found = next((part for part in parts if part.perspective == value.perspective), None)
    return varying_load(found, needed) if found is not None else None


# -- assignments ----------------------------------------------------------------------------------------------------------


@statement_rule(s.Assign)
def check_assignment(env: Env, st: s.Assign) -> tree.Stmt | tree.Body:
    """What is assigned to a name may be a list."""
    if isinstance(st.target, s.Name) and isinstance(st.value, s.Listed):
        return check_list(env, st.target, st.value, st.span)
    return check_assign(env, st.target, st.value, st.span)


@statement_rule(s.Augment)
def check_augment(env: Env, st: s.Augment) -> tree.Stmt:
    """`a += b` is `a = a + b`."""
    value = s.Binary(op=st.op, left=st.target, right=st.value, span=st.span)
    return check_assign(env, st.target, value, st.span)


def check_list(env: Env, target: s.Name, value: s.Listed, span: Span) -> tuple[tree.Stmt, ...]:
    """R8, R17 of an array all of whose elements are assigned; of anything else, as of one value."""
    if target.name not in env.names:
        fail(name_errors.Undeclared(span=target.span, name=target.name, type=f"int[{len(value.items)}]"))
    symbol = visible(env, target.name, target.span)
    if not isinstance(symbol.type, Array):
        return (check_assign(env, target, value, span),)
    assignable(env, symbol, span)
    return assigned_list(symbol, whole(env, symbol, value), span)


def check_assign(env: Env, target: s.Expr, value: s.Expr, span: Span) -> tree.Stmt:
    """R8 for locals, R17 for const, R18 for memory, R28 for pointers."""
    if isinstance(target, s.Name):
        if target.name not in env.names:
            fail(name_errors.Undeclared(span=target.span, name=target.name))
        symbol = visible(env, target.name, target.span)
        if isinstance(symbol.type, Pointer):
            return assign_pointer(env, symbol, target, value, span)
        if isinstance(symbol.type, Array):
            fail(errors.WholeArray(span=span, name=symbol.name, type=str(symbol.type), use="assigned"))
        if isinstance(symbol.type, TensorMap):
            fail(tiles.MapUse(span=target.span, name=symbol.name, labels=(declaration_label(symbol),)))
        left: tree.Expr = tree.Var(symbol=symbol, type=symbol.type, perspective=symbol.perspective, span=target.span)
        return assign_local(env, symbol, left, value, span)
    if isinstance(target, s.Attribute):
        field = check_field(env, target, env.code, None)
        if isinstance(field, tree.Component) and isinstance(field.vector.type, Struct):
            return assign_field(env, field, target, value, span)
        target = by_number(target, field)
    if isinstance(target, s.Subscript):
        return assign_element(env, target, value, span)
    fail(errors.NotSubscriptable(span=target.span, found="the target of this assignment"))


def by_number(target: s.Attribute, field: tree.Expr) -> s.Subscript:
    """Return `v.y` as `v[1]`."""
    assert isinstance(field, tree.Component) and isinstance(field.index, tree.Const)
    which = s.Literal(value=field.index.value, span=target.span)
    return s.Subscript(base=target.base, indices=(which,), span=target.span)


def assign_element(env: Env, target: s.Subscript, value: s.Expr, span: Span) -> tree.Stmt:
    """An element of a local array, of memory, a component of a vector, or a vector's worth of memory."""
    if is_vector_cast(target.base):
        return tree.Evaluate(value=vector_store(env, target, value, span), span=span)
    base, indices = flatten(target)
    if isinstance(base, s.Name):
        symbol = visible(env, base.name, base.span, "store", indices)
        if isinstance(symbol.type, Pointer):
            return assign_memory(env, symbol, indices, target, value, span)
        if isinstance(symbol.type, Fragment):
            return assign_local(env, symbol, fragment_item(env, symbol, indices, target.span), value, span)
        if isinstance(symbol.type, Array | Vector):
            left = check_expression(env, target, symbol.perspective)
            check_index(symbol, left)
            return assign_local(env, symbol, left, value, span)
    fail(errors.NotSubscriptable(span=target.span, found="the target of this assignment"))


def check_index(symbol: tree.Symbol, left: tree.Expr) -> None:
    """R7 of a target in a local: which element it is, the threads that share the local agree on."""
    if not symbol.perspective <= left.perspective:
        facts = evidence(left, symbol.perspective, declaration_label(symbol))
        fail(rules.ReadUp(needed=symbol.perspective, name=symbol.name, **facts))


def assign_local(env: Env, symbol: tree.Symbol, left: tree.Expr, value: s.Expr, span: Span) -> tree.Stmt:
    """R8: the target is no broader than the code, and the value no narrower than the target."""
    if isinstance(left, tree.Item) and isinstance(symbol.type, Fragment):
        changeable(env, symbol, span)
        right = check_value(env, value, THREAD, left.type)
        return tree.Assign(target=left, value=coerce(right, left.type, value.span), span=span)
    assignable(env, symbol, span)
    if isinstance(symbol.type, Fragment):
        return tree.Assign(target=left, value=fill(symbol, value), span=span)
    right = check_value(env, value, symbol.perspective, left.type)
    fits(symbol, right)
    return tree.Assign(target=left, value=coerce(right, left.type, value.span), span=span)


def changeable(env: Env, symbol: tree.Symbol, span: Span) -> None:
    """R17: a local that is neither const nor a loop's index."""
    refuse_const(env, symbol, span)
    if symbol in env.context.loop_variables:
        fail(rules.LoopVariable(span=span, name=symbol.name, labels=(declaration_label(symbol),)))


def assignable(env: Env, symbol: tree.Symbol, span: Span) -> None:
    """R8, R17 of a local that is to be changed: no broader than the code."""
    changeable(env, symbol, span)
    require_no_broader(env, symbol, span)


def assign_memory(
    env: Env, symbol: tree.Symbol, indices: tuple[s.Expr, ...], target: s.Subscript, value: s.Expr, span: Span
) -> tree.Stmt:
    """R18 PTR-WRITE: one thread stores, through a name that is its own."""
    assert isinstance(symbol.type, Pointer)
    if isinstance(symbol.type.element, Mailbox):
        fail(ownership.MailboxPlain(span=target.span, name=symbol.name))
    if symbol.type.const:
        refuse_write(symbol, target.span, str(symbol.type))
    if env.code != THREAD:
        facts: Fields = {"name": symbol.name, "code_perspective": env.code, "owner": symbol.perspective}
        fail(ownership.StoreCode(span=target.span, labels=why_here(env), **facts))
    require_own(symbol, target.span)
    left = element(env, symbol, indices, target.span, THREAD)
    right = check_value(env, value, THREAD, left.type)
    return tree.Assign(target=left, value=coerce(right, left.type, value.span), span=span)


def assign_field(env: Env, field: tree.Component, target: s.Attribute, value: s.Expr, span: Span) -> tree.Stmt:
    """R8 of `v.scale = x`, `items[i].scale = x`: a field of a local."""
    whole = field.vector
    if isinstance(whole, tree.Var | tree.Item):
        check_index(whole.symbol, whole)
        return assign_local(env, whole.symbol, field, value, span)
    if isinstance(whole, tree.Element):
        facts: Fields = {"name": whole.symbol.name, "struct": str(whole.type), "field": target.name}
        fail(errors.FieldOfMemory(span=target.span, **facts))
    fail(errors.NotSubscriptable(span=target.span, found="the target of this assignment"))
