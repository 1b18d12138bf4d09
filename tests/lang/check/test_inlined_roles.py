"""Functions that take rings and roles: a pipeline as a value, and the lines in its place.

Tests of prism/lang/check/inlined.py.
"""

# ruff: noqa: F821, I001 -- names that kernels declare

from __future__ import annotations

import re

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, MachineError, run
from prism.lang import (
    CUtensorMap, attr, block, bulk_load, claim, column, const, constexpr, count, dtype, float32, fragment, grid, group, half, id,
    int32, one, partition, ptr, requires, roles, row, shared, template, thread, tma_load, warp, warpgroup, wgmma,
)  # fmt: skip
from prism.lang import prism as mark
from prism.lang.tree.inlined import parts
from prism.lang.tree.plan import Wait
from tests.lang.check.test_inlined import steps

random = np.random.default_rng(11)


def same_code(kernel, by_hand, **template):
    """Whether two kernels are the same PTX, but for their names, their lines and the numbers of labels and registers."""
    one, other = (prism.compile(k, template, arch="sm_90a").ptx for k in (kernel, by_hand))
    return _plain(one, kernel) == _plain(other, by_hand)


def _plain(ptx, kernel):
    return re.sub(r"^\s*(\.loc|\.file|//).*\n", "", ptx.replace(kernel.__name__, "NAME"), flags=re.M)


# -- a ring of rows ---------------------------------------------------------------------------------------------------


@mark("device")
@template(T=dtype, N=constexpr(int), COPIES=constexpr(int), WARPS=constexpr(int))
@requires(block[1], thread[96])
def add_rows(
    rows: shared(T[N], ring=COPIES) @ block[1], adders: roles(warp, WARPS), loader: roles(warp, 1),
    total: T[1] @ thread[1], x: ptr(const(T)) @ grid[1], first: int32 @ block[1], n: int32 @ block[1],
):  # fmt: skip
    t: int32 @ thread[1] = id()
    for k in range(n):
        with claim(rows, loader) as coming, one(thread):
            bulk_load(coming, x[first + N * k])
        with claim(rows, adders) as here, group(thread[1]):
            total[0] += here[t]


@mark("global")
@requires(grid[1], block[1], warp[3])
@attr("__launch_bounds__(96)")
def sums(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1], tiles: int32 @ grid[1]):
    b: int32 @ block[1] = id()
    blocks: int32 @ grid[1] = count(block[1])
    with partition(y, block[1], 0, races="none") as out, group(block[1]):
        rows: shared(float32[64], ring=3)
        users, filler = roles(warp, 2, 1)
        for tile in range(b, tiles, blocks):
            total: float32[1] @ thread[1] = {0}
            add_rows(rows, users, filler, total, x, 64 * n * tile, n)
            t: int32 @ thread[1] = id()
            with partition(out, thread[1], 64 * tile + t, races="none") as mine, users, group(thread[1]):
                mine[0] = total[0]


@mark("global")
@requires(grid[1], block[1], warp[3])
@attr("__launch_bounds__(96)")
def sums_by_hand(
    x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1], tiles: int32 @ grid[1]
):
    b: int32 @ block[1] = id()
    blocks: int32 @ grid[1] = count(block[1])
    with partition(y, block[1], 0, races="none") as out, group(block[1]):
        rows: shared(float32[64], ring=3)
        users, filler = roles(warp, 2, 1)
        for tile in range(b, tiles, blocks):
            total: float32[1] @ thread[1] = {0}
            first: int32 @ block[1] = 64 * n * tile
            t: int32 @ thread[1] = id()
            for k in range(n):
                with claim(rows, filler) as coming, one(thread):
                    bulk_load(coming, x[first + 64 * k])
                with claim(rows, users) as here, group(thread[1]):
                    total[0] += here[t]
            with partition(out, thread[1], 64 * tile + t, races="none") as mine, users, group(thread[1]):
                mine[0] = total[0]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_ring_and_its_roles(schedule):
    x, y = random.integers(-9, 9, (5, 4, 64)).astype(np.float32), np.zeros((5, 64), np.float32)
    sums[2, 96](x.ravel(), y.ravel(), 4, 5, check=True, schedule=schedule)
    assert np.array_equal(y, x.sum(axis=1))


def test_the_plan_and_the_code_are_those_of_the_lines_in_their_place():
    assert steps(sums) == steps(sums_by_hand)
    assert same_code(sums, sums_by_hand)


def without(program, wait, launch, arguments):
    """Return what the machine reports of a program without one wait, on the first schedule that shows it."""
    plan = program.plans[program.entry]
    with pytest.raises(MachineError) as caught:
        for schedule in SCHEDULES:
            run(program.with_plan(plan.drop_step(wait)), *launch, arguments, check=True, schedule=schedule)
    return str(caught.value)


