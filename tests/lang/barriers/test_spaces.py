"""Copies of functions by pointers go to global memory: callers' shared memory is refused, whatever way it takes.

Tests of prism/lang/barriers/spaces.py.
"""
# ruff: noqa: F821 -- names that kernels declare

import numpy as np
import pytest

import prism
from prism.lang import (
    block,
    bulk_store,
    function,
    grid,
    group,
    id,
    int32,
    one,
    partition,
    ptr,
    requires,
    shared,
    template,
    thread,
)  # fmt: skip


@prism.device
@requires(block[1], thread[32])
def store(p: ptr(int32) @ block[1], t: int32 @ thread[1]):
    s: shared(int32[32], align=128)
    with partition(s, thread[1], t) as own, group(thread[1]):
        own[0] = t
    with one(thread):
        bulk_store(p[0], s, 32)


@prism.device
@requires(block[1], thread[32])
def hand_on(p: ptr(int32) @ block[1], t: int32 @ thread[1]):
    q: ptr(int32) @ block[1] = p
    store(q, t)


@prism.kernel
@template(CALLED=function)
@requires(grid[1], block[1], thread[32])
def outside(y: ptr(int32) @ grid[1]):
    with partition(y, block[1], 32 * id()) as part, group(block[1]):
        t: int32 @ thread[1] = id()
        CALLED(part, t)


@prism.kernel
@template(CALLED=function)
@requires(grid[1], block[1], thread[32])
def inside(y: ptr(int32) @ grid[1]):
    with group(block[1]):
        desk: shared(int32[32], align=128)
        t: int32 @ thread[1] = id()
        CALLED(desk, t)


@prism.kernel
@template(CALLED=function)
@requires(grid[1], block[1], thread[32])
def either(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], 32 * id()) as part, group(block[1]):
        desk: shared(int32[32], align=128)
        t: int32 @ thread[1] = id()
        p: ptr(int32) @ block[1] = desk
        if n > 2:
            p = part
        CALLED(p, t)


@pytest.mark.parametrize("called", [store, hand_on], ids=["store", "hand_on"])
def test_shared_memory_is_refused(called):
    for kernel in (inside, either):
        with pytest.raises(prism.CompileError, match="in global memory, and `desk` is shared") as found:
            prism.check(kernel, {"CALLED": called})
        assert found.value.code == "call-ptr"


@pytest.mark.parametrize("called", [store, hand_on], ids=["store", "hand_on"])
def test_global_memory_is_not(called):
    y = np.zeros(64, np.int32)
    outside[2, 32](y, check=True, template={"CALLED": called})
    assert np.array_equal(y, np.tile(np.arange(32), 2))
