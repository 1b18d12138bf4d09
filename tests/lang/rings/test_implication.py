"""What the other waits of rings imply, as the order engine (ground.py, happens.py) says, and what they do not.

Tests of prism/lang/rings: ground.
"""

# ruff: noqa: F821 -- kernels: names that they declare
from __future__ import annotations

import numpy as np
import pytest

from prism.interpret import run, schedules
from prism.lang import (
    attr,
    block,
    claim,
    const,
    constexpr,
    grid,
    group,
    id,
    partition,
    prism,
    ptr,
    requires,
    roles,
    shared,
    template,
    thread,
    warp,
)
from prism.lang.tree.plan import Wait
from tests.lang.plans import entry_plan


@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], warp[2])
@template(LAST=constexpr(bool))
def two_at_once(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    """The copy of `b` is filled in the middle of the scope of `a`: what comes after it is not over when `b` is filled."""
    with partition(y, block[1], 32 * id()) as out, group(block[1]):
        a: shared(float[32], ring=2)
        b: shared(float[32], ring=3)
        fillers, users = roles(warp, 1, 1)
        t: int @ thread[1] = id()
        total: float @ thread[1] = 0.0
        for k in range(n):
            with claim(a, fillers) as p, claim(b, fillers) as q:
                with partition(p, thread[1], id()) as first, partition(q, thread[1], id()) as second, group(thread[1]):
                    if LAST:
                        first[0] = x[k]
                        second[0] = x[k + 1]
                    else:
                        second[0] = x[k + 1]
                        first[0] = x[k]
            with claim(b, users) as q, group(thread[1]):
                total += q[(t + 1) % 32]
            with claim(a, users) as p, group(thread[1]):
                total += 2 * p[(t + 1) % 32]
        with partition(out, thread[1], t) as mine, users, group(thread[1]):
            mine[0] = total


@pytest.mark.parametrize("last", [False, True])
def test_an_arrival_tells_of_what_came_before_it_alone(last: bool) -> None:
    """Where `a` is filled after `b`, who has waited for `b` waits for `a` too; where it is filled before, once is enough."""
    program, plan = entry_plan(two_at_once, LAST=last)
    filled = {op.barrier.name for op in plan.operations if isinstance(op, Wait) and op.lap == 0}
    assert filled == ({"b_filled"} if last else {"a_filled", "b_filled"})
    for n in (1, 2, 7):
        for schedule, seed in schedules(12):
            x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
            run(program, 1, 64, [x, y, np.int32(n)], check=True, schedule=schedule, seed=seed)
            assert (y[32:] == sum(3 * k + 1 for k in range(n))).all()
