"""Roles of which one thread does everything, as that thread's text alone.

A loader asks for tiles by one thread of its warp. If all lanes went through its loops, each trip would part the first from the
31 others, which have nothing to do. Where the first then waits for an mbarrier, the hardware may let the others go on: they go
through all of the role's loops, to the kernel's end, while the first stands still, and no tile is asked for meanwhile. In a
product of 8192 x 8192 x 8192 that was 50,000 clocks, a fortieth of its time.

What a warp learns from a ring's copy, as the number of its next tile, is for that thread too: it alone waits for the copy, reads
it, and arrives for the warp.
"""

from __future__ import annotations

from prism.lang import tree
from prism.lang.emit.context import Context
from prism.lang.tree.plan import Advance, Arrive, Wait
from prism.lang.tree.walk import statements, subexpressions
from prism.lang.types.perspective import BLOCK, THREAD, WARP, Level, Perspective


def shared_part(context: Context, role: tree.Role) -> int:
    """Return how many statements of a role come before those of which its first thread does all that has an effect, in loops."""
    start = len(role.body)
    while start > 0 and _idle(context, role.body[start - 1 : start], role):
        start -= 1
    loops = any(isinstance(s, tree.For | tree.While) for s in statements(role.body[start:]))
    pragma = start > 0 and isinstance(role.body[start - 1], tree.Unsafe)  # it may be the loop's
    return start if loops and role.size > 1 and not pragma else len(role.body)


def is_first(s: tree.Split, size: int) -> bool:
    """Whether a split is for the first of so many threads."""
    return s.code == Perspective(Level.THREAD, size) and [(arm.first, arm.size) for arm in s.arms] == [(0, 1)]


def _idle(context: Context, body: tree.Body, role: tree.Role) -> bool:
    """Whether all but the first of a role's threads only count and compute what nobody sees."""
    return all(
        (_advances(context, s) and (_firsts(s, role.size) or _counts(context, s, role))) or _learns(context, s, role)
        for s in body
    )


def _advances(context: Context, s: tree.Stmt) -> bool:
    """Whether what the plan puts beside a statement is a ring's next round, or nothing."""
    return all(isinstance(op, Advance) for op in (*context.before.get(s, ()), *context.after.get(s, ())))


def _learns(context: Context, s: tree.Stmt, role: tree.Role) -> bool:
    """Whether a warp reads a value from a ring's copy into a variable: the first thread may do it, and arrive for all."""
    if role.size != WARP or not (isinstance(s, tree.Assign) and isinstance(s.target, tree.Var)):
        return False
    steps = (*context.before.get(s, ()), *context.after.get(s, ()))
    arrives = [op for op in steps if isinstance(op, Arrive)]
    if not all(isinstance(op, Advance | Arrive | Wait) for op in steps) or not all(map(_is_plain, arrives)):
        return False
    parts = [part for e in tree.expressions(s) for part in subexpressions(e)]
    read = [part for part in parts if isinstance(part, tree.Element)]
    return bool(read) and all(map(_of_ring, read)) and all(_pure(p) for p in parts if not isinstance(p, tree.Element))


def _is_plain(op: Arrive) -> bool:
    """Whether an arrival is one for the warp, in this block, for the visit that ends."""
    return op.every == WARP and not (op.delay or op.copies or op.drain or op.barrier.blocks)


def _of_ring(e: tree.Element) -> bool:
    type_ = e.symbol.root().type
    return isinstance(type_, tree.Pointer) and type_.ring > 0


def _firsts(s: tree.Stmt, size: int) -> bool:
    return isinstance(s, tree.Split) and s.level == Level.THREAD and is_first(s, size)


def _counts(context: Context, s: tree.Stmt, role: tree.Role) -> bool:
    if isinstance(s, tree.Turns):
        known = s.first >= role.first + role.size or s.first + s.size <= role.first  # others take them
    elif isinstance(s, tree.Split):
        known = s.level == Level.THREAD and s.code == BLOCK and len(s.arms) <= 1  # the role's own place in the block
    else:
        known = isinstance(
            s,
            tree.Declare
            | tree.SharedDeclare
            | tree.For
            | tree.While
            | tree.If
            | tree.Partition
            | tree.Claim
            | tree.Async
            | tree.Group,
        )
        known = known or (isinstance(s, tree.Assign) and isinstance(s.target, tree.Var))
    inner = (_idle(context, part, role) for part in tree.children(s))
    return known and all(map(_pure, tree.expressions(s))) and all(inner)


def _pure(e: tree.Expr) -> bool:
    return not any(
        isinstance(part, tree.Call | tree.Element)
        or (
            isinstance(part, tree.Apply)
            and (part.intrinsic.requires != THREAD or part.intrinsic.result_unit is not None)
        )
        for part in subexpressions(e)
    )
