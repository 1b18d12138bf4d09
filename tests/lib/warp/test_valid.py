"""warp.reduce_valid, warp.scan_valid and warp.scan_both, against their definition, from any initial value.

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
def sums(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], valid: int32 @ grid[1], otherwise: T @ grid[1]):
    i: int32 @ thread[1] = id()
    w: int32 @ thread[32] = id()
    value: T @ thread[1] = x[i]
    sum: T @ thread[32] = warp.reduce_valid(value, valid - 32 * w, otherwise, OP=OP)
    with partition(y, thread[1], offset=i) as own:
        with group(thread[1]):
            own[0] = sum


@prism("global")
@requires(grid[1], thread[32])
@template(T=dtype, OP=function, ITEMS=constexpr(int), WIDTH=constexpr(int), EXCLUSIVE=constexpr(bool))
def runs(
    x: ptr(const(T)) @ grid[1],
    y: ptr(T) @ grid[1],
    totals: ptr(T) @ grid[1],
    valid: int32 @ grid[1],
    initial: T @ grid[1],
):
    i: int32 @ thread[1] = id()
    first: int32 @ thread[32] = 32 * ITEMS * id()
    items: T[ITEMS] @ thread[1]
    with partition(x, thread[32], offset=first) as source:
        warp.load(source, items, 32 * ITEMS, initial, WIDTH=WIDTH, VECTORIZED=False)
    total: T @ thread[32] = warp.scan_valid(items, initial, valid - first, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE)
    with partition(y, thread[32], offset=first) as target:
        warp.store(target, items, 32 * ITEMS, WIDTH=WIDTH, VECTORIZED=False)
    with partition(totals, thread[1], offset=i) as own:
        with group(thread[1]):
            own[0] = total


@prism("global")
@requires(grid[1], thread[32])
@template(T=dtype, OP=function, ITEMS=constexpr(int), WIDTH=constexpr(int))
def both(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], z: ptr(T) @ grid[1], totals: ptr(T) @ grid[1], initial: T @ grid[1]
):
    i: int32 @ thread[1] = id()
    first: int32 @ thread[32] = 32 * ITEMS * id()
    items: T[ITEMS] @ thread[1]
    exclusive: T[ITEMS] @ thread[1]
    with partition(x, thread[32], offset=first) as source:
        warp.load(source, items, 32 * ITEMS, initial, WIDTH=WIDTH, VECTORIZED=False)
    total: T @ thread[32] = warp.scan_both(items, exclusive, initial, WIDTH=WIDTH, OP=OP)
    with partition(y, thread[32], offset=first) as target, partition(z, thread[32], offset=first) as other:
        warp.store(target, items, 32 * ITEMS, WIDTH=WIDTH, VECTORIZED=False)
        warp.store(other, exclusive, 32 * ITEMS, WIDTH=WIDTH, VECTORIZED=False)
    with partition(totals, thread[1], offset=i) as own:
        with group(thread[1]):
            own[0] = total


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("valid", [0, 1, 31, 32, 45, 64, 2**31 - 1])
def test_reduce(case: Case, valid: int) -> None:
    x, otherwise = case.data(64), case.data(20, seed=1)[-1]
    y = np.zeros_like(x)
    sums[1, 64](x, y, valid, otherwise, template={"OP": case.function}, check=True)
    for w, run in enumerate(x.reshape(2, 32)):
        own = run[: max(valid - 32 * w, 0)]
        assert (y[32 * w : 32 * w + 32] == (case.inclusive(own)[-1] if len(own) else otherwise)).all()


@pytest.mark.covering(2)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(("items", "width"), [(1, 1), (4, 4), (6, 2)])
def test_scan(case: Case, items: int, width: int, exclusive: bool) -> None:
    x, initial = case.data(64 * items), case.data(20, seed=1)[-1]
    for valid in {2**31 - 1, 64 * items, 64 * items - 1, 32 * items + 1, 32 * items, 33, 1, 0}:
        y, totals = np.zeros_like(x), np.zeros(64, case.dtype)
        template = {"OP": case.function, "ITEMS": items, "WIDTH": width, "EXCLUSIVE": exclusive}
        runs[1, 64](x, y, totals, valid, initial, template=template, check=True)
        for w, run in enumerate(x.reshape(2, -1)):
            own = run[: max(valid - 32 * items * w, 0)]
            seeded = case.inclusive(np.concatenate([[initial], own]).astype(case.dtype))
            wanted = [*(seeded[:-1] if exclusive else seeded[1:]), *run[len(own) :]]
            assert np.array_equal(y.reshape(2, -1)[w], wanted)
            assert (totals.reshape(2, 32)[w] == seeded[-1]).all()


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize(("items", "width"), [(1, 1), (6, 2)])
def test_both_at_once(case: Case, items: int, width: int) -> None:
    x, initial = case.data(64 * items), case.data(20, seed=1)[-1]
    y, z, totals = np.zeros_like(x), np.zeros_like(x), np.zeros(64, case.dtype)
    template = {"OP": case.function, "ITEMS": items, "WIDTH": width}
    both[1, 64](x, y, z, totals, initial, template=template, check=True)
    for w, run in enumerate(x.reshape(2, -1)):
        seeded = case.inclusive(np.concatenate([[initial], run]).astype(case.dtype))
        assert np.array_equal(y.reshape(2, -1)[w], seeded[1:])
        assert np.array_equal(z.reshape(2, -1)[w], seeded[:-1])
        assert (totals.reshape(2, 32)[w] == seeded[-1]).all()
