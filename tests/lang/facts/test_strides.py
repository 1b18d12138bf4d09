"""Strides that are arguments, in loops over all units; rows from the end; minima and maxima in conditions.

Tests of prism/lang/facts/sides.py.
"""
# ruff: noqa: F821 -- names that kernels declare

import random

import numpy as np
import pytest

from prism.interpret import BoundsError, RaceError, run
from prism.lang import (
    attr,
    block,
    claim,
    constexpr,
    count,
    grid,
    group,
    id,
    int32,
    int64,
    one,
    partition,
    prism,
    ptr,
    requires,
    template,
    thread,
    uint32,
)  # fmt: skip
from prism.lang.diagnostics import CompileError
from prism.lang.pipeline import build
from prism.lang.safety import verdicts


def proved(kernel, name: str = "mine", **template: object) -> bool:
    """Whether a partition is proved to be disjoint."""
    (found,) = (one.status for one in verdicts(build(kernel, template)) if one.what == f"partition `{name}`")
    return found == "proved"


@prism("global")
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(64)")
@template(UNIT=constexpr(int), TIMES=constexpr(int))
def strided(y: ptr(int32) @ grid[1], n: int64 @ grid[1]):
    step: int64 @ grid[1] = int64(count(block[1])) * TIMES
    me: int64 @ thread[UNIT] = id()
    with partition(y, thread[UNIT]) as mine, group(thread[UNIT]):
        for s in range(me, n, step):
            with partition(mine, thread[1]) as own, group(thread[1]):
                own[s] = 1


@pytest.mark.parametrize(
    ("unit", "times", "wanted"), [(1, 64, True), (1, 63, False), (1, 96, True), (32, 2, True), (32, 1, False)]
)
def test_units_of_the_grid_are_fewer_than_blocks_times_the_most_of_a_block(unit: int, times: int, wanted: bool) -> None:
    if unit == 1:
        assert proved(strided, UNIT=unit, TIMES=times) == wanted
    else:  # all threads of a warp write one element
        with pytest.raises(CompileError):
            build(strided, {"UNIT": unit, "TIMES": times})


