"""Waits for the wgmmas of the trip before: they are moved from the start of a trip to the end of the one that issued them.

The two are one point of time. But between them lies the loop's jump, where registers are renamed: the assembler takes that for a
change of accumulators under way (C7515), and makes each wgmma wait for the one before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from prism.lang import tree
from prism.lang.emit.context import Context
from prism.lang.emit.merge import Step
from prism.lang.emit.operations import step, where
from prism.lang.keep.bases import Value
from prism.lang.tree import plan as plans
from prism.lang.tree.walk import statements


class Moved(Value):
    """The context of a loop's body without its first wait, and the lines of that, for before the loop and for each trip's end."""

    context: Context
    lines: tuple[str, ...] = ()


def move_wait(context: Context, s: tree.For) -> Moved:
    """Return what becomes of a loop whose trips begin with a wait for wgmmas that those before have issued."""
    first = context.before.get(s.body[0], ()) if s.body else ()
    wait = first[0] if first else None
    if (
        not isinstance(wait, plans.WaitGroup)
        or wait.kind != "wgmma"
        or where(context, wait.path)
        or not _issues(context, s)
    ):
        return Moved(context)
    rest: Mapping[tree.Stmt, tuple[Step, ...]] = {**context.before, s.body[0]: tuple(first[1:])}
    return Moved(replace(context, before=rest), tuple(step(context, wait)))


def _issues(context: Context, s: tree.For) -> bool:
    """Whether the last wgmmas of a trip are waited for in the next, and every trip comes to its end."""
    # By the order of the text: a wait behind the last batch, or beside it, has ended what the next trip would wait for.
    last = ""
    for inner in statements(s.body):
        if isinstance(inner, tree.Continue):
            return False
        steps = [*(context.before.get(inner, ()) if inner is not s.body[0] else ()), *context.after.get(inner, ())]
        last = "issued" if isinstance(inner, tree.Batch) else last
        last = "awaited" if any(isinstance(op, plans.WaitGroup) and op.kind == "wgmma" for op in steps) else last
    return last == "issued"
