"""Several assignments at once: `a, b = b, a`, each value in a name of its own; `a, b = f(x)`, the one value in one."""

from __future__ import annotations

from prism.lang import surface, tree
from prism.lang.check.assign import check_assign, check_declare
from prism.lang.check.env import Env, fail
from prism.lang.check.expressions import check_value
from prism.lang.check.table import check_expression, statement_rule
from prism.lang.diagnostics import Fields, Span, source_text
from prism.lang.errors import types as errors
from prism.lang.parse import syntax as s
from prism.lang.types import Mailbox, Pointer, Scalar, Type, Vector
from prism.lang.types.perspective import meet
from prism.lang.types.structs import Struct


@statement_rule(s.Together)
def check_together(env: Env, st: s.Together) -> tuple[tree.Stmt, ...]:
    """The values as declarations of the targets' types, then R8, R17, R18 and R28 for each target, from left to right."""
    made: list[tree.Stmt] = []
    inner = env
    values: list[s.Expr] = []
    for k, (target, value) in enumerate(zip(st.targets, st.values, strict=True)):
        kept = find_annotation(env, target)
        if kept is None:
            values.append(value)  # its assignment says what is wrong, or it is the constant that fills a fragment
            continue
        type_, place = kept
        name = f"new {source_text(target.span, str(k))}"  # no name of the user's has a space
        declared = s.Declare(
            name=name, name_span=target.span, annotation=type_, place=place, value=value, span=value.span
        )
        statements, inner = check_declare(inner, declared)
        made.extend(statements)
        values.append(s.Name(name=name, span=value.span))
    made.extend(check_assign(inner, t, name, st.span) for t, name in zip(st.targets, values, strict=True))
    return tuple(made)


@statement_rule(s.Unpack)
def check_unpack(env: Env, st: s.Unpack) -> tuple[tree.Stmt, ...]:
    """R8, R17, R18 for each target, from left to right, given the fields of a struct or the components of a vector.

    The value has a name of its own, where it is as broad as it is: `a` and `b` may be narrower, each at its own unit.
    """
    value = check_value(env, st.value, env.code)
    parts = fields_of(value.type, st.value.span)
    if len(parts) != len(st.targets):
        text = source_text(st.value.span, "the value")
        facts: Fields = {"text": text, "type": str(value.type), "have": len(parts), "names": len(st.targets)}
        fail(errors.UnpackCount(span=st.span, **facts))
    place = meet(value.perspective, env.code)
    symbol = tree.Symbol(f"new {', '.join(source_text(t.span) for t in st.targets)}", value.type, place, st.value.span)
    inner, whole = env.bind(symbol), s.Name(name=symbol.name, span=st.value.span)
    made: list[tree.Stmt] = [tree.Declare(symbol=symbol, value=value, span=st.span)]
    for target, part in zip(st.targets, parts, strict=True):
        taken: s.Expr = s.Attribute(base=whole, name=part, span=whole.span)
        if isinstance(value.type, Vector):
            number = s.Literal(value=int(part), span=whole.span)
            taken = s.Subscript(base=whole, indices=(number,), span=whole.span)
        made.append(check_assign(inner, target, taken, st.span))
    return tuple(made)


def fields_of(type_: Type, span: Span) -> tuple[str, ...]:
    """Return the names of a struct's fields, the numbers of a vector's components."""
    if isinstance(type_, Struct):
        return type_.names
    if isinstance(type_, Vector):
        return tuple(map(str, range(type_.length)))
    fail(errors.UnpackValue(span=span, type=str(type_)))


def find_annotation(env: Env, target: s.Expr) -> tuple[s.Expr, s.Expr] | None:
    """Return a target's type and perspective as they would be written; None of what is not assigned here, or is no value."""
    if isinstance(target, s.Name) and target.name not in env.names:
        return None
    found = check_expression(env, target, env.code)
    if not isinstance(found.type, Scalar | Vector | Pointer) or not found.perspective <= env.code:
        return None
    place = s.Resolved(value=found.perspective, text=str(found.perspective), span=target.span)
    return spell_type(found.type, target.span), place


def spell_type(type_: Type | Mailbox, span: Span) -> s.Expr:
    """Return a type as an annotation."""
    if not isinstance(type_, Pointer):
        return s.Resolved(value=type_, text=str(type_), span=span)
    element = spell_type(type_.element, span)
    return apply_construct(surface.ptr, apply_construct(surface.const, element, span) if type_.const else element, span)


def apply_construct(construct: surface.Construct, argument: s.Expr, span: Span) -> s.Expr:
    """Return `construct(argument)`."""
    function = s.Resolved(value=construct, text=construct.name, span=span)
    return s.Call(function=function, arguments=(argument,), keywords=(), span=span)
