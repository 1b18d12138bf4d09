"""The compiler's own barriers: enough, and each one needed."""

# ruff: noqa: F821 -- names that kernels declare
from __future__ import annotations

import numpy as np
import pytest

from prism.interpret import RaceError, run
from prism.lang import (
    block,
    constexpr,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    shared,
    template,
    thread,
)


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(N=constexpr(int))
def ladder(y: ptr(int32) @ grid[1]):
    """Hillis-Steele in place: two barriers a step."""
    g: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=g) as out:
        with group(block[1]):
            s: shared(int32[N]) @ block[1]
            t: int32 @ thread[1] = id()
            v: int32 @ thread[1] = t + 1
            with partition(s, thread[1], offset=t) as mine:
                with group(thread[1]):
                    mine[0] = v
            stride: int32 @ block[1] = 1
            while stride < N:
                with group(thread[1]):
                    if t >= stride:
                        v += s[t - stride]
                with partition(s, thread[1], offset=t) as mine:
                    with group(thread[1]):
                        mine[0] = v
                stride = stride * 2
            with group(thread[1]):
                out[0] = s[(t + 1) % N]


@pytest.mark.parametrize("schedule", ["round-robin", "random", "reversed"])
def test_barriers_are_enough_and_needed(program, schedule):
    built = program(ladder, None, N=64)
    y = np.zeros(128, np.int32)
    run(built, 2, 64, [y], check=True, schedule=schedule)
    assert y.tolist() == [(t + 1) % 64 * ((t + 1) % 64 + 1) // 2 + (t + 1) % 64 + 1 for t in range(64)] * 2
    plan = built.plans[built.entry]
    assert len(plan.barriers) >= 2
    for barrier in plan.barriers:
        with pytest.raises(RaceError):
            run(built.with_plan(plan.drop_step(barrier)), 2, 64, [y], check=True, schedule=schedule)
