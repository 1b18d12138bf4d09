"""The element of a rank, found by a block without sorting.

Tests of prism/lib/block: rank.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.interpret import RaceError, run
from prism.lang import (
    block,
    const,
    constexpr,
    dtype,
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
    uint32,
)
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers

FIRST = {"T": "uint32", "ITEMS": 3, "THREADS": 64}
SIZES = {"U": "uint32", "BITS": 32, "THREADS": 64}


@prism("global")
@template(U=dtype, BITS=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
def ranked(
    x: ptr(const(U)) @ grid[1],
    some: ptr(const(int32)) @ grid[1],
    y: ptr(U) @ grid[1],
    n: int32 @ grid[1],
    rank: int32 @ grid[1],
):
    with partition(y, block[1], 3 * id()) as out, group(block[1]):
        t: int32 @ thread[1] = id()

        @requires(thread[1])
        def key_at(i: int32 @ thread[1]) -> U @ thread[1]:
            return x[i]

        @requires(thread[1])
        def is_one(i: int32 @ thread[1]) -> bool @ thread[1]:
            return some[i] != 0

        key: U @ block[1] = 0
        below: int32 @ block[1] = 0
        equal: int32 @ block[1] = 0
        key, below, equal = block.select_rank(n, rank, U=U, KEY=key_at, COUNTS=is_one, BITS=BITS, THREADS=THREADS)
        with partition(out, thread[1], offset=0, races="none") as mine, group(thread[1]):
            if t == 0:
                mine[0] = key
                mine[1] = U(below)
                mine[2] = U(equal)


@prism("device")
@requires(thread[1])
def tens(a: uint32 @ thread[1]) -> uint32 @ thread[1]:
    """All but the last digit, so that equal elements can be told apart."""
    return a // 10


@prism("global")
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
def firsts(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], k: int32 @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], t) as mine, group(block[1]):
        items: T[ITEMS] @ thread[1]
        with group(thread[1]):
            for j in range(ITEMS):
                items[j] = x[t * ITEMS + j]
        block.top_k(items, k, U=uint32, KEY=tens, BITS=32, THREADS=THREADS)
        with group(thread[1]):
            for j in range(ITEMS):
                if j * THREADS + t < k:
                    mine[j * THREADS] = items[j]


def take(k: int, mutant=None, **options) -> None:
    """The first `k` by a stable sort, in their order in the tile; what is behind stays."""
    x = np.random.default_rng(k).integers(0, 400, 192, dtype=np.uint32)
    y = np.zeros(192, np.uint32)
    run(mutant or package.check(firsts, FIRST), 1, 64, (x, y, k), check=True, **options)
    assert np.array_equal(y[:k], x[np.sort(np.argsort(x // 10, kind="stable")[:k])]) and not y[k:].any()


def test_the_first_of_a_tile() -> None:
    for k in (1, 2, 31, 63, 64, 65, 100, 191, 192):
        take(k)


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_the_first_of_a_tile_on_every_schedule(schedule: str, seed: int) -> None:
    take(100, schedule=schedule, seed=seed)


def test_each_inferred_barrier_of_top_k_is_needed() -> None:
    found = list(without_barriers(package.check(firsts, FIRST)))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule, seed in SCHEDULES:
                take(100, mutant=mutant, schedule=schedule, seed=seed)


def check(
    n: int, rank: int, *, kind: str = "uint32", bits: int = 32, top: int = 50, share=1.0, mutant=None, seed=0, **options
) -> None:
    random = np.random.default_rng(seed)
    x = random.integers(0, top, n, dtype=kind)
    some = (random.random(n) < share).astype(np.int32)
    some[0] = 1
    y = np.zeros(3, kind)
    rank = min(rank, int(some.sum()) - 1)
    code = mutant or package.check(ranked, {**SIZES, "U": kind, "BITS": bits})
    run(code, 1, 64, (x, some, y, n, rank), check=True, **options)
    kept = np.sort(x[some != 0])
    assert y[0] == kept[rank]
    assert y[1] == (kept < y[0]).sum() and y[2] == (kept == y[0]).sum()


def test_ranks() -> None:
    """Each size with each kind of numbers, and each of both with the first, the middle and the last rank."""
    kinds = (
        {},
        {"top": 1 << 32},
        {"share": 0.3},
        {"kind": "uint64", "bits": 64, "top": 1 << 63},
        {"bits": 16, "top": 1 << 16},
    )
    for number, n in enumerate((1, 31, 64, 255, 256, 257, 1000)):
        for other, options in enumerate(kinds):
            check(n, (0, n // 2, n - 1)[(number + other) % 3], **options)


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_every_schedule(schedule: str, seed: int) -> None:
    check(500, 77, top=1 << 20, schedule=schedule, seed=seed)


def test_each_inferred_barrier_is_needed() -> None:
    found = list(without_barriers(package.check(ranked, SIZES)))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule, seed in SCHEDULES:
                check(500, 77, top=1 << 20, mutant=mutant, schedule=schedule, seed=seed)
