"""Several assignments at once, `a, b = b, a`: each value in a name of its own, then one assignment after the other."""

from __future__ import annotations

from prism.lang import surface, tree
from prism.lang.check.assign import check_assign, check_declare
from prism.lang.check.env import Env
from prism.lang.check.table import check_expression, statement_rule
from prism.lang.diagnostics import Span, source_text
from prism.lang.parse import syntax as s
from prism.lang.types import Mailbox, Pointer, Scalar, Type, Vector


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
