"""warp.reduce_groups and warp.scan_groups: every power of two of lanes, order kept, groups kept apart.

Tests of prism/lib/warp: reduce, scan.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

from prism.lang import (
    const,
    constexpr,
    dtype,
    function,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    template,
    thread,
    warp,
)
from tests.lib.oracles import CASES, Case


@prism("global")
@requires(grid[1], thread[32])
@template(T=dtype, OP=function, SIZE=constexpr(int), EXCLUSIVE=constexpr(bool))
def groups(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], z: ptr(T) @ grid[1], initial: T @ grid[1]):
    i: int32 @ thread[1] = id()
    value: T @ thread[1] = x[i]
    sum: T @ thread[1] = warp.reduce_groups(value, OP=OP, SIZE=SIZE)
    value = warp.scan_groups(value, initial, OP=OP, SIZE=SIZE, EXCLUSIVE=EXCLUSIVE)
    with partition(y, thread[1], offset=i) as own, partition(z, thread[1], offset=i) as other:
        with group(thread[1]):
            own[0] = sum
            other[0] = value


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 32])
def test_each_group_has_its_own(case: Case, size: int, exclusive: bool) -> None:
    x, initial = case.data(64), case.data(20, seed=1)[-1]
    y, z = np.zeros_like(x), np.zeros_like(x)
    template = {"OP": case.function, "SIZE": size, "EXCLUSIVE": exclusive}
    groups[1, 64](x, y, z, initial, template=template, check=True)
    for k in range(0, 64, size):
        run = x[k : k + size]
        seeded = case.inclusive(np.concatenate([[initial], run]).astype(case.dtype))
        assert (y[k : k + size] == case.inclusive(run)[-1]).all()
        assert np.array_equal(z[k : k + size], seeded[:-1] if exclusive else seeded[1:])
