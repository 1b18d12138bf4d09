"""Turns: units of a role go through a passage one after the other. What is refused is what could make one wait for ever.

Rounds are counted by each unit for itself, so all units have to come alike: a passage stands in code that speaks for all of them,
whose conditions and loops are the same for all. In it a unit is alone: it may wait for nothing that another unit does there.
"""

from __future__ import annotations

from prism.lang import tree
from prism.lang.check.body import check_body
from prism.lang.check.data import head
from prism.lang.check.env import Env, Role, Step, fail, why_here
from prism.lang.check.table import statement_rule
from prism.lang.diagnostics import Label, source_text
from prism.lang.errors import turns as errors
from prism.lang.parse import syntax as s
from prism.lang.tree.walk import statements, terms
from prism.lang.types.perspective import BLOCK, WARP, Level, Perspective


@statement_rule(s.Turns)
def check_turns(env: Env, st: s.Turns) -> tree.Stmt:
    """`with turns(role):` all of the role's units come here alike, and none waits inside for another."""
    role = env.role(st.role.name, st.role.span)
    unit = Perspective(role.level, role.scale)
    named = (Label(role.span, f"`{role.name}` is named here"),)
    if role.level != Level.THREAD or role.scale % WARP or role.code != BLOCK:
        fail(errors.TurnsUnit(span=st.role.span, name=role.name, unit=unit, labels=named))
    if not (env.code == BLOCK or in_role(env, role)):
        labels = why_here(env)
        fail(errors.TurnsPlace(span=st.span, name=role.name, code_perspective=env.code, labels=labels))
    outer = next((step for step in (*env.outside, *env.path) if step.kind == "turns"), None)
    if outer is not None:
        labels = (Label(outer.span, "the outer passage"),)
        fail(errors.TurnsNested(span=st.span, name=role.name, other=outer.text, labels=labels))
    body = check_body(env.enter(Step("turns", head(st.span), role.unit, f"turns({role.name})")), st.body)
    found = tree.Turns(
        name=role.name, first=role.first, size=role.size, unit=unit, code=env.code, body=body, span=st.span
    )
    if env.code == BLOCK:
        only_role(found, body)
    meets_alone(found)
    return found


def in_role(env: Env, role: Role) -> bool:
    """Whether the code is what all of the role runs, and no narrower."""
    steps = [step for step in env.path if step.kind in ("group", "arm")]
    if not steps or any(step.unit < BLOCK for step in steps[:-1]):
        return False
    return steps[-1].kind == "arm" and (steps[-1].unit, steps[-1].first) == (role.unit, role.first)


def only_role(turns: tree.Turns, body: tree.Body) -> None:
    """Fail for a statement of the block's code that others than the role run too, and may meet at, or be seen by others."""
    # Others than the role go past the passage without a turn: what they did inside would be done at any time.
    for statement in body:
        match statement:
            case tree.Split(level=Level.THREAD, arms=arms):
                for arm in arms:
                    if arm.first < turns.first or arm.first + arm.size > turns.first + turns.size:
                        what = f"`{source_text(arm.span, arm.name or 'another arm')}`"
                        fail(errors.TurnsBody(span=arm.span, name=turns.name, what=what))
            case tree.Claim() | tree.Partition() | tree.For() | tree.If():
                for inner in tree.children(statement):
                    only_role(turns, inner)
            case tree.Declare() | tree.Break() | tree.Continue():
                pass
            case _:
                what = f"`{source_text(statement.span, type(statement).__name__.lower())}`"
                fail(errors.TurnsBody(span=statement.span, name=turns.name, what=what))


def meets_alone(turns: tree.Turns) -> None:
    """Fail for what the threads of more than one unit do together inside the passage."""
    # A unit that has its turn would wait there for units that get theirs when it has left.
    for part in (part for statement in statements(turns.body) for part in terms(statement)):
        match part:
            case tree.Apply(intrinsic=intrinsic):
                name, needed = intrinsic.name, intrinsic.requires
            case tree.Call(function=function) if not function.pure:
                name, needed = function.name, function.bound.code
            case _:
                continue
        if not needed <= turns.unit:
            fail(errors.TurnsMeeting(span=part.span, name=turns.name, what=name, needed=needed, unit=turns.unit))
