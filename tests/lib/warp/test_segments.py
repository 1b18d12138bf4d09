"""warp.scan_segments and warp.reduce_segments, against their definition, with heads everywhere, nowhere and at random.

Tests of prism/lib/warp/segments.py.
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
    uint8,
    warp,
)
from tests.lib.oracles import SOME, Case, heads_of


@prism("global")
@requires(grid[1], thread[32])
@template(T=dtype, OP=function, ITEMS=constexpr(int), WIDTH=constexpr(int), EXCLUSIVE=constexpr(bool))
def scanned(
    x: ptr(const(T)) @ grid[1],
    heads: ptr(const(uint8)) @ grid[1],
    y: ptr(T) @ grid[1],
    ends: ptr(T) @ grid[1],
    before: T @ grid[1],
    identity: T @ grid[1],
):
    i: int32 @ thread[1] = id()
    first: int32 @ thread[32] = 32 * ITEMS * id()
    items: T[ITEMS] @ thread[1]
    marks: uint8[ITEMS] @ thread[1]
    flags: bool[ITEMS] @ thread[1]
    with partition(x, thread[32], offset=first) as source, partition(heads, thread[32], offset=first) as flagged:
        warp.load(source, items, 32 * ITEMS, identity, WIDTH=WIDTH, VECTORIZED=False)
        warp.load(flagged, marks, 32 * ITEMS, 0, WIDTH=WIDTH, VECTORIZED=False)
    with group(thread[1]):
        for k in range(ITEMS):
            flags[k] = marks[k] != 0
    end: T @ thread[32] = warp.scan_segments(items, flags, before, identity, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE)
    with partition(y, thread[32], offset=first) as target:
        warp.store(target, items, 32 * ITEMS, WIDTH=WIDTH, VECTORIZED=False)
    with partition(ends, thread[1], offset=i) as own:
        with group(thread[1]):
            own[0] = end


@prism("global")
@requires(grid[1], thread[32])
@template(T=dtype, OP=function)
def reduced(x: ptr(const(T)) @ grid[1], heads: ptr(const(uint8)) @ grid[1], y: ptr(T) @ grid[1]):
    i: int32 @ thread[1] = id()
    value: T @ thread[1] = x[i]
    sum: T @ thread[1] = warp.reduce_segments(value, heads[i] != 0, OP=OP)
    with partition(y, thread[1], offset=i) as own:
        with group(thread[1]):
            own[0] = sum


@pytest.mark.parametrize("case", SOME, ids=str)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(("items", "width"), [(1, 1), (4, 4), (6, 2)])
def test_scan(case: Case, items: int, width: int, exclusive: bool) -> None:
    x, before = case.data(64 * items), case.data(20, seed=1)[-1]
    for density in (0.0, 0.02, 0.3, 1.0):
        heads = heads_of(64 * items, density)
        y, ends = np.zeros_like(x), np.zeros(64, case.dtype)
        template = {"OP": case.function, "ITEMS": items, "WIDTH": width, "EXCLUSIVE": exclusive}
        scanned[1, 64](x, heads, y, ends, before, case.identity, template=template, check=True)
        for w in range(2):
            part = slice(w * 32 * items, (w + 1) * 32 * items)
            wanted, end = case.segmented(x[part], heads[part], before, exclusive)
            assert np.array_equal(y[part], wanted)
            assert (ends[32 * w : 32 * w + 32] == end).all()


@pytest.mark.parametrize("case", SOME, ids=str)
@pytest.mark.parametrize("density", [0.0, 0.02, 0.3, 1.0])
def test_reduce(case: Case, density: float) -> None:
    x, heads = case.data(96), heads_of(96, density)
    y = np.zeros_like(x)
    reduced[1, 96](x, heads, y, template={"OP": case.function}, check=True)
    for w in range(3):
        part = slice(32 * w, 32 * w + 32)
        assert np.array_equal(y[part], case.of_segments(x[part], heads[part]))