def waits(program):
    """Return the waits of a kernel's plan."""
    return [step for step in program.plans[program.entry].operations if isinstance(step, Wait)]


def test_each_wait_is_needed():
    program = prism.check(sums)
    assert len(waits(program)) == 2
    for wait in waits(program):
        x, y = np.ones((5, 4, 64), np.float32), np.zeros((5, 64), np.float32)
        assert "`add_rows` is called here" in without(program, wait, (2, 96), (x.ravel(), y.ravel(), 4, 5))


# -- a main loop of tensor cores ----------------------------------------------------------------------------------------


@mark("device")
@template(N=constexpr(int), SPAN=constexpr(int), STAGES=constexpr(int), WORKERS=constexpr(int))
@requires(block[1], warpgroup[3])
def main_loop(
    a: shared(half[128, 64], ring=STAGES, swizzle=SPAN) @ block[1], b: shared(half[N, 64], ring=STAGES, swizzle=SPAN) @ block[1],
    loader: roles(warpgroup, 1), consumers: roles(warpgroup, WORKERS), sums: fragment(float32, 64, N) @ warpgroup[1],
    map_a: const(CUtensorMap(half, 128, 64, swizzle=SPAN)) @ grid[1],
    map_b: const(CUtensorMap(half, N, 64, swizzle=SPAN)) @ grid[1],
    i: int32 @ block[1], j: int32 @ block[1], k: int32 @ block[1],
):  # fmt: skip
    w: int32 @ warpgroup[1] = id()
    for step in range(0, k, 64):
        with claim(a, loader) as sa, claim(b, loader) as sb, one(thread):
            tma_load(sa, map_a[i, step])
            tma_load(sb, map_b[j, step])
        with claim(a, consumers, in_flight=1) as sa, claim(b, consumers, in_flight=1) as sb, group(warpgroup[1]):
            wgmma(sums, sa[64 * w, 0], sb, accumulate=step > 0)


@mark("device")
@template(N=constexpr(int), WORKERS=constexpr(int))
@requires(block[1], warpgroup[3])
def store(
    out: ptr(float32) @ block[1], consumers: roles(warpgroup, WORKERS), sums: fragment(float32, 64, N) @ warpgroup[1],
    i: int32 @ block[1], j: int32 @ block[1], n: int32 @ block[1],
):  # fmt: skip
    with partition(out, thread[1], lambda y, x: (i + y) * n + j + x, races="none") as c, consumers:
        w: int32 @ warpgroup[1] = id()
        with group(thread[1]):
            for e in range(count(sums)):
                c[64 * w + row(sums, e), column(sums, e)] = sums[e]


