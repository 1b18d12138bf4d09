"""Functions that are defined inside others, and values of functions that are compiled in: what they compute, and as what lines.

Tests of prism/lang/check/nested.py, prism/lang/check/inlined.py.
"""

# ruff: noqa: F821, I001 -- names that kernels declare

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, MachineError, run
from prism.lang import (
    attr, block, bulk_load, claim, const, constexpr, count, float32, function, grid, group, id, int32, one,
    partition, ptr, requires, roles, shared, template, thread, warp,
)  # fmt: skip
from prism.lang import prism as mark
from prism.lang.diagnostics import CompileError
from tests.lang.check.test_inlined import steps
from tests.lang.check.test_inlined_roles import same_code

random = np.random.default_rng(5)


# -- an epilogue that names what is around it ---------------------------------------------------------------------------


@mark("device")
@requires(block[1], thread[64])
@template(EPILOGUE=function)
def store(out: ptr(float32) @ block[1], i: int32 @ block[1]):
    t: int32 @ thread[1] = id()
    with partition(out, thread[1], t) as mine, group(thread[1]):
        mine[0] = EPILOGUE(float32(i), t)


@mark("global")
@requires(grid[1], block[1], thread[64])
@attr("__launch_bounds__(64)")
def closed_over(
    x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], alpha: float32 @ grid[1], tiles: int32 @ grid[1]
):
    first: int32 @ block[1] = id()
    blocks: int32 @ grid[1] = count(block[1])
    with partition(y, block[1], races="none") as whole, group(block[1]):
        bias: shared(float32[64])
        u: int32 @ thread[1] = id()
        with partition(bias, thread[1], u) as mine, group(thread[1]):
            mine[0] = x[u]

        @requires(thread[1])
        def epilogue(value: float32 @ thread[1], i: int32 @ thread[1]) -> float32 @ thread[1]:
            scaled: float32 = alpha * value
            return scaled + bias[63 - i]

        @requires(block[1])
        def turn(tile: int32 @ block[1]) -> int32 @ block[1]:
            return tiles - 1 - tile

        @mark("device")
        @requires(block[1])
        def work(i: int32 @ block[1]):
            with partition(whole, block[1], 64 * i, races="none") as out:
                store(out, i, EPILOGUE=epilogue)

        for tile in range(first, tiles, blocks):
            work(turn(tile))


@mark("global")
@requires(grid[1], block[1], thread[64])
@attr("__launch_bounds__(64)")
def closed_over_by_hand(
    x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], alpha: float32 @ grid[1], tiles: int32 @ grid[1]
):
    first: int32 @ block[1] = id()
    blocks: int32 @ grid[1] = count(block[1])
    with partition(y, block[1], races="none") as whole, group(block[1]):
        bias: shared(float32[64])
        u: int32 @ thread[1] = id()
        with partition(bias, thread[1], u) as mine, group(thread[1]):
            mine[0] = x[u]
        for tile in range(first, tiles, blocks):
            i: int32 @ block[1] = tiles - 1 - tile
            with partition(whole, block[1], 64 * i, races="none") as out:
                t: int32 @ thread[1] = id()
                with partition(out, thread[1], t) as mine, group(thread[1]):
                    scaled: float32 = alpha * float32(i)
                    mine[0] = scaled + bias[63 - t]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_function_names_what_is_around_it(schedule):
    x, y = np.arange(64, dtype=np.float32), np.zeros((5, 64), np.float32)
    closed_over[2, 64](x, y.ravel(), 2.0, 5, check=True, schedule=schedule)
    assert np.array_equal(y, 2 * np.arange(5)[:, None] + x[::-1])


def test_it_is_the_lines_in_its_place():
    assert steps(closed_over) == steps(closed_over_by_hand)
    assert same_code(closed_over, closed_over_by_hand)


def test_a_race_says_who_called():
    program = prism.check(closed_over)
    plan = program.plans[program.entry]
    x, y = np.arange(64, dtype=np.float32), np.zeros(320, np.float32)
    with pytest.raises(MachineError) as caught:
        run(program.with_plan(plan.drop_step(plan.barriers[0])), 2, 64, (x, y, 2.0, 5), check=True)
    text = str(caught.value)
    assert (
        text.index("`epilogue` is called here")
        < text.index("`store` is called here")
        < text.index("`work` is called here")
    )


