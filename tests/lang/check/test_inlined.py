"""Functions that take whole shared tiles: what they compute, and that their callers' plans are those of the same lines there."""

# ruff: noqa: F821, I001 -- names that kernels declare

from __future__ import annotations

import numpy as np
import pytest

from prism.lang.tree.walk import statements
import prism
from prism.interpret import SCHEDULES, run
from prism.lang import (
    CUtensorMap, async_, attr, block, bulk_load, claim, column, const, constexpr, count, cp_async, dtype, float32, fragment,
    grid, group, half, id, int32, one, partition, ptr, requires, roles, row, shared, template, thread, tma_load,
    warp, warpgroup, wgmma,
)  # fmt: skip
from prism.lang import prism as mark
from tests.lang.plans import words
from tests.mutation import mutants

random = np.random.default_rng(7)


def steps(kernel, **template):
    """Return in words what the plan puts before and after a kernel's statements, in the order of the program."""
    program = prism.check(kernel, template)
    plan = program.plans[program.entry]
    before, after = plan.before(), plan.after()
    found = []
    for s in statements(program.entry.body):
        found += [f"< {words(step)}" for step in before.get(s, ())]
        found += [f"> {words(step)}" for step in after.get(s, ())]
    return found


# -- plain tiles ------------------------------------------------------------------------------------------------------


@mark("device")
@template(T=dtype, N=constexpr(int), M=constexpr(int))
@requires(block[1], thread[M])
def fill(tile: shared(T[N, M]) @ block[1], x: ptr(const(T)) @ grid[1], first: int32 @ block[1]):
    first += N * M  # a parameter is a variable of the function's own
    t: int32 @ thread[1] = id()
    with partition(tile, thread[1], lambda i: (i, t)) as mine, group(thread[1]):
        for i in range(N):
            mine[i] = x[first + M * i + t]


@mark("device")
@template(T=dtype, N=constexpr(int), M=constexpr(int))
@requires(thread[1])
def add(tile: const(shared(T[N, M])) @ thread[1], sums: T[N] @ thread[1], t: int32 @ thread[1]):
    for i in range(N):
        sums[i] += tile[i, M - 1 - t]


