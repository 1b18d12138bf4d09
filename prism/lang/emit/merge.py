"""Steps that the hardware takes in one: the bytes of the loads of a list announced, and their arrival, before the first."""

from __future__ import annotations

from collections.abc import Mapping

from prism.lang.keep.bases import node
from prism.lang.tree import Apply, Body, Declare, Evaluate, Stmt, children
from prism.lang.tree.plan import Arrive, Barrier, Expect, Mbarrier, Op, Operation, Plan
from prism.lang.tree.walk import statements


@node
class ArriveExpect(Operation):
    """Announce the bytes of all loads of this visit, and arrive: its phase ends when they are in."""

    barrier: Mbarrier
    bytes: int


Step = Barrier | Op | ArriveExpect
Steps = Mapping[Stmt, tuple[Step, ...]]


def merge_steps(plan: Plan, body: Body) -> tuple[Steps, Steps]:
    """Return what stands before and after each statement, with announcements and arrivals merged where they can be."""
    before: dict[Stmt, tuple[Step, ...]] = dict(plan.before())
    after: dict[Stmt, tuple[Step, ...]] = dict(plan.after())
    order = {op.barrier: number for number, op in enumerate(plan.operations) if isinstance(op, Expect)}
    for list_ in (body, *(inner for s in statements(body) for inner in children(s))):
        here = {op.barrier for s in list_ for op in before.get(s, ()) if isinstance(op, Expect)}
        for barrier in sorted(here, key=order.__getitem__):
            _merge(barrier, list_, before, after)
    return _clean(before), _clean(after)


def _merge(
    barrier: Mbarrier, body: Body, before: dict[Stmt, tuple[Step, ...]], after: dict[Stmt, tuple[Step, ...]]
) -> None:
    """Merge one mbarrier's announcements in one list with the arrival after the last, if nothing but loads is between."""
    expects = [op for s in body for op in before.get(s, ()) if isinstance(op, Expect) and op.barrier is barrier]
    arrives = [op for s in body for op in after.get(s, ()) if isinstance(op, Arrive) and op.barrier is barrier]
    if not expects or len(arrives) != 1:
        return
    arrive, sizes = arrives[0], [op.bytes for op in expects if op.bytes is not None]
    # expect 512; load a; expect 512; load b; arrive  =>  arrive.expect 1024; load a; load b
    # The phase can't end early: it ends when all announced bytes are in, and those of all loads are announced at once. Nothing
    # but loads stands between, so whoever waits for the phase misses no plain write that came before the old arrival.
    first, last = body.index(expects[0].at), body.index(arrive.at)
    plain = (arrive.every, arrive.delay, arrive.copies, barrier.blocks) == (1, 0, False, 0)
    plain = plain and not any(op.path for op in (*expects, arrive))
    if not plain or len(sizes) < len(expects) or not all(map(_loads, body[first : last + 1])):
        return
    for op in expects:
        steps = before[op.at]
        new = (ArriveExpect(at=op.at, barrier=barrier, bytes=sum(sizes)),) if op is expects[0] else ()
        at = steps.index(op)
        before[op.at] = (*steps[:at], *new, *steps[at + 1 :])
    after[arrive.at] = tuple(op for op in after[arrive.at] if op is not arrive)


def _loads(statement: Stmt) -> bool:
    """Whether a statement issues a load, or declares a variable: an arrival may stand before it as well as after it."""
    if isinstance(statement, Declare):
        return True
    return (
        isinstance(statement, Evaluate)
        and isinstance(statement.value, Apply)
        and statement.value.intrinsic.asynchronous == "load"
    )


def _clean(steps: dict[Stmt, tuple[Step, ...]]) -> Steps:
    return {statement: found for statement, found in steps.items() if found}
