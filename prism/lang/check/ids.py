"""`id` and `count`: which unit this is, and how many there are (R12)."""

from __future__ import annotations

from prism.lang import tree
from prism.lang.check.annotation import place
from prism.lang.check.env import Env, fail, why_here
from prism.lang.check.fragments import fragment_size
from prism.lang.check.launch_axes import axis_count, axis_index, axis_of
from prism.lang.diagnostics import source_text
from prism.lang.errors import perspective as rules
from prism.lang.errors import types as errors
from prism.lang.parse import syntax as s
from prism.lang.types import INT32
from prism.lang.types.perspective import GRID, THREAD, Perspective


def check_id(env: Env, e: s.Call, target: Perspective, *, counting: bool) -> tree.Expr:
    """R12 ID: `id()` counts the target's units, `id(unit)` and `count(unit)` the unit's; no broader than the code."""
    if (axis := axis_of(e)) is not None:
        of = place(e.arguments[0]) if len(e.arguments) == 2 else target
        return axis_count(env, of, axis, e.span) if counting else axis_index(env, of, axis, e.span)
    if len(e.arguments) > 1 or e.keywords:
        usage = "`count()`, `count(unit)` or `count(unit, axis)`" if counting else "`id()`, `id(unit)` or `id(axis)`"
        fail(errors.NotAValue(span=e.span, text="count" if counting else "id", hint=f"write {usage}"))
    if counting and e.arguments and (part := fragment_size(env, e)) is not None:
        return part
    unit = place(e.arguments[0]) if e.arguments else target
    if not unit <= env.code:
        fail(rules.IdBroader(span=e.span, unit=unit, code_perspective=env.code, labels=why_here(env)))
    if not env.bound.allows(unit):
        level, have = str(unit.level), env.bound.entry(unit.level) or 0
        fail(rules.IdSize(span=e.span, unit=unit, size=unit.size, level=level, have=have, labels=why_here(env)))
    several(env, e, unit, counting=counting)
    if counting:
        return tree.Count(unit=unit, code=env.code, type=INT32, perspective=GRID, span=e.span)
    return tree.Id(unit=unit, code=env.code, type=INT32, perspective=unit, span=e.span)


def several(env: Env, e: s.Call, unit: Perspective, *, counting: bool) -> None:
    """R12: the unit counted is not the very one that the code speaks for, of which there is one, with index 0.

    That may still be so in an instance of what is written for any size (`group(thread[SIZE])`, a device function's bound), and in
    an arm of a split, where one unit is as good as any number.
    """
    if unit != env.code:
        return
    steps = [step for step in env.path if step.kind in ("group", "arm")]
    hints = []
    if steps:
        if steps[-1].kind == "arm" or steps[-1].unit.named or unit.named:
            return
        kept = f"n: int32 = count({unit})" if counting else f"i: int32 @ {unit} = id()"
        hints.append(f"take it before `{steps[-1].text}`, and keep it in a variable: `{kept}`")
    elif unit != GRID:
        return
    if unit != THREAD:
        hints.append(f"name a narrower unit: `{'count' if counting else 'id'}(thread[1])`")
    fault = rules.CountAlone if counting else rules.IdAlone
    fail(fault(span=e.span, text=source_text(e.span), unit=unit, hint="; or ".join(hints), labels=why_here(env)))
