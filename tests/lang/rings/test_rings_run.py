"""Rings on the reference machine: any number of copies and of trips means the same program; each operation is needed."""

# ruff: noqa: F821 -- kernels: loops that only count, names that they declare
from __future__ import annotations

import numpy as np
import pytest

from prism.interpret import MachineError, run, schedules
from prism.lang import (
    CUtensorMap,
    attr,
    bf16,
    block,
    bulk_load,
    bulk_store,
    claim,
    const,
    constexpr,
    count,
    fragment,
    grid,
    group,
    id,
    one,
    partition,
    prism,
    ptr,
    requires,
    roles,
    shared,
    template,
    thread,
    tma_load,
    warp,
    warpgroup,
    wgmma,
)  # fmt: skip
from prism.lang.pipeline import build
from prism.lang.tree.plan import Arrive
from tests.lang.plans import words

SOME = 9
COPIES = [1, 2, 3, 7]


def trips(copies):
    return sorted({0, 1, copies - 1, copies, copies + 1, 2 * copies + 1})


@prism("global")
@attr("__launch_bounds__(96, 1)")
@requires(grid[1], block[1], warp[3])
@template(COPIES=constexpr(int))
def summed(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], rows: int @ grid[1], n: int @ grid[1]):
    """Row by row: what one thread loads, another warp doubles in place, and a third sums up."""
    with partition(y, block[1], offset=0) as out, group(block[1]):
        s: shared(float[32], ring=COPIES)
        doubling, summing, loading = roles(warp, 1, 1, 1)
        u: int @ thread[1] = id()
        total: float @ thread[1] = 0.0
        for r in range(rows):
            for i in range(n):
                with claim(s, loading) as t, one(thread):
                    bulk_load(t, x[(r * n + i) * 32])
                with claim(s, doubling) as t:
                    lane: int @ thread[1] = id()
                    with partition(t, thread[1], offset=lane) as mine, group(thread[1]):
                        mine[0] = mine[0] * 2.0
                with claim(s, summing) as t:
                    lane: int @ thread[1] = id()
                    with group(thread[1]):
                        total += t[31 - lane]
        with partition(out, thread[1], offset=u) as o, group(thread[1]):
            o[0] = total


@pytest.mark.parametrize("copies", COPIES)
def test_every_number_of_copies_and_trips_means_the_same(copies):
    program = build(summed, {"COPIES": copies})
    for n in trips(copies):
        x = np.arange(2 * max(n, 1) * 32, dtype=np.float32)
        wanted = np.zeros(96, np.float32)
        wanted[32:64] = 2 * x.reshape(-1, 32)[: 2 * n].sum(0)[::-1]
        for schedule, seed in schedules(SOME):
            y = np.ones(96, np.float32)
            run(program, 1, 96, [x, y, np.int32(2), np.int32(n)], check=True, schedule=schedule, seed=seed)
            np.testing.assert_array_equal(y, wanted, f"{n} trips, {schedule} {seed}")


@prism("global")
@attr("__launch_bounds__(96, 1)")
@requires(grid[1], block[1], warp[3])
@template(COPIES=constexpr(int), LATE=constexpr(int))
def through(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], rows: int @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0) as out, group(block[1]):
        s: shared(float[32], ring=COPIES)
        adding, storing = roles(warp, 2, 1)
        with claim(out, thread[1]) as o:
            for r in range(rows):
                for i in range(n):
                    with claim(s, adding) as t:
                        u: int @ thread[1] = id()
                        with partition(t, thread[1], lambda k: u % 32 + k, races="allow") as mine, group(thread[1]):
                            if u < 32:
                                mine[0] = x[(r * n + i) * 32 + u] + 1.0
                    with claim(s, storing, in_flight=LATE) as t, one(thread):
                        bulk_store(o[(r * n + i) * 32], t)


@pytest.mark.parametrize(("copies", "late"), [(1, 0), (2, 0), (2, 1), (3, 2), (7, 3)])
def test_stores_in_flight_are_drained(copies, late):
    program = build(through, {"COPIES": copies, "LATE": late})
    for n in trips(copies):
        x = np.arange(2 * max(n, 1) * 32, dtype=np.float32)
        for schedule, seed in schedules(SOME):
            y = np.zeros_like(x)
            run(program, 1, 96, [x, y, np.int32(2), np.int32(n)], check=True, schedule=schedule, seed=seed)
            np.testing.assert_array_equal(y, (x + 1) * (n > 0), f"{n} trips, {schedule} {seed}")


