"""block.scan_initial, scan_valid and scan_both, against their definition, from any initial value and for partial tiles.

Tests of prism/lib/block/scan.py.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.lang import (
    block,
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
from tests.lib.oracles import CASES, SCHEDULES, SOME, Case


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(
    T=dtype, OP=function, ITEMS=constexpr(int), WIDTH=constexpr(int), EXCLUSIVE=constexpr(bool), PARTIAL=constexpr(bool)
)
def tiles(
    x: ptr(const(T)) @ grid[1],
    y: ptr(T) @ grid[1],
    totals: ptr(T) @ grid[1],
    n: int32 @ grid[1],
    valid: int32 @ grid[1],
    initial: T @ grid[1],
):
    t: int32 @ thread[1] = id()
    with partition(totals, thread[1], offset=t) as own, partition(y, block[1]) as target, group(block[1]):
        items: T[ITEMS] @ thread[1]
        total: T @ block[1] = initial
        block.load(x, items, n, initial, WIDTH=WIDTH, VECTORIZED=False)
        if PARTIAL:
            total = block.scan_valid(items, initial, valid, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE)
        else:
            total = block.scan_initial(items, initial, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE)
        block.store(target, items, n, WIDTH=WIDTH, VECTORIZED=False)
        with group(thread[1]):
            own[0] = total


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(T=dtype, OP=function, ITEMS=constexpr(int), WIDTH=constexpr(int))
def both(
    x: ptr(const(T)) @ grid[1],
    y: ptr(T) @ grid[1],
    z: ptr(T) @ grid[1],
    totals: ptr(T) @ grid[1],
    n: int32 @ grid[1],
    initial: T @ grid[1],
):
    t: int32 @ thread[1] = id()
    with partition(totals, thread[1], t) as own, partition(y, block[1]) as first, partition(z, block[1]) as second:
        with group(block[1]):
            items: T[ITEMS] @ thread[1]
            before: T[ITEMS] @ thread[1]
            block.load(x, items, n, initial, WIDTH=WIDTH, VECTORIZED=False)
            total: T @ block[1] = block.scan_both(items, before, initial, WIDTH=WIDTH, OP=OP)
            block.store(first, items, n, WIDTH=WIDTH, VECTORIZED=False)
            block.store(second, before, n, WIDTH=WIDTH, VECTORIZED=False)
            with group(thread[1]):
                own[0] = total


SHAPES = [(32, 1, 1), (96, 4, 2), (256, 4, 4), (64, 3, 1)]


@pytest.mark.covering(2)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(("threads", "items", "width"), SHAPES)
def test_from_an_initial_value(case: Case, threads: int, items: int, width: int, exclusive: bool) -> None:
    tile = threads * items
    x, initial = case.data(tile), case.data(20, seed=1)[-1]
    seeded = case.inclusive(np.concatenate([[initial], x]).astype(case.dtype))
    template = {"OP": case.function, "ITEMS": items, "WIDTH": width, "EXCLUSIVE": exclusive, "PARTIAL": False}
    for schedule, seed in SCHEDULES[:3]:
        y, totals = np.zeros_like(x), np.zeros(threads, case.dtype)
        arguments = (x, y, totals, tile, tile, initial)
        tiles[1, threads](*arguments, template=template, check=True, schedule=schedule, seed=seed)
        assert np.array_equal(y, seeded[:-1] if exclusive else seeded[1:])
        assert (totals == seeded[-1]).all()


@pytest.mark.covering(2)
@pytest.mark.parametrize("case", SOME, ids=str)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(("threads", "items", "width"), SHAPES)
def test_the_first_elements_only(case: Case, threads: int, items: int, width: int, exclusive: bool) -> None:
    tile = threads * items
    x, initial = case.data(tile), case.data(20, seed=1)[-1]
    template = {"OP": case.function, "ITEMS": items, "WIDTH": width, "EXCLUSIVE": exclusive, "PARTIAL": True}
    for valid in sorted({2**31 - 1, tile, tile - 1, min(33 * items, tile), 33, 1, 0, -4} - {33 if tile < 33 else -1}):
        y, totals = np.zeros_like(x), np.zeros(threads, case.dtype)
        tiles[1, threads](x, y, totals, tile, valid, initial, template=template, check=True)
        own = x[: max(valid, 0)]
        seeded = case.inclusive(np.concatenate([[initial], own]).astype(case.dtype))
        assert np.array_equal(y, [*(seeded[:-1] if exclusive else seeded[1:]), *x[len(own) :]])
        assert (totals == seeded[-1]).all()


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize(("threads", "items", "width"), SHAPES[:2])
def test_both_at_once(case: Case, threads: int, items: int, width: int) -> None:
    tile = threads * items
    x, initial = case.data(tile), case.data(20, seed=1)[-1]
    seeded = case.inclusive(np.concatenate([[initial], x]).astype(case.dtype))
    y, z, totals = np.zeros_like(x), np.zeros_like(x), np.zeros(threads, case.dtype)
    template = {"OP": case.function, "ITEMS": items, "WIDTH": width}
    both[1, threads](x, y, z, totals, tile, initial, template=template, check=True)
    assert np.array_equal(y, seeded[1:]) and np.array_equal(z, seeded[:-1])
    assert (totals == seeded[-1]).all()


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "int8"])
def test_one_barrier_and_they_compile(kind: str) -> None:
    for partial in (False, True):
        template = {"T": kind, "OP": CASES[0].function, "ITEMS": 4, "WIDTH": 2, "EXCLUSIVE": True, "PARTIAL": partial}
        program = package.check(tiles, template)
        assert [b.kind for plan in program.plans.values() for b in plan.barriers] == ["block"]
        assert package.compile(tiles, template).cubin