def test_an_explanation_has_its_lines():
    text = prism.explain(closed_over)
    heads = [line.split("  (")[0] for line in text.splitlines() if line and line[0].isalpha() and "  (" in line]
    assert heads == ["closed_over", "turn", "work", "store", "epilogue"]
    chapter = text[text.index("\nstore  (") :]
    assert "def closed_over" not in chapter[: chapter.index("\n\n")]


# -- of constants alone -------------------------------------------------------------------------------------------------


@mark("global")
@requires(grid[1], block[1], thread[64])
@template(SCALE=constexpr(int))
def by_constants(y: ptr(int32) @ grid[1]):
    TWICE: constexpr(int) = 2 * SCALE

    @requires(thread[1])
    def combine(a: int32 @ thread[1], b: int32 @ thread[1]) -> int32 @ thread[1]:
        return a + b * TWICE if a < b else a - b

    with partition(y, thread[1], id()) as mine, group(block[1]):
        v: int32 @ thread[1] = mine[0]
        total: int32 @ block[1] = block.reduce(v, OP=combine)
        with group(thread[1]):
            mine[0] = total if v > 0 else combine(total, v)


def test_a_function_of_constants_is_a_function_of_its_own():
    y = random.integers(-9, 9, 64, np.int32)
    compiled = prism.compile(by_constants, {"SCALE": 3})
    assert "prism_combine" in compiled.cuda

    @prism.device
    @requires(thread[1])
    def outside(a: int32 @ thread[1], b: int32 @ thread[1]) -> int32 @ thread[1]:
        return a + b * 6 if a < b else a - b

    del outside
    by_constants[1, 64](y, template={"SCALE": 3}, check=True)


# -- values ---------------------------------------------------------------------------------------------------------------


@mark("global")
@requires(grid[1], block[1], warp[1])
def values(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], 4 * i) as mine, group(block[1]):
        table: shared(int32[32])
        t: int32 @ thread[1] = id()
        with partition(table, thread[1], t) as own, group(thread[1]):
            own[0] = x[t]
        counted: int32 @ thread[1] = 0

        @requires(thread[1])
        def at(k: int32 @ thread[1]) -> int32 @ thread[1]:
            return table[k % 32]

        @requires(thread[1])
        def largest(first: int32 @ thread[1], number: int32 @ thread[1]) -> int32 @ thread[1]:
            most: int32 = at(first)
            for k in range(1, number):
                most = max(most, at(first + k))
            return most

        @requires(thread[1])
        def following() -> int32 @ thread[1]:
            nonlocal counted
            counted += 1
            return counted

        @requires(warp[1])
        def middle(scale: int32 @ warp[1]) -> int32 @ warp[1]:
            return scale * table[16] + n

        whole: int32 @ warp[1] = middle(2)
        with group(thread[1]):
            if at(t) > at(t + 1):
                mine[0] = at(t) - at(t + 1) + whole
            else:
                mine[0] = largest(t, 3)
            mine[1] = following()
            v: int32 = following()
            v += at(largest(0, 2) % 32)
            mine[2] = v
            for k in range(at(0) % 3):
                v += k
            mine[3] = v


def test_values_of_functions():
    x, y = random.integers(0, 99, 32, np.int32), np.zeros((32, 4), np.int32)
    values[1, 32](x, y.ravel(), 7, check=True)
    following = np.roll(x, -1)
    expected = np.where(x > following, x - following + 2 * x[16] + 7, np.max([x, following, np.roll(x, -2)], axis=0))
    assert np.array_equal(y[:, 0], expected)
    assert (y[:, 1] == 1).all()
    assert (y[:, 2] == 2 + x[max(x[0], x[1]) % 32]).all()
    assert (y[:, 3] == y[:, 2] + sum(range(x[0] % 3))).all()


@mark("device")
@requires(block[1], thread[64])
@template(N=constexpr(int))
def total_of(tile: const(shared(int32[N])) @ block[1]) -> int32 @ block[1]:
    found: int32 @ block[1] = 0
    for k in range(N):
        found += tile[k]
    return found


@mark("global")
@requires(grid[1], block[1], thread[64])
def of_a_tile(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(block[1]):
        tile: shared(int32[64])
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], t) as own, group(thread[1]):
            own[0] = x[t]
        total: int32 @ block[1] = total_of(tile)
        twice: int32 @ block[1] = 1 + total_of(tile)
        with group(thread[1]):
            mine[0] = total + twice


