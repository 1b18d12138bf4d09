"""thread.reduce_valid and thread.scan_valid, against their definition; what is not valid is not touched.

Tests of prism/lib/thread: reduce, scan.
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
)
from tests.lib.oracles import CASES, Case


@prism("global")
@requires(grid[1], thread[1])
@template(T=dtype, OP=function, ITEMS=constexpr(int), EXCLUSIVE=constexpr(bool))
def each(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], sums: ptr(T) @ grid[1], valid: int32 @ grid[1], before: T @ grid[1]
):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t * ITEMS) as out:
        with partition(sums, thread[1], offset=2 * t) as sum:
            with group(thread[1]):
                items: T[ITEMS]
                for k in range(ITEMS):
                    items[k] = x[t * ITEMS + k]
                sum[0] = thread.reduce_valid(items, valid - t, before, OP=OP)
                sum[1] = thread.scan_valid(items, before, valid - t, OP=OP, EXCLUSIVE=EXCLUSIVE)
                for k in range(ITEMS):
                    out[k] = items[k]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("items", [1, 2, 7])
def test_against_the_definition(case: Case, items: int, exclusive: bool) -> None:
    x = case.data(12 * items)
    before = case.data(20, seed=1)[-1]
    y, sums = np.zeros_like(x), np.zeros(24, case.dtype)
    template = {"OP": case.function, "ITEMS": items, "EXCLUSIVE": exclusive}
    each[1, 12](x, y, sums, 9, before, template=template, check=True)
    for t in range(12):
        own = x[t * items : (t + 1) * items]
        valid = min(max(9 - t, 0), items)
        seeded = case.inclusive(np.concatenate([[before], own[:valid]]).astype(case.dtype))
        scanned = seeded[:-1] if exclusive else seeded[1:]
        assert np.array_equal(y[t * items : (t + 1) * items], [*scanned, *own[valid:]])
        assert sums[2 * t] == (case.inclusive(own[:valid])[-1] if valid else before)
        assert sums[2 * t + 1] == seeded[-1]