@mark("global")
@requires(grid[1], block[1], thread[64])
@attr("__launch_bounds__(64)")
def mirrored(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    first: int32 @ block[1] = id() * n * 256
    with partition(y, block[1], 256 * id()) as out, group(block[1]):
        tile: shared(int32[4, 64])
        t: int32 @ thread[1] = id()
        sums: int32[4] @ thread[1] = {0}
        for k in range(n):
            fill(tile, x, first + 256 * (k - 1))
            with group(thread[1]):
                add(tile, sums, t)
        with partition(out, thread[1], lambda i: 64 * i + t) as mine, group(thread[1]):
            for i in range(4):
                mine[i] = sums[i]


@mark("global")
@requires(grid[1], block[1], thread[64])
@attr("__launch_bounds__(64)")
def mirrored_by_hand(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    first: int32 @ block[1] = id() * n * 256
    with partition(y, block[1], 256 * id()) as out, group(block[1]):
        tile: shared(int32[4, 64])
        t: int32 @ thread[1] = id()
        sums: int32[4] @ thread[1] = {0}
        for k in range(n):
            with partition(tile, thread[1], lambda i: (i, t)) as mine, group(thread[1]):
                for i in range(4):
                    mine[i] = x[first + 256 * k + 64 * i + t]
            with group(thread[1]):
                for i in range(4):
                    sums[i] += tile[i, 63 - t]
        with partition(out, thread[1], lambda i: 64 * i + t) as mine, group(thread[1]):
            for i in range(4):
                mine[i] = sums[i]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_tile_filled_and_read_by_functions(schedule):
    x, y = random.integers(-99, 99, (2, 3, 4, 64), np.int32), np.zeros((2, 4, 64), np.int32)
    mirrored[2, 64](x.ravel(), y.ravel(), 3, check=True, schedule=schedule)
    assert np.array_equal(y, x.sum(axis=1)[:, :, ::-1])


def test_barriers_are_those_of_the_lines_in_their_place():
    assert steps(mirrored) == steps(mirrored_by_hand) == ["< block block[1]", "< block block[1]"]
    program = prism.check(mirrored)
    x, y = random.integers(-99, 99, (2, 3, 4, 64), np.int32), np.zeros((2, 4, 64), np.int32)
    plan = program.plans[program.entry]
    for barrier in plan.barriers:
        with pytest.raises(prism.interpret.MachineError):
            run(program.with_plan(plan.drop_step(barrier)), 2, 64, (x.ravel(), y.ravel(), 3), check=True)


def test_no_function_is_emitted_for_them():
    compiled = prism.compile(mirrored)
    assert [f.name for f in compiled.program.functions] == ["mirrored"]
    assert "prism_fill" not in compiled.cuda
    assert compiled.cubin


# -- swizzled tiles ---------------------------------------------------------------------------------------------------


@mark("device")
@template(N=constexpr(int), SPAN=constexpr(int))
@requires(warpgroup[1])
def multiply(
    acc: fragment(float32, 64, N) @ warpgroup[1], a: const(shared(half[64, 64], swizzle=SPAN)) @ warpgroup[1],
    b: const(shared(half[N, 64], swizzle=SPAN)) @ warpgroup[1],
):  # fmt: skip
    wgmma(acc, a, b)


@mark("device")
@template(N=constexpr(int), SPAN=constexpr(int))
@requires(warp[1])
def fetch(
    tile: shared(half[N, 64], swizzle=SPAN) @ warp[1], map: const(CUtensorMap(half, N, 64, swizzle=SPAN)) @ grid[1],
    k: int32 @ warp[1],
):  # fmt: skip
    with one(thread):
        tma_load(tile, map[0, k])


@mark("global")
@requires(grid[1], block[1], warpgroup[2])
@template(SPAN=constexpr(int))
@attr("__launch_bounds__(256)")
def product(
    a: const(CUtensorMap(half, 64, 64, swizzle=SPAN)) @ grid[1], b: const(CUtensorMap(half, 32, 64, swizzle=SPAN)) @ grid[1],
    c: ptr(float32) @ grid[1], K: int32 @ grid[1],
):  # fmt: skip
    with partition(c, block[1]) as c_block, group(block[1]):
        a_tile: shared(half[64, 64], ring=2, swizzle=SPAN)
        b_tile: shared(half[32, 64], ring=2, swizzle=SPAN)
        acc: fragment(float32, 64, 32) @ warpgroup[1] = 0
        consumer, producer = roles(warpgroup, 1, 1)
        math, loader = roles(warp, 4, 1)
        for k in range(K):
            with claim(a_tile, loader) as a_in, claim(b_tile, loader) as b_in:
                fetch(a_in, a, 64 * k)
                fetch(b_in, b, 64 * k)
            with claim(a_tile, consumer) as a_now, claim(b_tile, consumer) as b_now:
                multiply(acc, a_now, b_now)
        with partition(c_block, thread[1], lambda i, j: 32 * i + j, races="allow") as out, consumer, group(thread[1]):
            for i in range(count(acc)):
                out[row(acc, i), column(acc, i)] = acc[i]


@pytest.mark.parametrize("span", [32, 64, 128])
def test_swizzled_copies_of_rings(span):
    a, b = (random.integers(-4, 5, (n, 192)).astype(np.float16) for n in (64, 32))
    c = np.zeros((64, 32), np.float32)
    product[1, 256](a, b, c, 3, template={"SPAN": span}, check=True)
    assert np.array_equal(c, a.astype(np.float32) @ b.T.astype(np.float32))
    assert prism.compile(product, {"SPAN": span}).cubin


# -- rings ------------------------------------------------------------------------------------------------------------


@mark("device")
@template(N=constexpr(int))
@requires(block[1], thread[N])
def copy(tile: shared(int32[2, N]) @ block[1], x: ptr(const(int32)) @ grid[1], first: int32 @ block[1]):
    t: int32 @ thread[1] = id()
    with partition(tile, thread[1], lambda i: (i, t)) as mine, async_(mine) as coming, group(thread[1]):
        for i in range(2):
            cp_async(coming[i], x[first + i * N + t], 4)


@mark("device")
@template(N=constexpr(int))
@requires(thread[1])
def last(tile: const(shared(int32[2, N])) @ thread[1], t: int32 @ thread[1], found: int32[1] @ thread[1]):
    found[0] = 3 * found[0] + tile[0, N - 1 - t] + 2 * tile[1, t]


@mark("global")
@requires(grid[1], block[1], thread[64])
@template(COPIES=constexpr(int))
@attr("__launch_bounds__(64)")
def in_turn(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        a: shared(int32[2, 64], ring=COPIES)
        t: int32 @ thread[1] = id()
        found: int32[1] @ thread[1] = {0}
        for k in range(n):
            with partition(a, block[1]) as next_one:
                copy(next_one, x, 128 * k)
            with partition(a, block[1]) as now, group(thread[1]):
                last(now, t, found)
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = found[0]


@mark("global")
@requires(grid[1], block[1], thread[64])
@template(COPIES=constexpr(int))
@attr("__launch_bounds__(64)")
def in_turn_by_hand(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        a: shared(int32[2, 64], ring=COPIES)
        t: int32 @ thread[1] = id()
        found: int32[1] @ thread[1] = {0}
        for k in range(n):
            with partition(a, block[1]) as next_one:
                with partition(next_one, thread[1], lambda i: (i, t)) as mine, async_(mine) as coming, group(thread[1]):
                    for i in range(2):
                        cp_async(coming[i], x[128 * k + i * 64 + t], 4)
            with partition(a, block[1]) as now, group(thread[1]):
                found[0] = 3 * found[0] + now[0, 63 - t] + 2 * now[1, t]
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = found[0]


def in_turn_of(x):
    wanted = np.zeros(64, np.int32)
    for tile in x:
        wanted = 3 * wanted + tile[0, ::-1] + 2 * tile[1]
    return wanted


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("copies", [1, 3])
def test_copies_under_way_when_a_function_ends(copies, schedule):
    x, y = random.integers(-9, 9, (5, 2, 64), np.int32), np.zeros(64, np.int32)
    in_turn[1, 64](x.ravel(), y, 5, template={"COPIES": copies}, check=True, schedule=schedule)
    assert np.array_equal(y, in_turn_of(x))


@pytest.mark.parametrize("copies", [1, 3])
def test_rings_wait_as_for_the_lines_in_their_place(copies):
    assert steps(in_turn, COPIES=copies) == steps(in_turn_by_hand, COPIES=copies)


def test_fills_in_a_function_are_issued_ahead():
    program = prism.check(in_turn, {"COPIES": 3})
    (skew,) = program.plans[program.entry].skewed.skews
    assert skew.by == 2


def test_every_step_of_such_a_plan_is_needed():
    x, y = random.integers(-9, 9, (5, 2, 64), np.int32), np.zeros(64, np.int32)
    program = prism.check(in_turn, {"COPIES": 2})
    plan, wanted = program.plans[program.entry], in_turn_of(x)

    def right(changed):
        y[:] = 0
        try:
            run(program.with_plan(changed), 1, 64, (x.ravel(), y, 5), check=True)
        except prism.interpret.MachineError:
            return False
        return bool(np.array_equal(y, wanted))

    needed = [mutant for mutant in mutants(plan) if not mutant.harmless and mutant.name.startswith("without")]
    assert needed
    assert [mutant.name for mutant in needed if right(mutant.plan)] == []


@mark("device")
@requires(warp[1])
def load(tile: shared(int32[2, 64]) @ warp[1], x: ptr(const(int32)) @ grid[1], first: int32 @ warp[1]):
    with one(thread):
        bulk_load(tile, x[first])


@mark("global")
@requires(grid[1], block[1], warp[3])
@attr("__launch_bounds__(96)")
def piped(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        a: shared(int32[2, 64], ring=2)
        users, loader = roles(warp, 2, 1)
        t: int32 @ thread[1] = id()
        found: int32[1] @ thread[1] = {0}
        for k in range(n):
            with claim(a, loader) as coming:
                load(coming, x, 128 * k)
            with claim(a, users) as now, group(thread[1]):
                last(now, t, found)
        with partition(out, thread[1], t) as mine, users, group(thread[1]):
            mine[0] = found[0]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_function_loads_a_copy_of_a_ring(schedule):
    x, y = random.integers(-9, 9, (5, 2, 64), np.int32), np.zeros(64, np.int32)
    piped[1, 96](x.ravel(), y, 5, check=True, schedule=schedule)
    assert np.array_equal(y, in_turn_of(x))
    assert prism.compile(piped).cubin


@pytest.mark.parametrize("copied", [False, True])
def test_a_pointer_to_a_tile_of_two_axes(copied):
    """A tile decays to a pointer, row by row, also in a function that another parameter makes one that is compiled in."""

    @prism.device
    @requires(thread[32])
    def read(
        m: const(shared(int32[64])) @ block[1], p: ptr(const(int32)) @ thread[32], k: int32 @ thread[1]
    ) -> int32 @ thread[1]:
        return p[k] + m[0]

    @prism.device
    @requires(thread[32])
    def read_copy(
        m: const(shared(int32[64])) @ block[1], p: ptr(const(int32)) @ thread[32], k: int32 @ thread[1]
    ) -> int32 @ thread[1]:
        q: ptr(const(int32)) @ thread[32] = p
        return q[k] + m[0]

    function = read_copy if copied else read

    @prism.kernel
    @requires(grid[1], block[1], thread[32])
    def kernel(y: ptr(int32) @ grid[1]):
        with partition(y, thread[1], id()) as mine, group(block[1]):
            s: shared(int32[64])
            w: shared(int32[8, 2, 4])
            t: int32 @ thread[1] = id()
            with partition(s, thread[1], 2 * t) as own, group(thread[1]):
                own[0] = 5
                own[1] = 6
            with partition(w, thread[1], lambda j: (t // 4, t // 2 % 2, t % 2 * 2 + j)) as own, group(thread[1]):
                own[0] = 2 * t
                own[1] = 2 * t + 1
            v: int32 @ thread[1] = function(s, w, 63 - t)
            with group(thread[1]):
                mine[0] = v

    y = np.zeros(32, np.int32)
    kernel[1, 32](y, check=True)
    assert np.array_equal(y, 68 - np.arange(32))