@mark("global")
@requires(grid[1], block[1], warpgroup[3])
@template(N=constexpr(int), STAGES=constexpr(int))
@attr("__launch_bounds__(384)")
def product(
    map_a: const(CUtensorMap(half, 128, 64, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(half, N, 64, swizzle=128)) @ grid[1],
    c: ptr(float32) @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1],
):  # fmt: skip
    first: int32 @ block[1] = id()
    blocks: int32 @ grid[1] = count(block[1])
    with partition(c, block[1], races="none") as out, group(block[1]):
        a: shared(half[128, 64], ring=STAGES, swizzle=128)
        b: shared(half[N, 64], ring=STAGES, swizzle=128)
        sums: fragment(float32, 64, N) @ warpgroup[1]
        consumers, loader = roles(warpgroup, 2, 1)
        for tile in range(first, m // 128 * (n // N), blocks):
            i: int32 @ block[1] = tile % (m // 128) * 128
            j: int32 @ block[1] = tile // (m // 128) * N
            main_loop(a, b, loader, consumers, sums, map_a, map_b, i, j, k)
            store(out, consumers, sums, i, j, n)


@mark("global")
@requires(grid[1], block[1], warpgroup[3])
@template(N=constexpr(int), STAGES=constexpr(int))
@attr("__launch_bounds__(384)")
def product_by_hand(
    map_a: const(CUtensorMap(half, 128, 64, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(half, N, 64, swizzle=128)) @ grid[1],
    c: ptr(float32) @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1],
):  # fmt: skip
    first: int32 @ block[1] = id()
    blocks: int32 @ grid[1] = count(block[1])
    with partition(c, block[1], races="none") as out, group(block[1]):
        a: shared(half[128, 64], ring=STAGES, swizzle=128)
        b: shared(half[N, 64], ring=STAGES, swizzle=128)
        sums: fragment(float32, 64, N) @ warpgroup[1]
        consumers, loader = roles(warpgroup, 2, 1)
        for tile in range(first, m // 128 * (n // N), blocks):
            i: int32 @ block[1] = tile % (m // 128) * 128
            j: int32 @ block[1] = tile // (m // 128) * N
            w: int32 @ warpgroup[1] = id()
            for step in range(0, k, 64):
                with claim(a, loader) as sa, claim(b, loader) as sb, one(thread):
                    tma_load(sa, map_a[i, step])
                    tma_load(sb, map_b[j, step])
                with (
                    claim(a, consumers, in_flight=1) as sa,
                    claim(b, consumers, in_flight=1) as sb,
                    group(warpgroup[1]),
                ):
                    wgmma(sums, sa[64 * w, 0], sb, accumulate=step > 0)
            with partition(out, thread[1], lambda y, x: (i + y) * n + j + x, races="none") as c_part, consumers:
                w: int32 @ warpgroup[1] = id()
                with group(thread[1]):
                    for e in range(count(sums)):
                        c_part[64 * w + row(sums, e), column(sums, e)] = sums[e]


@pytest.mark.parametrize("schedule", ["round-robin", "late", "random"])
def test_a_pipeline_in_a_loop_over_tiles(schedule):
    a, b = (random.integers(-3, 4, (256, 192)).astype(np.float16) for _ in range(2))
    c = np.zeros((256, 256), np.float32)
    product[2, 384](a, b, c.ravel(), 256, 256, 192, template={"N": 64, "STAGES": 3}, check=True, schedule=schedule)
    assert np.array_equal(c, a.astype(np.float32) @ b.T.astype(np.float32))


def test_a_pipeline_is_the_code_of_its_lines():
    template = {"N": 64, "STAGES": 3}
    assert steps(product, **template) == steps(product_by_hand, **template)
    assert same_code(product, product_by_hand, **template)


def test_an_explanation_has_each_function():
    program = prism.check(product, {"N": 64, "STAGES": 3})
    assert [part.function.name for part in parts(program.entry)] == ["product", "main_loop", "store"]
    text = prism.explain(product, {"N": 64, "STAGES": 3})
    assert text.count("wgmma(sums, sa[64 * w, 0], sb, accumulate=step > 0)") == 1


# -- what is passed on --------------------------------------------------------------------------------------------------


@mark("device")
@requires(block[1], warp[3])
def twice(rows: shared(float32[64], ring=2) @ block[1], use: roles(warp, 2), bring: roles(warp, 1),
          total: float32[1] @ thread[1], x: ptr(const(float32)) @ grid[1]):  # fmt: skip
    add_rows(rows, use, bring, total, x, 0, 1)
    add_rows(rows, use, bring, total, x, 64, 2)


@mark("device")
@requires(block[1], warp[3])
def peek(rows: const(shared(float32[64], ring=2)) @ block[1], use: roles(thread, 64), found: float32[1] @ thread[1]):
    t: int32 @ thread[1] = id()
    with claim(rows, use) as here, group(thread[1]):
        found[0] += here[63 - t]


@mark("device")
@requires(block[1], warp[3])
def poke(rows: shared(float32[64], ring=2) @ block[1], use: roles(warp, 1), value: float32 @ block[1]):
    t: int32 @ thread[1] = id(thread[1]) % 32
    with claim(rows, use) as here, partition(here, thread[1], t, races="none") as mine, group(thread[1]):
        mine[0] = value
        mine[32] = value + t


@mark("global")
@requires(grid[1], block[1], warp[3])
@attr("__launch_bounds__(96)")
def passed_on(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1]):
    with partition(y, block[1], 0, races="none") as out, group(block[1]):
        rows: shared(float32[64], ring=2)
        made: shared(float32[64], ring=2)
        users, filler = roles(warp, 2, 1)
        total: float32[1] @ thread[1] = {0}
        twice(rows, users, filler, total, x)
        for k in range(3):
            poke(made, filler, float32(k))
            peek(made, users, total)
        t: int32 @ thread[1] = id()
        with partition(out, thread[1], t) as mine, users, group(thread[1]):
            mine[0] = total[0]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_functions_pass_rings_and_roles_on(schedule):
    x, y = random.integers(-9, 9, (3, 64)).astype(np.float32), np.zeros(64, np.float32)
    passed_on[1, 96](x.ravel(), y, check=True, schedule=schedule)
    made = np.concatenate([np.full(32, 3.0), 3 + 3.0 * np.arange(32)])
    assert np.array_equal(y, x.sum(axis=0) + made[::-1])


def test_an_error_says_all_calls():
    program = prism.check(passed_on)
    x, y = np.ones((3, 64), np.float32), np.zeros(64, np.float32)
    wait = next(wait for wait in waits(program) if wait.barrier.name == "rows_filled")
    text = without(program, wait, (1, 96), (x.ravel(), y))
    assert text.index("`add_rows` is called here") < text.index("`twice` is called here")
    assert text.count("`twice` is called here") == 1
