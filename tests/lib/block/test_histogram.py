"""block.fill and block.histogram: in shared memory and in global memory, over several tiles.

Tests of prism/lib/block: histogram, load.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.lang import (
    CompileError,
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


@prism("global")
@requires(grid[1], block[1], thread["HAS"])
@template(HAS=constexpr(int), THREADS=constexpr(int), SIZE=constexpr(int))
def filled(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1]) as target, group(block[1]):
        block.fill(target, 7, n, THREADS=THREADS)
        block.fill(target, 8, SIZE, THREADS=THREADS)


@pytest.mark.parametrize("threads", [32, 96])
@pytest.mark.parametrize(("n", "size"), [(0, 0), (1, 0), (31, 1), (96, 5), (97, 96), (300, 193)])
def test_a_fill_by_a_known_number_of_threads(n: int, size: int, threads: int) -> None:
    """All that it should write, and nothing behind."""
    for schedule, seed in SCHEDULES[:3]:
        y = np.zeros(n + threads, np.int32)
        template = {"HAS": threads, "THREADS": threads, "SIZE": size}
        filled[1, threads](y, n, template=template, check=True, schedule=schedule, seed=seed)
        assert (y[:size] == 8).all() and (y[size:n] == 7).all() and not y[n:].any()


def test_a_fill_knows_the_threads_of_its_block() -> None:
    package.check(filled, {"HAS": 64, "THREADS": 64, "SIZE": 9})
    with pytest.raises(CompileError, match="a block has `THREADS` threads"):
        package.check(filled, {"HAS": 64, "THREADS": 32, "SIZE": 9})


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


@prism("global")
@requires(grid[1], block[1], thread[64])
@template(C=dtype, COPIES=constexpr(int), WEIGHTED=constexpr(bool))
def copied(x: ptr(const(int32)) @ grid[1], weights: ptr(const(C)) @ grid[1], y: ptr(C) @ grid[1]):
    """Private copies; item 9 is the last one, and none is outside."""
    with partition(y, block[1]) as target, group(block[1]):
        t: int32 @ thread[1] = id()
        items: int32[3] @ thread[1]
        heavy: C[3] @ thread[1]
        bins: shared(C[10 * COPIES])
        block.fill(bins, 0, 10 * COPIES)
        block.load_striped(x, items, 192, 0)
        block.load_striped(weights, heavy, 192, 0)
        if WEIGHTED:
            block.add_weights(items, heavy, bins, 9, COPIES=COPIES)
        else:
            block.histogram(items, bins, 10, COPIES=COPIES, WITHIN=True)
        with partition(target, thread[1], offset=t) as mine, group(thread[1]):
            for b in range(t, 10 * COPIES, 64):
                mine[b - t] = bins[b]


@pytest.mark.parametrize(
    ("copies", "kind", "weighted"), [(1, "uint64", False), (8, "uint32", False), (4, "float64", True)]
)
def test_private_copies(copies: int, kind: str, weighted: bool) -> None:
    random = np.random.default_rng(copies)
    x, weights = random.integers(0, 10, 192, dtype=np.int32), random.integers(0, 9, 192).astype(kind)
    y = np.zeros(10 * copies, kind)
    copied[1, 64](x, weights, y, template={"COPIES": copies, "WEIGHTED": weighted}, check=True)
    for c in range(copies):
        mine = np.arange(192) % 64 % copies == c
        wanted = np.bincount(x[mine], weights[mine] if weighted else None, 10)
        wanted[9] *= not weighted  # the bins are 9: one that is outside is left out
        assert np.array_equal(y[c::copies], wanted)


def test_copies_are_a_power_of_two() -> None:
    with pytest.raises(CompileError, match=r"2\^k copies"):
        package.check(copied, {"C": "uint32", "COPIES": 3, "WEIGHTED": False})


def test_it_compiles() -> None:
    assert package.compile(counts, {"C": "uint32", "ITEMS": 4, "BINS": 256}).cubin
