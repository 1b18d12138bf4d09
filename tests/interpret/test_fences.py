"""A proxy fence is for some memory: one for other memory shows the engine nothing.

Tests of prism/interpret: clocks, shadow.
"""
# ruff: noqa: F821 -- names that the kernel declares

from dataclasses import replace

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, MachineError, run
from prism.lang import (
    attr,
    block,
    bulk_load,
    bulk_store,
    claim,
    grid,
    group,
    id,
    int32,
    one,
    partition,
    ptr,
    requires,
    roles,
    shared,
    thread,
    warp,
)  # fmt: skip
from prism.lang.tree.plan import ProxyFence


@prism.kernel
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def handed(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """The engine loads what threads wrote to global memory, and stores what they wrote to shared memory."""
    with partition(y, block[1], 64 * id()) as part, group(block[1]):
        ring: shared(int32[32], ring=2)
        desk: shared(int32[32], align=128)
        t: int32 @ thread[1] = id()
        v: int32 @ thread[1] = 0
        users, loader = roles(warp, 1, 1)
        for k in range(n):
            with partition(part, thread[1], t) as own, users, group(thread[1]):
                own[0] = t + k
            with claim(ring, loader) as copy, one(thread):
                bulk_load(copy, part[0])
            with claim(ring, users) as copy, group(thread[1]):
                v += copy[31 - t]
        with partition(desk, thread[1], t) as own, users, group(thread[1]):
            own[0] = v
        with users, one(thread):
            bulk_store(part[32], desk, 32)


def reported(program):
    found = set()
    for name in SCHEDULES:
        try:
            run(program, 2, 64, [np.zeros(128, np.int32), 3], check=True, schedule=name)
        except MachineError as error:
            found.add(error.code)
    return found


def test_the_plan_is_right():
    program = prism.check(handed)
    spaces = {op.space for op in program.plans[program.entry].operations if isinstance(op, ProxyFence)}
    assert {"shared", "global"} <= spaces and not reported(program)


@pytest.mark.parametrize(("space", "other"), [("global", "shared"), ("shared", "global"), ("global", "cluster")])
def test_a_fence_for_other_memory_is_reported(space, other):
    program = prism.check(handed)
    plan = program.plans[program.entry]
    changed = [
        replace(op, space=other) if isinstance(op, ProxyFence) and op.space == space else op for op in plan.operations
    ]
    assert reported(program.with_plan(replace(plan, operations=tuple(changed), skewed=None))) == {"machine-proxy"}


def test_a_fence_for_all_memory_will_do():
    program = prism.check(handed)
    plan = program.plans[program.entry]
    changed = [replace(op, space="all") if isinstance(op, ProxyFence) else op for op in plan.operations]
    assert not reported(program.with_plan(replace(plan, operations=tuple(changed), skewed=None)))