def test_a_function_of_a_tile_has_a_result():
    x, y = random.integers(-9, 9, 64, np.int32), np.zeros(64, np.int32)
    of_a_tile[1, 64](x, y, check=True)
    assert (y == 2 * x.sum() + 1).all()


# -- rings of functions ---------------------------------------------------------------------------------------------------


@mark("device")
@requires(block[1], warp[3])
@template(N=constexpr(int))
def sum_rows(
    total: float32[1] @ thread[1], x: ptr(const(float32)) @ grid[1], first: int32 @ block[1], n: int32 @ block[1]
):
    rows: shared(float32[N], ring=3)
    adders, loader = roles(warp, 2, 1)
    t: int32 @ thread[1] = id()
    for k in range(n):
        with claim(rows, loader) as coming, one(thread):
            bulk_load(coming, x[first + N * k])
        with claim(rows, adders) as here, group(thread[1]):
            total[0] += here[t]


@mark("device")
@requires(block[1], warp[3])
def sum_tile(
    total: float32[1] @ thread[1], x: ptr(const(float32)) @ grid[1], tile: int32 @ block[1], n: int32 @ block[1]
):
    sum_rows(total, x, 64 * n * tile, n, N=64)


@mark("global")
@requires(grid[1], block[1], warp[3])
@attr("__launch_bounds__(96)")
def ring_inside(
    x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1], tiles: int32 @ grid[1]
):
    first: int32 @ block[1] = id()
    blocks: int32 @ grid[1] = count(block[1])
    with partition(y, block[1], 0, races="none") as out, group(block[1]):
        total: float32[1] @ thread[1] = {0}
        sum_rows(total, x, 0, 2, N=64)
        for tile in range(first, tiles, blocks):
            sum_tile(total, x, tile, n)
            t: int32 @ thread[1] = id()
            adders, others = roles(warp, 2, 1)
            with partition(out, thread[1], 64 * tile + t, races="none") as mine, adders, group(thread[1]):
                mine[0] = total[0]


@mark("global")
@requires(grid[1], block[1], warp[3])
@attr("__launch_bounds__(96)")
def ring_by_hand(
    x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1], tiles: int32 @ grid[1]
):
    first: int32 @ block[1] = id()
    blocks: int32 @ grid[1] = count(block[1])
    with partition(y, block[1], 0, races="none") as out, group(block[1]):
        total: float32[1] @ thread[1] = {0}
        before: shared(float32[64], ring=3)
        adders, loader = roles(warp, 2, 1)
        t: int32 @ thread[1] = id()
        for k in range(2):
            with claim(before, loader) as coming, one(thread):
                bulk_load(coming, x[64 * k])
            with claim(before, adders) as here, group(thread[1]):
                total[0] += here[t]
        for tile in range(first, tiles, blocks):
            rows: shared(float32[64], ring=3)
            start: int32 @ block[1] = 64 * n * tile
            for k in range(n):
                with claim(rows, loader) as coming, one(thread):
                    bulk_load(coming, x[start + 64 * k])
                with claim(rows, adders) as here, group(thread[1]):
                    total[0] += here[t]
            with partition(out, thread[1], 64 * tile + t, races="none") as mine, adders, group(thread[1]):
                mine[0] = total[0]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_ring_that_a_function_declares(schedule):
    x, y = random.integers(-9, 9, (4, 3, 64)).astype(np.float32), np.zeros((4, 64), np.float32)
    ring_inside[2, 96](x.ravel(), y.ravel(), 3, 4, check=True, schedule=schedule)
    head, sums = x.reshape(-1, 64)[:2].sum(axis=0), x.sum(axis=1)
    assert np.array_equal(y, head + np.stack([sums[0], sums[1], sums[0] + sums[2], sums[1] + sums[3]]))


def test_its_rings_are_those_of_its_lines():
    plain, other = (prism.check(kernel) for kernel in (ring_inside, ring_by_hand))
    assert len(prism.check(ring_inside).functions) == 1
    assert [w.replace("before", "rows") for w in steps(ring_by_hand)] == steps(ring_inside)
    assert plain.layouts[plain.entry].bytes == other.layouts[other.entry].bytes


# -- what is refused ------------------------------------------------------------------------------------------------------


def is_refused(kernel, code, words):
    """True, or what is said where it is another code, or without these words."""
    with pytest.raises(CompileError) as caught:
        prism.check(kernel)
    return (caught.value.code == code and words in str(caught.value)) or str(caught.value)


