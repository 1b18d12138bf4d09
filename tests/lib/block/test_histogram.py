"""block.fill and block.histogram: in shared memory and in global memory, over several tiles.

Tests of prism/lib/block: histogram, load.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.lang import (
    block,
    const,
    constexpr,
    count,
    dtype,
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
from tests.lib.oracles import SCHEDULES


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(C=dtype, ITEMS=constexpr(int), BINS=constexpr(int))
def counts(
    x: ptr(const(int32)) @ grid[1], y: ptr(C) @ grid[1], z: ptr(C) @ grid[1], n: int32 @ grid[1], tiles: int32 @ grid[1]
):
    with partition(y, block[1]) as target, partition(z, block[1]) as direct, group(block[1]):
        t: int32 @ thread[1] = id()
        threads: int32 @ block[1] = count(thread[1])
        items: int32[ITEMS] @ thread[1]
        bins: shared(C[BINS])
        block.fill(bins, 0, BINS)
        block.fill(direct, 0, BINS)
        for tile in range(tiles):
            first: int32 @ block[1] = tile * threads * ITEMS
            with partition(x, block[1], offset=first) as source:
                block.load_striped(source, items, n - first, -1)
            block.histogram(items, bins, BINS)
            block.histogram(items, direct, BINS)
        with partition(target, thread[1], offset=t) as mine, group(thread[1]):
            for b in range(t, BINS, threads):
                mine[b - t] = bins[b]


@pytest.mark.parametrize("kind", ["int32", "uint32", "uint64"])
@pytest.mark.parametrize(("threads", "items", "bins"), [(32, 1, 5), (96, 4, 256), (128, 3, 1000)])
def test_against_numpy(threads: int, items: int, bins: int, kind: str) -> None:
    n = 3 * threads * items - 5
    x = np.random.default_rng(0).integers(-2, bins + 2, n, dtype=np.int32)
    wanted = np.bincount(x[(x >= 0) & (x < bins)], minlength=bins)
    for schedule, seed in SCHEDULES[:3]:
        y, z = np.ones(bins, kind), np.ones(bins, kind)
        template = {"ITEMS": items, "BINS": bins}
        counts[1, threads](x, y, z, n, 3, template=template, check=True, schedule=schedule, seed=seed)
        assert np.array_equal(y, wanted)
        assert np.array_equal(z, wanted)


def test_it_compiles() -> None:
    assert package.compile(counts, {"C": "uint32", "ITEMS": 4, "BINS": 256}).cubin
