"""grid.histogram: what all blocks have counted, whatever their number and order."""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.interpret import SCHEDULES, BoundsError, RaceError, run
from prism.lang import (
    CompileError,
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
    shared,
    template,
    thread,
    uint32,
)
from tests.mutation import without_barriers


@prism("global")
@template(C=dtype, ITEMS=constexpr(int), BINS=constexpr(int), COPIES=constexpr(int, default=1))
@requires(grid[1], block[1], thread[64])
def counted(x: ptr(const(int32)) @ grid[1], bins: ptr(C) @ grid[1], n: int32 @ grid[1]):
    """Add to `bins` how often each number occurs; a tile a block."""
    first: int32 @ block[1] = 64 * ITEMS * id()
    with group(block[1]):
        counts: shared(uint32[BINS * COPIES])
        block.fill(counts, 0, BINS * COPIES)
        items: int32[ITEMS] @ thread[1]
        with partition(x, block[1], offset=first) as source:
            block.load_striped(source, items, n - first, -1)
        block.histogram(items, counts, BINS, COPIES=COPIES)
        grid.histogram(counts, bins, BINS, COPIES=COPIES)


def numbers(size: int, bins: int):
    return np.random.default_rng(size).integers(-2, bins + 2, size, dtype=np.int32)


@pytest.mark.parametrize("kind", ["int32", "uint32", "uint64"])
@pytest.mark.parametrize(("blocks", "items", "bins"), [(1, 2, 5), (4, 3, 256), (7, 1, 1000)])
def test_against_numpy(blocks: int, items: int, bins: int, kind: str) -> None:
    x = numbers(64 * items * blocks - 5, bins)
    wanted = np.bincount(x[(x >= 0) & (x < bins)], minlength=bins)
    for number, schedule in enumerate(SCHEDULES):
        found = np.full(bins, number, kind)
        template = {"ITEMS": items, "BINS": bins}
        counted[blocks, 64](x, found, len(x), template=template, check=True, schedule=schedule, seed=number)
        assert np.array_equal(found, wanted + number)  # added to what was there


def test_private_copies_are_added_up() -> None:
    x = numbers(600, 20)
    found = np.zeros(20, np.int64)
    counted[4, 64](x, found, len(x), template={"ITEMS": 3, "BINS": 20, "COPIES": 8}, check=True)
    assert np.array_equal(found, np.bincount(x[(x >= 0) & (x < 20)], minlength=20))


def test_each_inferred_barrier_is_needed() -> None:
    x, template = numbers(700, 100), {"C": "int32", "ITEMS": 4, "BINS": 100}
    mutants = list(without_barriers(package.check(counted, template)))
    assert mutants
    for _, mutant in mutants:
        with pytest.raises(RaceError, match="barrier"):
            for schedule in ("round-robin", "reversed", "random"):
                run(mutant, 3, 64, (x, np.zeros(100, np.int32), len(x)), check=True, schedule=schedule, seed=1)


def test_too_few_bins() -> None:
    with pytest.raises(BoundsError, match="bins"):
        counted[2, 64](numbers(128, 50), np.zeros(30, np.int32), 128, template={"ITEMS": 1, "BINS": 50}, check=True)


def test_bins_are_of_32_or_64_bits() -> None:
    with pytest.raises(CompileError, match="bins are of 32 or 64 bits"):
        package.check(counted, {"C": "uint16", "ITEMS": 1, "BINS": 50})


def test_it_compiles() -> None:
    assert package.compile(counted, {"C": "uint64", "ITEMS": 4, "BINS": 256}).cubin
