"""Parsing, continued: `with`, each item a scope inside the one before it, and `a, b = roles(...)`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from prism.lang import surface
from prism.lang.diagnostics import CompileError, Span
from prism.lang.errors import roles as role_errors
from prism.lang.errors import syntax as errors
from prism.lang.keep.bases import Value
from prism.lang.parse import syntax as s
from prism.lang.parse.expressions import SCOPES, UNKNOWN, Context, arguments, expression

Wrap = Callable[[s.Body], s.Stmt]
UNNAMED = {surface.group: "unit", surface.one: "level", surface.wgmma_async: "", surface.turns: "role"}
"""Scopes that give nothing to name, each with its one argument."""


class Item(Value):
    """One item of a `with`: what it makes of the statements inside it. `role`: what it claims for, where that is a role."""

    wrap: Wrap
    role: s.Name | None = None


def scope(c: Context, node: ast.With) -> Wrap:
    """Return what a `with` makes of its body: its items nest, left to right, and the last claim for a role enters the role."""
    items = [_item(c, node, k) for k in range(len(node.items))]
    claims = [k for k, item in enumerate(items) if item.role is not None]
    roles = [role for item in items if (role := item.role) is not None]
    for role in roles[1:]:
        if role.name != roles[0].name:
            raise CompileError(role_errors.TwoRoles(span=role.span, first=roles[0].name, second=role.name))

    def nest(body: s.Body) -> s.Stmt:
        for k in reversed(range(len(items))):
            if roles and k == claims[-1]:
                body = (s.Enter(span=roles[-1].span, role=roles[-1], body=body, claimed=True),)
            body = (items[k].wrap(body),)
        return body[0]

    return nest


def _item(c: Context, node: ast.With, k: int) -> Item:
    call, name = node.items[k].context_expr, node.items[k].optional_vars

    def span(last: ast.expr) -> Span:
        start, end = c.header(node, last), c.span(call)
        return start if k == 0 else Span(end.file, end.line, end.column, start.end_line, start.end_column)

    if isinstance(call, ast.Name) and c.local(call.id):
        if name is not None:
            raise CompileError(errors.construct_name(c.span(name), call.id, call.id, wants_name=False))
        role = s.Name(span=c.span(call), name=call.id)
        return Item(lambda body: s.Enter(span=span(call), role=role, body=body))
    construct = c.resolve(call.func if isinstance(call, ast.Call) else call)
    if not isinstance(construct, surface.Construct) or construct not in SCOPES:
        raise CompileError(errors.unknown_with(c.span(call), c.text(call), construct, construct is UNKNOWN))
    if not isinstance(call, ast.Call):
        raise misuse(c, call, construct.name, "lacks its arguments", "not called")
    if construct in UNNAMED:
        if name is not None:
            raise CompileError(errors.construct_name(c.span(name), construct.name, c.text(call), wants_name=False))
        return Item(_unnamed(c, construct, call, span(call)))
    if not isinstance(name, ast.Name):
        at = c.span(call) if name is None else c.span(name)
        raise CompileError(errors.construct_name(at, construct.name, c.text(call), wants_name=True))
    return _named(c, construct, call, name, span(name))


def _unnamed(c: Context, construct: surface.Construct, call: ast.Call, span: Span) -> Wrap:
    argument = UNNAMED[construct]
    found = bind(c, call, construct.name, (argument,) if argument else (), 1)
    if construct is surface.group:
        return lambda body: s.Group(span=span, unit=found["unit"], body=body)
    if construct is surface.one:
        return lambda body: s.One(span=span, level=found["level"], body=body)
    if construct is surface.turns:
        role = found["role"]
        if not isinstance(role, s.Name):
            raise misuse(c, call.args[0], construct.name, "is for a role", "not a role's name")
        return lambda body: s.Turns(span=span, role=role, body=body)
    return lambda body: s.Batch(span=span, body=body)


def _named(c: Context, construct: surface.Construct, call: ast.Call, name: ast.Name, span: Span) -> Item:
    name_span = c.span(name)
    if construct is surface.partition:
        found = bind(c, call, "partition", ("source", "unit", "offset", "races"), 2)
        return Item(
            lambda body: s.Partition(
                span=span, source=found["source"], unit=found["unit"], offset=found.get("offset"), races=found.get("races"),
                name=name.id, name_span=name_span, body=body,
            )
        )  # fmt: skip
    if construct is surface.claim:
        found = bind(c, call, "claim", ("source", "unit", "offset", "in_flight"), 2)
        unit = found["unit"]
        role = unit if isinstance(unit, s.Name) and c.local(unit.name) else None
        return Item(
            lambda body: s.Claim(
                span=span, source=found["source"], unit=unit, offset=found.get("offset"),
                in_flight=found.get("in_flight"), name=name.id, name_span=name_span, body=body,
            ),
            role,
        )  # fmt: skip
    found = bind(c, call, "async_", ("source",), 1)
    return Item(lambda body: s.Async(span=span, source=found["source"], name=name.id, name_span=name_span, body=body))


ALIASES = {"p": "unit", "dimension": "unit", "scope": "unit", "f": "offset"}
BY_NAME = frozenset({"races", "in_flight"})


def bind(c: Context, call: ast.Call, construct: str, names: tuple[str, ...], needed: int) -> dict[str, s.Expr]:
    """Return a construct's arguments by name, or by *Typed Perspectives*' aliases. The first `needed` must be there."""
    values, keywords = arguments(c, call)
    positional = [name for name in names if name not in BY_NAME]
    if len(values) > len(positional):
        raise misuse(c, call.args[len(positional)], construct, "has too many arguments", "one too many")
    found = dict(zip(positional, values, strict=False))
    for node, (keyword, value) in zip(call.keywords, keywords, strict=True):
        name = ALIASES.get(keyword, keyword)
        if name not in names:
            raise misuse(c, node, construct, f"has no argument `{keyword}`", "not known")
        if name in found:
            raise misuse(c, node, construct, f"has two arguments for its {name}", "the second one")
        found[name] = value
    missing = [name for name in names[:needed] if name not in found]
    if missing:
        raise misuse(c, call, construct, f"lacks its {missing[0]}", errors.MEANING[missing[0]])
    return found


def misuse(c: Context, node: ast.AST, construct: str, fault: str, why: str) -> CompileError:
    """Return the error for a construct with wrong arguments."""
    usage = errors.USAGE[construct]
    return CompileError(
        errors.ConstructArguments(span=c.span(node), construct=construct, fault=fault, why=why, usage=usage)
    )


def roles(c: Context, node: ast.Assign) -> s.Roles | None:
    """`a, b = roles(level, 2, 1)`; None where the assignment is another."""
    call, target = node.value, node.targets[0]
    if not (isinstance(call, ast.Call) and c.resolve(call.func) is surface.roles):
        return None
    targets = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    for part in targets:
        if not isinstance(part, ast.Name):
            raise CompileError(role_errors.RoleTarget(span=c.span(part), text=c.text(part)))
    if len(node.targets) > 1 or len(call.args) < 2 or call.keywords:
        raise misuse(c, call, "roles", "takes a level and a number of its units for each role", "here")
    level, *sizes = (expression(c, argument) for argument in call.args)
    names = tuple(s.Name(span=c.span(part), name=part.id) for part in targets if isinstance(part, ast.Name))
    return s.Roles(span=c.span(node), names=names, level=level, sizes=tuple(sizes))
