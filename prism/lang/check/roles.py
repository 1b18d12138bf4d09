"""Roles: a static split whose arms have names, entered by `with role:`, by a claim for it, or by `one(level)` (R3, R4)."""

from __future__ import annotations

from prism.lang import surface, tree
from prism.lang.check.body import check_body
from prism.lang.check.data import align, enough, head, level_to_divide, units
from prism.lang.check.env import Env, Role, Step, fail, why_here
from prism.lang.check.table import declaration_rule, statement_rule
from prism.lang.diagnostics import Fields, Label, Span
from prism.lang.errors import roles as errors
from prism.lang.parse import syntax as s
from prism.lang.types.perspective import Perspective


@declaration_rule(s.Roles)
def check_roles(env: Env, st: s.Roles) -> tuple[tree.Body, Env]:
    """R3 SPLIT-SUM, R4 SPLIT-ALIGN for `a, b = roles(level, 2, 1)`: a split that is made where the names are used."""
    level, have = level_to_divide(env, st.level, "roles")
    if len(st.names) != len(st.sizes):
        fail(errors.RolesCount(span=st.span, names=plural(len(st.names), "name"), sizes=plural(len(st.sizes), "role")))
    first = 0
    for name, count in zip(st.names, st.sizes, strict=True):
        size = units(count, arm="a role", usage=f"roles({level.name}, 2, 1)") * level.scale
        align(env, name.name, count.span, level, first, size, have)
        env = env.name(name.name, Role(name.name, name.span, level.level, first, size, env.code, have, level.scale))
        first += size
    enough(env, level, first, have, st.sizes[-1].span, "roles")
    return (), env


def plural(number: int, word: str) -> str:
    """Return `1 name`, `2 names`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


@statement_rule(s.Enter)
def check_enter(env: Env, st: s.Enter) -> tree.Stmt:
    """R5 SPLIT-BODY for `with role:`: the split that named the role, with that one arm."""
    role = env.role(st.role.name, st.role.span)
    check_code(env, role, st.role.span)
    return arm(env, st, Step("arm", head(st.span), role.unit, f"with {role.name}", role.first, role), role.name)


def check_code(env: Env, role: Role, span: Span) -> None:
    """R3: a role is named in the code that it divides."""
    if env.code != role.code or env.bound.entry(role.level) != role.have:
        labels = (Label(role.span, f"divides {role.code}"), *why_here(env))
        facts: Fields = {"name": role.name, "place": role.code, "code_perspective": env.code}
        fail(errors.RoleCode(span=span, **facts, labels=labels))


def size_of(e: s.Call) -> tuple[surface.LevelName, int]:
    """Return what a parameter `roles(level, n)` stands for: the level, and how many threads or blocks n of its units are."""
    level = e.arguments[0].value if e.arguments and isinstance(e.arguments[0], s.Resolved) else None
    if len(e.arguments) != 2 or e.keywords or not isinstance(level, surface.LevelName):
        fail(errors.RoleType(span=e.span))
    return level, units(e.arguments[1], arm="a role", usage=f"roles({level.name}, 1)") * level.scale


@statement_rule(s.One)
def check_one(env: Env, st: s.One) -> tree.Stmt:
    """`with one(level):` is `match split(level):` with `case 1:` alone."""
    level, have = level_to_divide(env, st.level, "one")
    if level.scale > have:
        fail(errors.OneUnit(span=st.level.span, level=level.name, needed=level.scale, have=have, labels=why_here(env)))
    align(env, f"one({level.name})", st.level.span, level, 0, level.scale, have)
    return arm(env, st, Step("arm", head(st.span), Perspective(level.level, level.scale), f"one({level.name})"))


def arm(env: Env, st: s.Enter | s.One, step: Step, name: str = "") -> tree.Stmt:
    """Return a split with one arm."""
    body = check_body(env.enter(step, env.bound.narrow(step.unit)), st.body)
    only = tree.Arm(step.first, step.unit.size, body, st.span, name)
    return tree.Split(level=step.unit.level, code=env.code, arms=(only,), span=st.span)