@prism("global")
@attr("__launch_bounds__(256, 1)")
@requires(grid[1], block[1], warpgroup[2])
@template(COPIES=constexpr(int), LATE=constexpr(int))
def product(
    map_a: const(CUtensorMap(bf16, 64, 64, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(bf16, 16, 64, swizzle=128)) @ grid[1],
    c: ptr(float) @ grid[1], tiles: int @ grid[1], n: int @ grid[1],
):  # fmt: skip
    with partition(c, block[1], offset=0) as c_block, group(block[1]):
        a: shared(bf16[64, 64], ring=COPIES, swizzle=128)
        b: shared(bf16[16, 64], ring=COPIES, swizzle=128)
        consumers, producer = roles(warpgroup, 1, 1)
        acc: fragment(float, 64, 16) @ warpgroup[1]
        t: int @ thread[1] = id()
        for tile in range(tiles):
            with consumers, group(thread[1]):
                for i in range(0, count(acc)):
                    acc[i] = 1.0
            for k in range(n):
                with claim(a, producer) as sa, claim(b, producer) as sb, one(thread):
                    tma_load(sa, map_a[tile * 64, k * 64])
                    tma_load(sb, map_b[0, k * 64])
                with claim(a, consumers, in_flight=LATE) as sa, claim(b, consumers, in_flight=LATE) as sb:
                    wgmma(acc, sa, sb)
            with partition(c_block, thread[1], offset=(tile * 256 + t) * 8) as mine:
                with consumers, group(thread[1]):
                    for i in range(0, count(acc)):
                        mine[i] = acc[i]


def halves(values):
    """Return bfloat16s, as uint16s, of integers that are exact in them."""
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def of_fragments(c, columns):
    """Return the matrices that threads have stored, a row of `c` each."""
    tiles, threads, items = c.shape
    found = np.zeros((tiles, 64, columns), c.dtype)
    t, i = np.meshgrid(np.arange(threads), np.arange(items), indexing="ij")
    lane = t % 32
    found[:, t // 32 * 16 + lane // 4 + i // 2 % 2 * 8, i // 4 * 8 + lane % 4 * 2 + i % 2] = c
    return found


@pytest.mark.parametrize(("copies", "late"), [(1, 0), (2, 0), (2, 1), (3, 2), (7, 1)])
def test_wgmmas_in_flight_over_an_outer_loop(copies, late):
    program = build(product, {"COPIES": copies, "LATE": late})
    random = np.random.default_rng(copies)
    for n in trips(copies)[:5]:
        a, b = random.integers(-3, 4, (128, 64 * max(n, 1))), random.integers(-3, 4, (16, 64 * max(n, 1)))
        wanted = 1.0 + (a @ b.T).reshape(2, 64, 16) * (n > 0)
        for schedule, seed in schedules(6 if copies < 7 else 4):
            c = np.zeros((2, 256, 8), np.float32)
            arguments = [halves(a), halves(b), c.reshape(-1), np.int32(2), np.int32(n)]
            run(program, 1, 256, arguments, check=True, schedule=schedule, seed=seed)
            np.testing.assert_array_equal(of_fragments(c[:, :128], 16), wanted, f"{n} trips, {schedule} {seed}")


# -- mutation ---------------------------------------------------------------------------------------------------------------


def survivors(kernel, template, threads, arguments, schedules_=10):
    """Return the operations and barriers that may be left out, and no schedule tells."""
    program = build(kernel, template)
    plan = program.plans[program.entry]
    found = []
    for step in (*plan.barriers, *plan.operations):
        mutant = program.with_plan(plan.drop_step(step))
        try:
            for schedule, seed in schedules(schedules_):
                fresh = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
                run(mutant, 1, threads, fresh, check=True, schedule=schedule, seed=seed)
        except MachineError:
            continue
        found.append(step)
    return found


def test_each_operation_of_three_stations_is_needed():
    x = np.arange(2 * 7 * 32, dtype=np.float32)
    assert survivors(summed, {"COPIES": 2}, 96, [x, np.zeros(96, np.float32), np.int32(2), np.int32(7)]) == []


def test_each_operation_of_stores_in_flight_is_needed_but_the_drains_arrival():
    """Without it the next rounds say it as well, only later: it lets the other side run ahead meanwhile."""
    x = np.arange(2 * 7 * 32, dtype=np.float32)
    found = survivors(through, {"COPIES": 3, "LATE": 1}, 96, [x, x.copy(), np.int32(2), np.int32(7)])
    assert [words(step) for step in found] == ["arrive s_read late 1 drain"]
    assert all(isinstance(step, Arrive) for step in found)


def test_each_operation_of_a_product_is_needed_but_the_drains_arrival():
    arguments = [
        np.zeros((128, 256), np.uint16), np.zeros((16, 256), np.uint16), np.zeros(4096, np.float32), np.int32(2), np.int32(4),
    ]  # fmt: skip
    found = survivors(product, {"COPIES": 2, "LATE": 1}, 256, arguments, schedules_=8)
    assert [words(step) for step in found] == ["arrive a_b_read by warps late 1 drain"]
