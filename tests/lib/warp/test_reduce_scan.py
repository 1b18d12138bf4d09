"""warp.reduce and warp.scan, against their definition: order kept, all lanes given the result.

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
@template(T=dtype, OP=function)
def sums(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1]):
    t: int32 @ thread[1] = id()
    value: T @ thread[1] = x[t]
    sum: T @ thread[32] = warp.reduce(value, OP=OP)
    with partition(y, thread[1], offset=t) as own:
        with group(thread[1]):
            own[0] = sum


@prism("global")
@requires(grid[1], thread[32])
@template(T=dtype, OP=function, ITEMS=constexpr(int), WIDTH=constexpr(int), EXCLUSIVE=constexpr(bool))
def runs(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], totals: ptr(T) @ grid[1], identity: T @ grid[1]):
    t: int32 @ thread[1] = id()
    w: int32 @ thread[32] = id()
    items: T[ITEMS] @ thread[1]
    with partition(x, thread[32], offset=w * 32 * ITEMS) as source:
        warp.load(source, items, 32 * ITEMS, identity, WIDTH=WIDTH, VECTORIZED=False)
    total: T @ thread[32] = warp.scan(items, identity, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE)
    with partition(y, thread[32], offset=w * 32 * ITEMS) as target:
        warp.store(target, items, 32 * ITEMS, WIDTH=WIDTH, VECTORIZED=False)
    with partition(totals, thread[1], offset=t) as own:
        with group(thread[1]):
            own[0] = total


@pytest.mark.parametrize("case", CASES, ids=str)
def test_reduce(case: Case) -> None:
    x = case.data(96)
    y = np.zeros_like(x)
    sums[1, 96](x, y, template={"OP": case.function}, check=True)
    assert np.array_equal(y.reshape(3, 32), [[case.inclusive(run)[-1]] * 32 for run in x.reshape(3, 32)])


@pytest.mark.covering(2)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(("items", "width"), [(1, 1), (4, 4), (6, 2)])
def test_scan(case: Case, items: int, width: int, exclusive: bool) -> None:
    x = case.data(64 * items)
    y, totals = np.zeros_like(x), np.zeros(64, case.dtype)
    template = {"OP": case.function, "ITEMS": items, "WIDTH": width, "EXCLUSIVE": exclusive}
    runs[1, 64](x, y, totals, case.identity, template=template, check=True)
    for run, found, total in zip(x.reshape(2, -1), y.reshape(2, -1), totals.reshape(2, 32), strict=True):
        assert np.array_equal(found, case.exclusive(run) if exclusive else case.inclusive(run))
        assert (total == case.inclusive(run)[-1]).all()