@prism("global")
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(32)")
@template(BACK=constexpr(bool), GUARD=constexpr(int), CEIL=constexpr(bool))
def columns(y: ptr(int32) @ grid[1], outer: int64 @ grid[1], n: int64 @ grid[1], inner: int64 @ grid[1]):
    WIDTH: constexpr(int) = 4
    strips: int64 @ grid[1] = (inner + (WIDTH - 1)) // WIDTH if CEIL else inner // WIDTH
    step: int64 @ grid[1] = int64(count(block[1])) * 32
    me: int64 @ thread[1] = id()
    with partition(y, thread[1]) as mine, group(thread[1]):
        for s in range(me, outer * strips, step):
            few: int64 = min(max(inner - s % strips * WIDTH, 0), WIDTH)
            for i in range(n):
                row: int64 = n - 1 - i if BACK else i
                for k in range(WIDTH):
                    if k < (WIDTH if GUARD == 0 else few + (GUARD - 1)):
                        mine[s // strips * n * inner + row * inner + s % strips * WIDTH + k] = 1


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize(
    ("ceil", "guard", "wanted"),
    [(False, 0, True), (True, 1, True), (True, 0, False), (True, 2, False), (False, 1, True)],
)
def test_rows_of_a_matrix_from_either_end_and_columns_that_a_condition_bounds(
    back: bool, ceil: bool, guard: int, wanted: bool
) -> None:
    assert proved(columns, BACK=back, CEIL=ceil, GUARD=guard) == wanted
    program = build(columns, {"BACK": back, "CEIL": ceil, "GUARD": guard})
    for outer, n, inner in ((2, 3, 8), (3, 2, 6), (1, 4, 5)):
        y, raced = np.zeros(outer * n * inner, np.int32), False
        try:
            run(program, 2, 32, (y, outer, n, inner), check=True)
        except (RaceError, BoundsError) as error:
            raced = isinstance(error, RaceError)
        else:
            assert y.all() or inner % 4
        assert not (raced and wanted)


@prism("global")
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(32)")
@template(HOW=constexpr(int))
def bounded(y: ptr(int32) @ grid[1], n: int32 @ grid[1], u: uint32 @ grid[1]):
    with partition(y, block[1], 8 * id()) as part, group(block[1]):
        i: int32 @ thread[1] = id()
        with partition(part, thread[1], i) as mine, group(thread[1]):
            if HOW == 1 and i < min(n, 8):
                mine[0] = 1
            elif HOW == 2 and i < max(n, 8):
                mine[0] = 1
            elif HOW == 3 and i < min(max(n, 0), 8):
                mine[0] = 1
            elif HOW == 4 and i < int32(min(u, n)):  # of unsigned numbers: n may be a great one
                mine[0] = 1
            elif HOW == 5 and max(i, n) < 8:
                mine[0] = 1
            elif HOW == 6 and min(i, n) < 8:
                mine[0] = 1
            elif HOW == 7 and not i >= min(8, n + 3):
                mine[0] = 1
            elif HOW == 8 and i < max(8, -(n % 2)):
                mine[0] = 1


@pytest.mark.parametrize(
    ("how", "wanted"), [(1, True), (2, False), (3, True), (4, False), (5, True), (6, False), (7, True), (8, False)]
)
def test_what_conditions_say_of_minima_and_maxima(how: int, wanted: bool) -> None:
    try:
        assert proved(bounded, "part", HOW=how) == wanted
    except CompileError as error:  # sure to overlap
        assert not wanted and error.code == "race"


@prism("device")
@requires(block[1], thread[32])
@template(TAKEN=constexpr(int), EXTRA=constexpr(int))
def take(y: ptr(int32) @ block[1], n: int64 @ grid[1], me: int32 @ block[1], blocks: int32 @ grid[1]):
    t: int32 @ thread[1] = id()
    for first in range(int64(me) * TAKEN, n, int64(blocks) * TAKEN):
        for s in range(first, min(first + (TAKEN + EXTRA), n)):
            with claim(y, thread[1]) as mine, one(thread):
                mine[s] = 2


@prism("global")
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(64)")
@template(TAKEN=constexpr(int), EXTRA=constexpr(int))
def both(y: ptr(int32) @ grid[1], n: int64 @ grid[1]):
    blocks: int32 @ grid[1] = count(block[1])
    b: int32 @ block[1] = id()
    with partition(y, block[1]) as target, group(block[1]):
        me: int64 @ thread[1] = b * 64 + id(thread[1])
        with partition(target, thread[1]) as mine, group(thread[1]):
            for s in range(me, n, int64(blocks) * 64):
                mine[s] = 1
        take(target, n, b, blocks, TAKEN=TAKEN, EXTRA=EXTRA)


@pytest.mark.parametrize(("taken", "extra", "wanted"), [(64, 0, True), (64, -1, True), (32, 0, False), (64, 1, False)])
def test_a_block_and_its_threads_have_the_same_elements_in_two_ways(taken: int, extra: int, wanted: bool) -> None:
    assert (proved(both, TAKEN=taken, EXTRA=extra), proved(both, "target", TAKEN=taken, EXTRA=extra)) == (True, wanted)
    y = np.zeros(320, np.int32)
    if wanted:
        run(build(both, {"TAKEN": taken, "EXTRA": extra}), 2, 64, (y, 320), check=True)
        assert (y == 2).sum() == 320 + 5 * extra
    else:
        with pytest.raises(RaceError):
            run(build(both, {"TAKEN": taken, "EXTRA": extra}), 2, 64, (y, 320), check=True)


def test_what_is_concluded_of_minima_and_maxima_holds_of_all_numbers() -> None:
    from prism.lang.facts.polynomials import add, atom, constant, multiply
    from prism.lang.facts.sides import consequences
    from prism.lang.types import INT64

    rng = random.Random(0)
    names = [("name", k) for k in range(3)]

    def key(form):
        return frozenset(form.items())

    def made(depth: int):
        """A form, and what computes it of the names' values."""
        if depth == 0 or rng.random() < 0.3:
            k, times, more = rng.randrange(3), rng.choice([-2, -1, 1, 1, 3]), rng.randrange(-4, 5)
            return add(multiply(atom(names[k]), constant(times)), constant(more)), lambda v: times * v[k] + more
        (a, of_a), (b, of_b) = made(depth - 1), made(depth - 1)
        if rng.random() < 0.4:
            times = rng.choice([-2, -1, 1, 2])
            return add(a, b, times), lambda v: of_a(v) + times * of_b(v)
        name, of = rng.choice([("minimum", min), ("maximum", max)])
        return atom(("apply", name, INT64, (key(a), key(b)))), lambda v: of(of_a(v), of_b(v))

    def value(form, v):
        total = 0
        for monomial, factor in form.items():
            for digit in monomial:
                base = digit.base
                if base[0] == "name":
                    factor *= v[base[1]]
                else:
                    factor *= (min if base[1] == "minimum" else max)(value(dict(k), v) for k in base[3])
            total += factor
        return total

    found = 0
    for _ in range(400):
        form, of = made(3)
        values = [tuple(rng.randrange(-3, 4) for _ in range(3)) for _ in range(60)]
        for following in consequences(form, lambda f: max(value(f, v) for v in values)):  # bounds of these values
            found += 1
            for v in values:
                assert value(form, v) == of(v)
                assert of(v) < 0 or value(following, v) >= 0
    assert found > 200