@mark("global")
@requires(grid[1], block[1], thread[32])
def hidden_tile(y: ptr(int32) @ grid[1]):
    with group(block[1]):
        tile: shared(int32[32])
        t: int32 @ thread[1] = id()

        @requires(thread[1])
        def look(i: int32 @ thread[1]) -> int32 @ thread[1]:
            return tile[i]

        with partition(tile, thread[1], t) as mine, group(thread[1]):
            mine[0] = look(31 - t)


@mark("device")
@requires(thread[1])
@template(LOOK=function)
def put(place: shared(int32[32]) @ thread[1], t: int32 @ thread[1]):
    place[t] = LOOK(31 - t)


@mark("global")
@requires(grid[1], block[1], thread[32])
def hidden_by_an_alias(y: ptr(int32) @ grid[1]):
    with group(block[1]):
        tile: shared(int32[32])
        t: int32 @ thread[1] = id()

        @requires(thread[1])
        def look(i: int32 @ thread[1]) -> int32 @ thread[1]:
            return own[i]

        with partition(tile, thread[1], races="allow") as own:

            @requires(thread[1])
            def glance(i: int32 @ thread[1]) -> int32 @ thread[1]:
                return own[i]

            with group(thread[1]):
                put(own, t, LOOK=glance)


@mark("global")
@requires(grid[1], block[1], warp[2])
def claimed_twice(y: ptr(int32) @ grid[1]):
    with partition(y, block[1], 64 * id()) as whole, group(block[1]):
        one_half, other_half = roles(warp, 1, 1)
        with claim(whole, warp[1]) as mine:

            @requires(warp[1])
            def clear():
                t: int32 @ thread[1] = id(thread[1])
                with partition(mine, thread[1], t) as own, group(thread[1]):
                    own[0] = 0

            with one_half:
                clear()
            with other_half:
                clear()


def test_ownership_is_that_of_the_place_of_the_call():
    assert is_refused(hidden_tile, "hide", "`look` is called here") is True
    assert is_refused(hidden_by_an_alias, "hide", "goes by this name here") is True
    assert is_refused(claimed_twice, "claim-one", "used by this arm first") is True


@mark("global")
@requires(grid[1], block[1], thread[32])
def broader(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(block[1]):
        n: int32 @ block[1] = 0

        @requires(thread[1])
        def add(i: int32 @ thread[1]):
            nonlocal n
            n += i

        with group(thread[1]):
            add(1)


@mark("global")
@requires(grid[1], thread[32])
def added_to_what_it_changes(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        n: int32 = 0

        @requires(thread[1])
        def following() -> int32 @ thread[1]:
            nonlocal n
            n += 1
            return n

        n += following()  # Python would take the old n
        mine[0] = n


def test_what_changes_something_is_all_of_a_value():
    assert is_refused(added_to_what_it_changes, "type", "all of an assigned value") is True


@mark("global")
@requires(grid[1], thread[32])
def called_too_early(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        mine[0] = later(1)

        @requires(thread[1])
        def later(k: int32 @ thread[1]) -> int32 @ thread[1]:
            return k


def test_a_function_is_in_scope_from_its_definition_on():
    assert is_refused(called_too_early, "type", "later") is True


def test_what_is_around_it_is_changed_by_those_whose_it_is():
    assert is_refused(broader, "write-down", "`add` is called here") is True


@mark("device")
@requires(thread[1])
@template(F=function)
def add_for(n: int32 @ thread[1], start: int32 @ thread[1]) -> int32 @ thread[1]:
    total: int32 = start
    for k in range(n, unroll=False):
        total = total + F(k)
    return total


@mark("device")
@requires(thread[1])
@template(F=function)
def add_doubled(n: int32 @ thread[1]) -> int32 @ thread[1]:
    @requires(thread[1])
    def double(k: int32 @ thread[1]) -> int32 @ thread[1]:
        return 2 * F(k)

    return add_for(n, 0, F=double)


@mark("global")
@requires(grid[1], thread[32])
def given_what_names_memory(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):

        @requires(thread[1])
        def read(k: int32 @ thread[1]) -> int32 @ thread[1]:
            return x[k]

        mine[0] = add_doubled(i, F=read)


def test_a_function_calls_one_that_it_is_given_and_that_names_memory():
    x, y = random.integers(0, 9, 32).astype(np.int32), np.zeros(32, np.int32)
    given_what_names_memory[1, 32](x, y, check=True)
    assert np.array_equal(y, 2 * (np.cumsum(x) - x))
